"""Rows of a synthetic log, computed block by block from their row numbers alone."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merlinkit.data.synthetic.spec import SyntheticSpec
from merlinkit.data.synthetic.world import MAX_TAGS, TAG_COUNT, World
from merlinkit.errors import ParameterError
from merlinkit.schema import Column, Schema, Tags

__all__ = ["BLOCK_ROWS", "generate", "synthetic_schema"]

# Rows are always computed in these blocks, whatever chunks are asked for: vectorised functions
# may round the last elements of an array otherwise than the first ones.
BLOCK_ROWS = 65_536

_DAY_US = 86_400_000_000
_DEVICES = ("phone", "desktop", "tablet", "tv")
_DEVICE_SHARES = (0.62, 0.25, 0.1, 0.03)
_OWN_DEVICE = 0.8
# Ids that do not fit into 32 bits, as those of real logs.
_FIRST_USER_ID = 10_000_000_000
_DUPLICATE_WINDOW = 64
_JITTER = 0.01
# Traffic is (1 + 0.7) / (1 - 0.7), about six, times as dense at its peak as twelve hours off. With
# this phase of the map below, the peak is at eight in the evening.
_RHYTHM = 0.7
_PEAK = 0.723


def synthetic_schema(spec: SyntheticSpec) -> Schema:
    """Return the schema of the log.

    Examples
    --------
    >>> synthetic_schema(SyntheticSpec()).by_tag("target").names
    ['click', 'dwell_time']
    """
    columns = [
        Column("user_id", "Int64", tags=[Tags.ID, Tags.USER, Tags.USER_ID]),
        Column("item_id", "String", tags=[Tags.ID, Tags.ITEM, Tags.ITEM_ID]),
        Column("timestamp", "Datetime(us)", tags=[Tags.TIME]),
        Column("last_visit_ms", "Int64", tags=[Tags.USER]),
        Column("device", "String", tags=[Tags.CONTEXT]),
        Column("city", "String", tags=[Tags.USER]),
        Column("age", "Int32", tags=[Tags.USER]),
        Column("brand", "String", tags=[Tags.ITEM]),
        Column("price", "Float64", tags=[Tags.ITEM]),
        Column("tags", "List(String)", value_count=(0, MAX_TAGS), tags=[Tags.ITEM, Tags.LIST]),
        Column("click", "Int8", tags=[Tags.TARGET, Tags.BINARY_CLASSIFICATION]),
        Column("dwell_time", "Float32", tags=[Tags.TARGET, Tags.REGRESSION]),
    ]
    if spec.true_probability:
        columns.append(Column("true_probability", "Float64"))
    return Schema(columns)


def generate(
    spec: SyntheticSpec, *, chunk_rows: int = BLOCK_ROWS, start: int = 0, stop: int | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the log as frames of `chunk_rows` rows, the last one shorter.

    A row depends on the spec and its row number alone, not on `chunk_rows`, `start` or `stop`.

    Parameters
    ----------
    spec
        What to generate.
    chunk_rows
        Rows of a frame.
    start, stop
        Row numbers of the first row and of the row after the last one; None means all.

    Yields
    ------
    polars.DataFrame
        Columns of `synthetic_schema`, in its order. Only ``age``, ``brand``, ``price``,
        ``tags`` and ``dwell_time`` have nulls; ``brand`` has empty strings too. ``tags`` has
        null lists, empty lists, and nulls inside lists, but never as the first element.
        ``timestamp`` rises over the log as a whole, with neighbours out of order.

    Raises
    ------
    ParameterError
        If `chunk_rows` is below 1 or the row numbers are outside of the log.

    Notes
    -----
    Memory is bounded by one block of 65,536 rows (some 50 MiB of arrays) and one chunk (about
    150 bytes a row), whatever the numbers of rows, users and items.

    Examples
    --------
    >>> spec = SyntheticSpec(rows=1_000)
    >>> [chunk.height for chunk in generate(spec, chunk_rows=400)]
    [400, 400, 200]
    """
    end = spec.rows if stop is None else stop
    if isinstance(chunk_rows, bool) or chunk_rows < 1:
        raise ParameterError(f"chunk_rows={chunk_rows!r} is below 1")
    if not 0 <= start <= end <= spec.rows:
        raise ParameterError(f"rows {start} to {end} are not within the log of {spec.rows} rows")
    return _chunks(spec, chunk_rows, start, end)


