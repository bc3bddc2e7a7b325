"""Logs shaped like the click logs that Criteo published: 13 numbers, 26 hashed categories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from merlinkit.data.synthetic.draws import Draws, zipf_ranks
from merlinkit.errors import ParameterError
from merlinkit.schema import Column, Schema, Tags

__all__ = ["CATEGORIES", "LABEL", "NUMBERS", "CriteoSpec", "criteo_schema", "generate_criteo"]

LABEL = "label"
NUMBERS = tuple(f"I{index}" for index in range(1, 14))
CATEGORIES = tuple(f"C{index}" for index in range(1, 27))

# Orders of magnitude of the distinct values of the 26 columns of the published log of 45 million
# rows, most popular first within a column as Zipf has it.
_CARDINALITIES = (
    1_500,
    600,
    10_000_000,
    2_000_000,
    300,
    24,
    12_500,
    600,
    3,
    93_000,
    5_700,
    8_000_000,
    3_200,
    27,
    15_000,
    5_500_000,
    10,
    5_700,
    2_200,
    4,
    7_000_000,
    18,
    15,
    286_000,
    105,
    143_000,
)
_PUBLISHED_ROWS = 45_000_000
_ZIPF = 1.05
# Share of nulls by column, as wide a range as in the published log.
_NULLS_OF_NUMBERS = (0.45, 0.0, 0.21, 0.22, 0.03, 0.22, 0.04, 0.0, 0.04, 0.45, 0.04, 0.76, 0.22)
_NULLS_OF_CATEGORIES = {"C3": 0.03, "C4": 0.03, "C6": 0.12, "C12": 0.03, "C16": 0.03}
_NULLS_OF_CATEGORIES |= dict.fromkeys(("C19", "C20", "C25", "C26"), 0.44)
_NULLS_OF_CATEGORIES["C22"] = 0.76
# Columns whose values say something about the label.
_TELLING = ("C2", "C8", "C14", "C17", "C20", "C23")
_CLICK_BIAS = -1.2
_BLOCK_ROWS = 65_536
_ROWS_PER_FILE = 4_000_000
_HEX = np.array([f"{value:04x}".encode() for value in range(65_536)], dtype="S4")


@dataclass(frozen=True, slots=True)
class CriteoSpec:
    """Size and seed of a log shaped like Criteo's.

    Parameters
    ----------
    rows
        Number of rows.
    seed
        The same seed gives the same log.
    files
        Number of files; None makes one for each four million rows. It does not change the rows.
    max_distinct
        Most distinct values of a category column; the columns have from 3 to 10 million, in
        proportion to the rows where there are fewer than the 45 million of the published log.

    Raises
    ------
    ParameterError
        If a value is out of range.
    """

    rows: int = 1_000_000
    seed: int = 0
    files: int | None = None
    max_distinct: int = 10_000_000

    def __post_init__(self) -> None:
        problems = []
        for name, least in (("rows", 1), ("seed", 0), ("files", 1), ("max_distinct", 3)):
            value = getattr(self, name)
            if value is None and name == "files":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**62:
                problems.append(f"{name}={value!r} is not a whole number of at least {least}")
        if not problems and self.files is not None and self.files > self.rows:
            problems.append(f"files={self.files} is more than rows={self.rows}")
        if problems:
            raise ParameterError("; ".join(problems))

    @property
    def num_files(self) -> int:
        """Number of files to write."""
        return -(-self.rows // _ROWS_PER_FILE) if self.files is None else self.files

    def to_dict(self) -> dict[str, bool | int | float | str]:
        """Return all values, with the number of files spelled out."""
        return {**asdict(self), "files": self.num_files}

    def cardinality(self, column: str) -> int:
        """Return how many values a category column draws from."""
        whole = _CARDINALITIES[CATEGORIES.index(column)]
        # Small columns keep their values, large ones shrink with the log.
        scaled = max(round(whole * min(1.0, self.rows / _PUBLISHED_ROWS)), min(whole, 5_000))
        return min(scaled, self.max_distinct)


def criteo_schema() -> Schema:
    """Return the columns in the order of the published files, which have no header.

    Examples
    --------
    >>> criteo_schema().names[:3], len(criteo_schema())
    (['label', 'I1', 'I2'], 40)
    """
    return Schema(
        [
            Column(LABEL, "Int8", tags=[Tags.TARGET, Tags.BINARY_CLASSIFICATION]),
            *(Column(name, "Int64") for name in NUMBERS),
            *(Column(name, "String") for name in CATEGORIES),
        ]
    )


def generate_criteo(
    spec: CriteoSpec, *, start: int = 0, stop: int | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the rows from ``start`` to ``stop`` as frames of at most 65,536 rows.

    A row depends on the spec and its row number alone. Categories are strings of eight hexadecimal
    digits, popular by Zipf's law; numbers are counts with a long tail, some of I2 below zero; both
    have nulls in about the shares of the published log. The label follows from six of the
    categories and two of the numbers, and is 1 for a tenth to a third of the rows, by seed.

    Examples
    --------
    >>> frame = next(generate_criteo(CriteoSpec(rows=4)))
    >>> frame.shape, frame["C1"].str.len_bytes().unique().to_list()
    ((4, 40), [8])
    """
    end = spec.rows if stop is None else stop
    draws = Draws(spec.seed)
    for first in range(start - start % _BLOCK_ROWS, end, _BLOCK_ROWS):
        block = _block(spec, draws, first)
        yield block[max(start - first, 0) : end - first]


