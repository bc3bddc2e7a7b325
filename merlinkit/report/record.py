"""Everything that a run directory holds for a report, read with tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from merlinkit.report.coerce import read_json, read_json_lines
from merlinkit.schema import Schema

__all__ = ["PARTS", "RunRecord", "read_run"]

PARTS = ("train", "valid", "test")
"""Parts of a data set in the order in which a report names them."""


@dataclass
class RunRecord:
    """What was found in a run directory; what is missing is empty.

    Parameters
    ----------
    name
        Name of the directory.
    config
        Content of ``config.yaml``, interpolations as they are written.
    run, metrics, profile, calibration
        Content of the JSON file of that name.
    events
        Objects of ``events.jsonl`` in the order in which they were written.
    schemas
        Output schema by part.
    problems
        One sentence for each file that could not be read.
    """

    name: str
    config: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    profile: Mapping[str, Any] = field(default_factory=dict)
    calibration: Mapping[str, Any] = field(default_factory=dict)
    events: list[Mapping[str, Any]] = field(default_factory=list)
    schemas: dict[str, Schema] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def events_of(self, kind: str) -> list[Mapping[str, Any]]:
        """Return the events of one kind, in order."""
        return [event for event in self.events if event.get("kind") == kind]


def read_run(run_dir: Path) -> RunRecord:
    """Read a run directory; a damaged file is named in `RunRecord.problems`."""
    record = RunRecord(name=run_dir.resolve().name)
    for key in ("run", "metrics", "profile", "calibration"):
        content, problem = read_json(run_dir / f"{key}.json")
        setattr(record, key, content)
        if problem:
            record.problems.append(problem)
    record.events, broken = read_json_lines(run_dir / "events.jsonl")
    if broken:
        record.problems.append(f"events.jsonl: lines left out because they are damaged: {broken}")
    _read_config(run_dir / "config.yaml", record)
    _read_schemas(run_dir / "data", record)
    return record


def _read_config(path: Path, record: RunRecord) -> None:
    try:
        loaded = OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    # Damaged YAML fails in many ways, all of which mean the same here.
    except Exception as error:
        record.problems.append(f"config.yaml could not be read: {error}")
        return
    if isinstance(loaded, dict):
        record.config = {str(key): value for key, value in loaded.items()}
    else:
        record.problems.append("config.yaml could not be read: it does not hold a mapping")


def _read_schemas(data: Path, record: RunRecord) -> None:
    found = {path.parent.name: path for path in sorted(data.glob("*/schema.json"))}
    ordered = [*(part for part in PARTS if part in found), *(p for p in found if p not in PARTS)]
    for part in ordered:
        try:
            record.schemas[part] = Schema.load(found[part])
        # Whatever a damaged file makes of the reader, the report is still wanted.
        except Exception as error:
            record.problems.append(f"data/{part}/schema.json could not be read: {error}")
