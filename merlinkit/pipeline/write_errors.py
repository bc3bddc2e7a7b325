"""What the system says when a run directory cannot be written: one message, no traceback."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from merlinkit.errors import MerlinkitError, RunDirError

__all__ = ["write_errors"]

_CODES = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
# How errors of the system look in what Polars raises.
_IN_POLARS = re.compile(r"\(os error (\d+)\)")


@contextmanager
def write_errors(folder: Path) -> Iterator[None]:
    """Raise `RunDirError` for a full disk, a read-only one or missing permissions.

    Errors about files elsewhere, and all others, pass through.
    """
    try:
        yield
    except MerlinkitError as error:
        # Some say what they were doing, and only quote the system.
        code = _code_in(str(error))
        if isinstance(error, RunDirError) or code not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _run_dir_error(folder, code) from error
    except (OSError, pl.exceptions.PolarsError) as error:
        code = error.errno if isinstance(error, OSError) else None
        if code is None:
            code = _code_in(str(error))
        if code not in _CODES or not _is_within(error, folder):
            raise
        raise _run_dir_error(folder, code) from error


def _code_in(message: str) -> int | None:
    found = _IN_POLARS.search(message)
    return None if found is None else int(found[1])


def _is_within(error: Exception, folder: Path) -> bool:
    """Tell whether an error is about a file of the folder, or names none."""
    name = getattr(error, "filename", None)
    if not isinstance(name, str | Path):
        return True
    return Path(name).absolute().is_relative_to(folder.absolute())


def _run_dir_error(folder: Path, code: int) -> RunDirError:
    return RunDirError(
        f"run_dir {folder} cannot be written: {os.strerror(code)}; make room or mend its "
        "permissions and call the same again, or choose another folder with run_dir="
    )
