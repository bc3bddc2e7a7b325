"""Where the configuration files are."""

from __future__ import annotations

from pathlib import Path

import merlinkit
from merlinkit.errors import MerlinkitError

__all__ = ["conf_dir", "user_conf_dir"]


def conf_dir() -> Path:
    """Return the folder of the shipped configuration: in the wheel, or at the repository's top."""
    package = Path(merlinkit.__file__).resolve().parent
    for candidate in (package / "conf", package.parent / "conf"):
        if (candidate / "config.yaml").is_file():
            return candidate
    raise MerlinkitError(
        f"the configuration files are missing: there is no conf/config.yaml in {package}; install "
        "merlinkit again"
    )


def user_conf_dir() -> Path | None:
    """Return ``conf/`` of the working directory, where people keep their own files, if any."""
    candidate = Path.cwd() / "conf"
    if candidate.is_dir() and candidate.resolve() != conf_dir():
        return candidate
    return None
