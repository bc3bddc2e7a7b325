"""TensorBoard files; the package is imported when the first one is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from merlinkit.errors import ConfigError

__all__ = ["TensorBoardLog"]


class TensorBoardLog:
    """Writes numbers by step into a folder that ``tensorboard --logdir`` reads.

    Parameters
    ----------
    folder
        Is made if it is not there.
    first_step
        Numbers of later steps that are in the folder already are hidden.

    Raises
    ------
    ConfigError
        If TensorBoard is not installed.
    """

    def __init__(self, folder: Path, *, first_step: int = 0) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ConfigError(
                "trainer.tensorboard is true, but TensorBoard cannot be imported "
                f"({error}); install it with 'pip install tensorboard' or set "
                "trainer.tensorboard=false"
            ) from error
        self._writer = SummaryWriter(str(folder), purge_step=first_step + 1 if first_step else None)

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Write numbers of a step by name."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Write what is held back and close the files."""
        self._writer.close()
