"""Where the configuration files are."""

from __future__ import annotations

from pathlib import Path

import merlinkit
from merlinkit.errors import ConfigError, MerlinkitError

__all__ = ["conf_dir", "take_config_dir", "user_conf_dir"]

_FLAGS = ("--config-dir", "-cd")


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


def take_config_dir(arguments: list[str]) -> tuple[Path | None, list[str]]:
    """Return the folder of ``--config-dir``, if given, and the other arguments.

    Raises
    ------
    ConfigError
        If no folder follows the flag, or it is not there.
    """
    folder: Path | None = None
    rest: list[str] = []
    items = iter(arguments)
    for item in items:
        flag, equals, value = item.partition("=")
        if flag not in _FLAGS:
            rest.append(item)
            continue
        if not equals:
            value = next(items, "")
        folder = Path(value).absolute()
        if not value or not folder.is_dir():
            raise ConfigError(f"{flag}: there is no folder {value!r}")
    return folder, rest