def _block(spec: CriteoSpec, draws: Draws, first: int) -> pl.DataFrame:
    rows = np.arange(first, min(first + _BLOCK_ROWS, spec.rows), dtype=np.int64)
    logit = np.full(len(rows), _CLICK_BIAS)
    columns: dict[str, pl.Series] = {}
    for name, nulls in zip(NUMBERS, _NULLS_OF_NUMBERS, strict=True):
        values = np.exp(1.5 * draws.normal(name, rows) + 1.0).astype(np.int64)
        if name == "I2":
            values -= 2
        if name in ("I5", "I11"):
            logit += 0.25 * (np.log1p(values) - 1.3)
        known = draws.uniform(f"null/{name}", rows) >= nulls
        columns[name] = _with_nulls(pl.Series(name, values), known)
    for name in CATEGORIES:
        ranks = zipf_ranks(draws.uniform(name, rows), spec.cardinality(name), _ZIPF)
        if name in _TELLING:
            logit += 0.5 * draws.centered(f"effect/{name}", ranks)
        codes = (draws.bits(f"value/{name}", ranks) >> np.uint64(32)).astype(np.uint32)
        known = draws.uniform(f"null/{name}", rows) >= _NULLS_OF_CATEGORIES.get(name, 0.0)
        columns[name] = _with_nulls(_hexadecimal(name, codes), known)
    click = draws.uniform("click", rows) < 1.0 / (1.0 + np.exp(-logit))
    label = pl.Series(LABEL, click.astype(np.int8))
    return pl.DataFrame([label, *columns.values()], schema=criteo_schema().to_polars())


def _with_nulls(values: pl.Series, known: NDArray[np.bool_]) -> pl.Series:
    return pl.select(pl.when(pl.Series(known)).then(values).alias(values.name)).to_series()


def _hexadecimal(name: str, codes: NDArray[np.uint32]) -> pl.Series:
    """Return each number as eight hexadecimal digits."""
    halves = np.stack([codes >> np.uint32(16), codes & np.uint32(0xFFFF)], axis=1)
    text = np.ascontiguousarray(_HEX[halves])
    offsets = np.arange(0, 8 * len(codes) + 1, 8, dtype=np.int64)
    array = pa.LargeStringArray.from_buffers(len(codes), pa.py_buffer(offsets), pa.py_buffer(text))
    return pl.Series(name, pl.from_arrow(array))
