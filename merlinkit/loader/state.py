"""Where a loader is, in a form that can be saved and that fits only the same order of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from merlinkit.errors import ArtifactError

__all__ = ["LoaderState", "Order"]

_FORMAT = 1
"""Goes up whenever the same seed and data would give another order of rows."""


@dataclass(frozen=True)
class Order:
    """All that decides which rows are in which batch of which epoch.

    `window_rows` is None where it has no influence: without a shuffle, and when all rows fit.
    """

    shuffle: bool
    seed: int
    batch_size: int
    window_rows: int | None
    files: int
    rows: int
    fingerprint: str


@dataclass(frozen=True)
class LoaderState:
    """A place in the sequence of batches: so many batches of an epoch were received."""

    order: Order
    epoch: int
    batches: int

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {
            "format": _FORMAT,
            "epoch": self.epoch,
            "batches": self.batches,
            "order": asdict(self.order),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LoaderState:
        """Return the state that `to_dict` described.

        Raises
        ------
        ArtifactError
            If it is of another format version or not a loader state at all.
        """
        if not isinstance(data, Mapping) or "format" not in data:
            raise ArtifactError(f"not the state of a loader: {data!r:.80}")
        if data["format"] != _FORMAT:
            raise ArtifactError(
                f"loader state of format {data['format']!r}, {_FORMAT} expected: it is of another "
                "version of merlinkit, start the epoch anew"
            )
        try:
            state = cls(Order(**data["order"]), data["epoch"], data["batches"])
        except (KeyError, TypeError) as error:
            raise ArtifactError(f"not the state of a loader: {error}") from error
        for name, value in (("epoch", state.epoch), ("batches", state.batches)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ArtifactError(f"{name} of a loader state is {value!r}, not a count")
        return state

    def check(self, current: Order, batches: int) -> None:
        """Refuse the state if it was saved in another order of rows than the current one.

        Parameters
        ----------
        current
            The order of the loader that is to continue.
        batches
            How many batches an epoch of that loader has.

        Raises
        ------
        ArtifactError
            Naming each difference.
        """
        saved, now = asdict(self.order), asdict(current)
        differences = [
            f"{_NAMES[key]} {saved[key]} then, {now[key]} now"
            for key in now
            if key != "fingerprint" and saved[key] != now[key]
        ]
        same_size = saved["files"] == now["files"] and saved["rows"] == now["rows"]
        if same_size and saved["fingerprint"] != now["fingerprint"]:
            differences.append("other file names, or rows are divided among them in another way")
        if differences:
            raise ArtifactError(
                "the loader's state does not fit, so rows would be lost or repeated: "
                + "; ".join(differences)
                + ". Continue with the data and settings of then, or start the epoch anew"
            )
        if self.batches > batches:
            raise ArtifactError(
                f"the loader's state is after batch {self.batches}, an epoch has only {batches}"
            )


_NAMES = {
    "shuffle": "shuffle",
    "seed": "seed",
    "batch_size": "batch_size",
    "window_rows": "rows of a shuffle window (half of buffer_rows)",
    "files": "number of files",
    "rows": "number of rows",
}
