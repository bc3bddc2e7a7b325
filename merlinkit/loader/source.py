"""Puts reading, decoding, shuffling and cutting together into the batches of an epoch."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing

from merlinkit.loader.batch import Batch
from merlinkit.loader.batches import DecodedWindow, cut
from merlinkit.loader.decode import Decoder
from merlinkit.loader.layout import Layout
from merlinkit.loader.order import Window, shuffled, windows
from merlinkit.loader.parts import Parts
from merlinkit.loader.prefetch import Prefetch
from merlinkit.loader.store import Index, Store

__all__ = ["BatchSource"]


class BatchSource:
    """Makes the batches of any epoch, from any batch on.

    Parameters
    ----------
    parts, layout
        The files, and the columns that are wanted of them.
    batch_size, drop_last
        How rows are cut into batches.
    window_rows
        Most rows that are decoded together. If that is all rows, they are kept for all epochs.
    seed
        Seed of the shuffle; None keeps the order of the rows.
    prefetch
        Batches made ahead in a thread; 0 makes each when it is asked for.
    """

    def __init__(
        self,
        parts: Parts,
        layout: Layout,
        *,
        batch_size: int,
        drop_last: bool,
        window_rows: int,
        seed: int | None,
        prefetch: int,
    ) -> None:
        self._parts = parts
        self._layout = layout
        self._batch_size = batch_size
        self._drop_last = drop_last
        self._window_rows = window_rows
        self._seed = seed
        self._prefetch = prefetch
        self._fits = parts.rows <= window_rows
        self._kept: Store | None = None

    def batches(self, epoch: int, first: int) -> Generator[Batch, None, None]:
        """Yield the batches of an epoch from number `first` on.

        Closing the generator ends its threads.
        """
        decoder = Decoder(self._parts, self._layout)
        batches: Generator[Batch, None, None] | Prefetch[Batch]
        batches = self._cut(decoder, epoch, first * self._batch_size)
        if self._prefetch:
            # A window that nobody waits for any more need not be finished.
            batches = Prefetch(batches, self._prefetch, on_close=decoder.cancel)
        with closing(batches):
            yield from batches

    def _cut(self, decoder: Decoder, epoch: int, skip: int) -> Generator[Batch, None, None]:
        decoded: Generator[DecodedWindow, None, None] | Prefetch[DecodedWindow]
        decoded = self._decoded(decoder, epoch, skip)
        if self._prefetch and not self._fits:
            # One window is decoded while batches are made from the one before.
            decoded = Prefetch(decoded, 1)
        with closing(decoded):
            yield from cut(decoded, self._batch_size, self._drop_last)

    def _decoded(
        self, decoder: Decoder, epoch: int, skip: int
    ) -> Generator[DecodedWindow, None, None]:
        """Yield the windows of an epoch without its first `skip` rows."""
        with closing(decoder):
            for window in self._windows(epoch):
                if skip >= window.rows:
                    skip -= window.rows
                    continue
                # Nothing in this frame may hold the window while the next one is decoded.
                yield DecodedWindow(
                    self._store(decoder, window), self._permutation(window, epoch), skip
                )
                skip = 0

    def _windows(self, epoch: int) -> Iterator[Window]:
        return windows(
            [group.rows for group in self._parts.row_groups],
            self._window_rows,
            # Rows that are permuted all together may as well be read in order.
            seed=None if self._fits else self._seed,
            epoch=epoch,
        )

    def _store(self, decoder: Decoder, window: Window) -> Store:
        if not self._fits:
            return decoder.decode(window)
        if self._kept is None:
            self._kept = decoder.decode(window)
        return self._kept

    def _permutation(self, window: Window, epoch: int) -> Index | None:
        if self._seed is None:
            return None
        # Key 0 of an epoch is the order of its row groups.
        return shuffled(window.rows, self._seed, epoch, window.number + 1)
