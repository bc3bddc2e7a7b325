"""A folder that is there as long as something needs what is in it."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

__all__ = ["TemporaryFolder"]


class TemporaryFolder:
    """A folder for tables that several workflows and results may share; gone when none is left.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="merlinkit-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
