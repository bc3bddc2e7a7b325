"""In which order rows are read: windows of pieces of row groups, and shuffles by seed.

Everything here is a pure function of the sizes of the row groups, the seed and the epoch, so a
run that continues elsewhere walks the same order without having seen what came before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["SPREAD", "Piece", "Window", "shuffled", "windows"]

SPREAD = 16
"""A shuffled window draws from so many row groups or more, where there are as many."""


class Piece(NamedTuple):
    """Rows ``start`` to ``stop`` of a row group."""

    group: int
    start: int
    stop: int


class Window(NamedTuple):
    """Pieces that are decoded together and, in a shuffle, permuted together."""

    number: int
    pieces: tuple[Piece, ...]
    rows: int


def shuffled(n: int, seed: int, *key: int) -> npt.NDArray[np.int64]:
    """Return a permutation of ``0 .. n - 1`` that depends on the seed and the key alone.

    Notes
    -----
    Each number is put below random bits and the words are sorted. The random words are Philox
    counters (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011), a stream
    that NumPy keeps from release to release; its own ``permutation`` makes no such promise, and
    a run must be able to continue after an upgrade.

    Examples
    --------
    >>> sorted(shuffled(5, 1).tolist())
    [0, 1, 2, 3, 4]
    """
    if n == 0:
        return np.empty(0, np.int64)
    words = np.random.Philox(np.random.SeedSequence(seed, spawn_key=key)).random_raw(n)
    low = np.uint64((1 << (n - 1).bit_length()) - 1)
    words &= ~low
    words |= np.arange(n, dtype=np.uint64)
    words.sort()
    words &= low
    return words.view(np.int64)


def windows(
    group_rows: Sequence[int], window_rows: int, *, seed: int | None, epoch: int
) -> Iterator[Window]:
    """Cut all row groups into windows of at most `window_rows` rows, each row in one window.

    Parameters
    ----------
    group_rows
        Rows of each row group, above 0.
    window_rows
        Most rows of a window.
    seed
        With a seed row groups come in random order and windows mix many of them. None keeps the
        order of the rows.
    epoch
        Decides the order together with the seed.

    Notes
    -----
    A row group of more than ``window_rows / SPREAD`` rows is cut into pieces. At most `SPREAD`
    row groups are open, each giving one piece in turn; one that is used up makes room for the
    next. So a reader holds a bounded number of half-read row groups and reads each of them
    once, front to back.
    """
    limit = max(1, window_rows // SPREAD)
    if seed is None:
        pieces = _in_order(group_rows, limit)
    else:
        order: list[int] = shuffled(len(group_rows), seed, epoch, 0).tolist()
        pieces = _interleaved(group_rows, order, limit)
    held: list[Piece] = []
    rows = number = 0
    for piece in pieces:
        size = piece.stop - piece.start
        if rows + size > window_rows:
            yield Window(number, tuple(held), rows)
            held, rows, number = [], 0, number + 1
        held.append(piece)
        rows += size
    if held:
        yield Window(number, tuple(held), rows)


def _cut(group: int, rows: int, limit: int) -> Iterator[Piece]:
    """Cut a row group into the fewest pieces within the limit, of sizes as equal as can be."""
    count = -(-rows // limit)
    for k in range(count):
        yield Piece(group, rows * k // count, rows * (k + 1) // count)


def _in_order(group_rows: Sequence[int], limit: int) -> Iterator[Piece]:
    for group, rows in enumerate(group_rows):
        yield from _cut(group, rows, limit)


def _interleaved(group_rows: Sequence[int], order: Sequence[int], limit: int) -> Iterator[Piece]:
    waiting = (_cut(group, group_rows[group], limit) for group in order)
    active: deque[Iterator[Piece]] = deque()
    while True:
        while len(active) < SPREAD and (opened := next(waiting, None)) is not None:
            active.append(opened)
        if not active:
            return
        pieces = active.popleft()
        piece = next(pieces, None)
        if piece is not None:
            yield piece
            active.append(pieces)
