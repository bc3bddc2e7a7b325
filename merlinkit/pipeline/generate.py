"""``merlinkit generate``: synthetic logs in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from merlinkit.data.synthetic import SyntheticSpec, preset_of, write
from merlinkit.errors import ConfigError
from merlinkit.pipeline.config import read_config
from merlinkit.pipeline.console import Console

__all__ = ["generate_logs"]


def generate_logs(raw: Mapping[str, Any], console: Console) -> list[Path]:
    """Write the log that the ``dataset`` section describes into ``generate.folder``."""
    config = read_config(raw)
    spec = config.dataset.synthetic
    if spec is None:
        raise ConfigError(
            f"dataset={config.dataset.name} cannot be generated; dataset=synthetic and "
            "dataset=criteo can"
        )
    folder = Path(config.generate.folder)
    kind = f"{preset_of(spec).name}: "
    if isinstance(spec, SyntheticSpec):
        kind += f"{spec.num_users:,} users and {spec.num_items:,} items, "
    console.print(f"generate {kind}{spec.rows:,} rows", style="bold", highlight=False)
    paths = write(spec, folder, config.generate.format)  # type: ignore[arg-type]
    size = sum(path.stat().st_size for path in paths)
    print(f"{folder}: {len(paths)} files, {size / 2**20:,.1f} MiB")
    return paths
