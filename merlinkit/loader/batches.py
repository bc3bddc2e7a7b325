"""Cuts decoded windows into batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from merlinkit.loader.batch import Batch
from merlinkit.loader.store import Index, Store

__all__ = ["DecodedWindow", "cut"]


@dataclass(frozen=True)
class DecodedWindow:
    """Rows in memory and the order in which they leave it.

    Parameters
    ----------
    store
        The rows.
    order
        Row numbers of the store, int64 ``[rows]``; None takes them as they are.
    start
        Place in that order to start from, above 0 where a pass is resumed.
    """

    store: Store
    order: Index | None
    start: int

    def take(self, start: int, stop: int) -> Store:
        """Return the rows at places `start` to `stop` of the order, as a copy."""
        if self.order is None:
            return self.store.slice(start, stop)
        return self.store.take(self.order[start:stop])


def cut(windows: Iterable[DecodedWindow], batch_size: int, drop_last: bool) -> Iterator[Batch]:
    """Yield batches of `batch_size` rows that run on from window to window.

    The last batch may be shorter, or is left out with `drop_last`. No window is held while the
    next one is asked for; what is left of it, less than a batch, is held as a copy.
    """
    held: list[Store] = []
    rows = 0
    for window in windows:
        start, end = window.start, window.store.rows
        while start < end:
            stop = min(start + batch_size - rows, end)
            held.append(window.take(start, stop))
            rows += stop - start
            start = stop
            if rows == batch_size:
                batch = Store.concat(held).to_batch()
                held, rows = [], 0
                yield batch
        del window
    if held and not drop_last:
        yield Store.concat(held).to_batch()
