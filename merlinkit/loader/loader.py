"""Batches of tensors from a folder of parquet files."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from merlinkit.errors import ParameterError
from merlinkit.loader.batch import Batch
from merlinkit.loader.layout import Layout
from merlinkit.loader.order import SPREAD
from merlinkit.loader.parts import Parts, read_parts
from merlinkit.loader.source import BatchSource
from merlinkit.loader.state import LoaderState, Order
from merlinkit.schema import Schema

__all__ = ["Loader"]

_log = logging.getLogger(__name__)


class Loader:
    """Iterate over the rows of parquet files as batches of tensors; one pass is one epoch.

    Parameters
    ----------
    path
        A folder of ``part-*.parquet``, read in the order of their names, or one parquet file.
        Empty files among others are fine.
    schema
        The columns of the data. A file may hold narrower integers or floats than the schema.
    batch_size
        Rows of a batch. Only the last batch of an epoch can be shorter.
    columns
        Which columns a batch has, in this order; None takes all of the schema. Nothing of any
        other column is read.
    shuffle
        Whether each epoch has the rows in another random order. Otherwise rows keep the order
        of files and rows.
    seed
        Decides the order together with the number of the epoch, and nothing else does:
        neither `prefetch`, nor threads, nor the release of a library.
    buffer_rows
        Most rows that are held decoded at one time, 2 or more. See Notes.
    drop_last
        Leave out the last batch of an epoch if it is shorter than the others.
    prefetch
        Batches made ahead of time in a background thread; 0 does all work in the caller's.

    Raises
    ------
    DataError
        For a missing, damaged or empty input, a column that a file lacks or holds in another
        data type, a column without a tensor form (strings, dates), and, while iterating, for
        nulls in a scalar column or inside a list. The message names file, column and remedy.
    SchemaError
        If `columns` names a column that is not in the schema, or one twice.
    ParameterError
        If another parameter cannot be worked with.

    Notes
    -----
    **Columns.** A scalar column is a tensor ``[batch_size]`` of the column's data type (UInt16
    becomes int32 and UInt32 int64, as PyTorch hardly supports them). It is a strided view: the
    scalar columns of one data type are gathered together as one matrix. A list column is a
    `Ragged`, where a null list is an empty one. NaN is an ordinary float.

    **Memory.** If all rows fit into `buffer_rows` they are decoded once, at the first pass, and
    kept. Otherwise they pass through windows of at most half of `buffer_rows`: one from which
    batches are made and, with `prefetch`, one that is being decoded, and never a third. Beside
    these there are the `prefetch` batches that are ready, the open row groups' read buffers (up
    to 16, some megabytes each), and while a list column is joined its values a second time.

    **Shuffle.** If all rows fit, an epoch is one permutation of them all. Otherwise row groups
    are taken in random order, a piece from each of 16 in turn, until a window is full, and the
    rows of a window are permuted. A row group larger than a window is read in slices, but its
    early rows still come before its late ones, which the log warns of.

    **Epochs.** Each pass is another epoch, also after a pass that was left early. During a pass
    `epoch` is the number of the pass, after its end that of the next one. `set_epoch` and
    `load_state_dict` say which epoch the next pass is. There is one pass at a time: a pass that
    another one was begun beside raises RuntimeError when it is asked for a batch.

    **Threads.** The background threads end with the pass: at its last batch, at an exception,
    and when the iterator is let go of, as ``break`` does.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from merlinkit.schema import Schema
    >>> frame = pl.DataFrame({"user": [7, 8, 9], "genres": [[1, 2], [], [3]]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame.write_parquet(f"{folder}/part-0.parquet")
    ...     loader = Loader(folder, Schema.from_polars(frame.schema), batch_size=2,
    ...                     shuffle=False, seed=0, buffer_rows=1_000)
    ...     for batch in loader:
    ...         print(batch["user"], batch["genres"].to_lists())
    tensor([7, 8]) [[1, 2], []]
    tensor([9]) [[3]]
    """

    def __init__(
        self,
        path: str | Path,
        schema: Schema,
        *,
        batch_size: int,
        columns: Sequence[str] | None = None,
        shuffle: bool,
        seed: int,
        buffer_rows: int,
        drop_last: bool = False,
        prefetch: int = 2,
    ) -> None:
        _check_parameters(
            {
                "batch_size": (batch_size, 1),
                "seed": (seed, 0),
                "buffer_rows": (buffer_rows, 2),
                "prefetch": (prefetch, 0),
            },
            columns,
        )
        self.schema = schema if columns is None else schema.select(columns)
        if not len(self.schema):
            raise ParameterError("the loader was given no columns; name at least one")
        self.batch_size = batch_size
        self._drop_last = drop_last
        layout = Layout(self.schema)
        parts = read_parts(Path(path), layout)
        fits = parts.rows <= buffer_rows
        window_rows = parts.rows if fits else buffer_rows // 2
        self._order = Order(
            shuffle=shuffle,
            seed=seed,
            batch_size=batch_size,
            window_rows=window_rows if shuffle and not fits else None,
            files=len(parts.files),
            rows=parts.rows,
            fingerprint=parts.fingerprint,
        )
        if not len(self):
            raise ParameterError(
                f"batch_size {batch_size} is more than the {parts.rows} rows in {path}, and "
                "drop_last=True leaves no batch; lower batch_size or set drop_last=False"
            )
        if shuffle and not fits:
            _warn_of_large_row_groups(parts, window_rows)
        self._source = BatchSource(
            parts,
            layout,
            batch_size=batch_size,
            window_rows=window_rows,
            seed=seed if shuffle else None,
            drop_last=drop_last,
            prefetch=prefetch,
        )
        self._epoch = 0
        self._received = 0
        self._pass: object | None = None

    # -- size and place ------------------------------------------------------------------------

    @property
    def num_rows(self) -> int:
        """Rows of the data, from the parquet footers."""
        return self._order.rows

    def __len__(self) -> int:
        """Return the number of batches of a whole epoch."""
        extra = 0 if self._drop_last else self.batch_size - 1
        return (self._order.rows + extra) // self.batch_size

    @property
    def epoch(self) -> int:
        """The epoch of the pass that is under way or was left early, else of the next one."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Make the next pass that of an epoch, counted from 0.

        It starts at the first batch, unless a state of this same epoch was just loaded: then
        it continues there.

        Raises
        ------
        ParameterError
            If it is not a count.
        """
        _check_parameters({"epoch": (epoch, 0)}, None)
        if self._pass is not None or epoch != self._epoch:
            self._move(epoch, 0)

    def state_dict(self) -> dict[str, Any]:
        """Return where the consumer is, as a few JSON values.

        Batches that are prefetched but were not yet received do not count.
        """
        return LoaderState(self._order, self._epoch, self._received).to_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Make the next pass continue after the batches that were received at `state_dict`.

        It gives exactly the batches that were missing then. Windows before them are not decoded.

        Raises
        ------
        ArtifactError
            If the state is of other data, another batch size, seed or shuffle, or damaged.
        """
        loaded = LoaderState.from_dict(state)
        loaded.check(self._order, len(self))
        self._move(loaded.epoch, loaded.batches)

    def _move(self, epoch: int, received: int) -> None:
        self._epoch, self._received, self._pass = epoch, received, None

    # -- iteration -----------------------------------------------------------------------------

    def __iter__(self) -> Generator[Batch, None, None]:
        """Yield the batches of the next epoch, or what is left of it after a loaded state."""
        if self._pass is not None:
            self._move(self._epoch + 1, 0)
        current = self._pass = object()
        with closing(self._source.batches(self._epoch, self._received)) as batches:
            for batch in batches:
                self._check_current(current)
                self._received += 1
                yield batch
        self._check_current(current)
        self._move(self._epoch + 1, 0)

    def _check_current(self, current: object) -> None:
        if self._pass is not current:
            raise RuntimeError(
                "this pass over the loader is over: another one was begun, or set_epoch or "
                "load_state_dict moved the loader; make a second Loader for passes side by side"
            )


def _check_parameters(
    least: Mapping[str, tuple[object, int]], columns: Sequence[str] | None
) -> None:
    problems = [
        f"{name} is {value!r}, expected a whole number of {low} or more"
        for name, (value, low) in least.items()
        if not isinstance(value, int) or isinstance(value, bool) or value < low
    ]
    if isinstance(columns, str):
        problems.append(f"columns is the string {columns!r}, expected a list: [{columns!r}]")
    if problems:
        raise ParameterError("; ".join(problems))


def _warn_of_large_row_groups(parts: Parts, window_rows: int) -> None:
    largest = max(parts.row_groups, key=lambda group: group.rows)
    if largest.rows <= window_rows:
        return
    path = str(parts.files[largest.file])
    rows = max(1, window_rows // SPREAD)
    _log.warning(
        "%s has a row group of %d rows, more than the %d that are shuffled at a time, so its early "
        "rows come before its late ones. Raise buffer_rows, or rewrite the file in smaller row "
        'groups and put it in place of the old one: python -c "import polars as pl; '
        'pl.scan_parquet(%r).sink_parquet(%r, row_group_size=%d)"',
        path,
        largest.rows,
        window_rows,
        path,
        path + ".smaller",
        rows,
    )