def _chunks(spec: SyntheticSpec, chunk_rows: int, start: int, end: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of the range, cut anew into chunks."""
    world = World(spec)
    pending: list[pl.DataFrame] = []
    have = 0
    for first in range(start - start % BLOCK_ROWS, end, BLOCK_ROWS):
        block = _block(world, first)
        block = block[max(start - first, 0) : end - first]
        while block.height:
            piece = block.head(chunk_rows - have)
            block = block.slice(piece.height)
            pending.append(piece)
            have += piece.height
            if have == chunk_rows:
                yield pl.concat(pending, rechunk=True)
                pending, have = [], 0
    if pending:
        yield pl.concat(pending, rechunk=True)


def _block(world: World, first: int) -> pl.DataFrame:
    """Return the block of rows that starts at row number `first`."""
    spec, draws = world.spec, world.draws
    last = min(first + BLOCK_ROWS, spec.rows)
    rows = _originals(world, np.arange(first, last, dtype=np.int64))
    users, items = world.users(rows), world.items(rows)
    brands = world.brands(items)
    days = _days(world, rows)
    truth = world.truth(users, items, days / spec.days)
    epoch = datetime.datetime.fromisoformat(spec.start).replace(tzinfo=datetime.UTC)
    time_us = int(epoch.timestamp()) * 1_000_000 + (days * _DAY_US).astype(np.int64)
    # Three days since the last visit in the mean.
    away_ms = -259_200_000.0 * np.log1p(-draws.uniform("row/away", rows))
    click = draws.uniform("row/click", rows) < truth.probability
    dwell = np.exp(2.0 + 0.4 * truth.affinity + 0.8 * click + 0.5 * draws.normal("row/dwell", rows))
    price = np.exp(3.0 + 0.9 * world.price_levels(items) + 0.1 * draws.normal("row/price", rows))
    age = np.clip(38.0 + 13.0 * draws.normal("user/age", users), 14.0, 90.0)
    empty = draws.uniform("row/empty_brand", rows) < spec.null_fraction / 2

    def with_nulls(name: str, values: pl.Series) -> pl.Series:
        known = draws.uniform(f"null/{name}", rows) >= spec.null_fraction
        return pl.select(pl.when(pl.Series(known)).then(values)).to_series()

    columns: dict[str, pl.Series] = {
        "user_id": pl.Series(world.user_numbers(users) + _FIRST_USER_ID),
        "item_id": _numbered("i_", world.item_numbers(items), spec.num_items),
        "timestamp": pl.Series(time_us).cast(pl.Datetime("us")),
        "last_visit_ms": pl.Series(time_us // 1_000 - away_ms.astype(np.int64) - 1),
        "device": _devices(world, users, rows),
        "city": _named([f"city_{k:04d}" for k in range(world.num_cities)], world.cities(users)),
        "age": with_nulls("age", pl.Series(age.astype(np.int32))),
        "brand": with_nulls("brand", _named(_brand_names(world), np.where(empty, 0, brands + 1))),
        "price": with_nulls("price", pl.Series(np.round(price, 2))),
        "tags": with_nulls("tags", _tags(world, items, rows)),
        "click": pl.Series(click.astype(np.int8)),
        "dwell_time": with_nulls("dwell_time", pl.Series(dwell.astype(np.float32))),
    }
    if spec.true_probability:
        columns["true_probability"] = pl.Series(truth.probability)
    return pl.DataFrame(columns, schema=synthetic_schema(spec).to_polars())


def _originals(world: World, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row number that each row takes its content from: mostly its own."""
    draws, fraction = world.draws, world.spec.duplicate_fraction

    def repeats(numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        return (draws.uniform("row/duplicate", numbers) < fraction) & (numbers > 0)

    again = repeats(rows)
    # A repeated row may hit one that is a repetition itself: go back to where it came from.
    while again.any():
        late = rows[again]
        back = 1 + draws.below("row/duplicate_of", late, _DUPLICATE_WINDOW)
        rows[again] = np.maximum(late - back, 0)
        again = repeats(rows)
    return rows


def _days(world: World, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the time of each row in days since the start, below `spec.days`."""
    spec = world.spec
    even = rows / spec.rows * (1.0 - _JITTER) + _JITTER * world.draws.uniform("row/time", rows)
    even *= spec.days
    # A monotone map of the days on themselves that crowds rows around the peak hour.
    turn = 2.0 * math.pi
    shift = np.sin(turn * (even - _PEAK)) + math.sin(turn * _PEAK)
    return np.clip(even - (_RHYTHM / turn) * shift, 0.0, np.nextafter(spec.days, 0))


def _devices(world: World, users: NDArray[np.int64], rows: NDArray[np.int64]) -> pl.Series:
    """Return the device: mostly the one that the user likes best."""
    draws = world.draws
    draw = np.where(
        draws.uniform("row/own_device", rows) < _OWN_DEVICE,
        draws.uniform("user/device", users),
        draws.uniform("row/device", rows),
    )
    ends = np.cumsum(_DEVICE_SHARES)[:-1]
    return _named(list(_DEVICES), np.searchsorted(ends, draw, side="right"))


def _tags(world: World, items: NDArray[np.int64], rows: NDArray[np.int64]) -> pl.Series:
    """Return the tags of each item, some of them lost in this row."""
    fraction = world.spec.null_fraction
    names = [f"tag_{k:02d}" for k in range(TAG_COUNT)]
    columns: dict[str, pl.Series] = {}
    for k, tags in enumerate(world.tags(items)):
        # The first tag always stays, so that "a||b" in a text file can be read back.
        lost = (world.draws.uniform(f"null/tags/{k}", rows) < fraction) & (k > 0)
        codes = pl.select(pl.when(pl.Series(~lost)).then(pl.Series(tags))).to_series()
        columns[str(k)] = pl.Series(names).gather(codes)
    frame = pl.DataFrame({**columns, "count": pl.Series(world.tag_counts(items))})
    return frame.select(pl.concat_list(list(columns)).list.head("count")).to_series()


def _brand_names(world: World) -> list[str]:
    """Return the empty name and the brands; every seventh needs quoting and is not ASCII."""
    names = [f"brand_{k:04d}" for k in range(world.num_brands)]
    names[3::7] = [f'Größe, "{name}" & Söhne' for name in names[3::7]]
    return ["", *names]


def _named(names: list[str], codes: NDArray[np.int64]) -> pl.Series:
    return pl.Series(names).gather(pl.Series(codes))


def _numbered(prefix: str, numbers: NDArray[np.int64], count: int) -> pl.Series:
    """Return strings such as "i_000123", padded so that all are of one length."""
    width = max(6, len(str(count - 1)))
    text = pl.Series("number", numbers).cast(pl.String).str.zfill(width)
    return pl.select(pl.format(prefix + "{}", text)).to_series()
