"""Output schema: the processed columns, their domains, embeddings and tags."""

from __future__ import annotations

from dataclasses import dataclass

from merlinkit.dtypes import dtype_name
from merlinkit.report.formats import amount, short
from merlinkit.report.record import RunRecord
from merlinkit.report.sections.overview import PART_NAMES
from merlinkit.schema import Column, Schema, Tags

__all__ = ["OutputColumn", "OutputSchema", "output_schema"]

MOST_COLUMNS = 1_000
MOST_DIFFERENCES = 5


@dataclass(frozen=True)
class OutputColumn:
    """One line of the table."""

    name: str
    dtype: str
    lengths: str | None
    domain: str | None
    vocabulary: str | None
    cardinality: int | None
    embedding_size: int | None
    tags: list[str]


@dataclass(frozen=True)
class OutputSchema:
    """What the template shows of the processed data."""

    columns: list[OutputColumn]
    left_out: int
    tables: int
    parameters: int
    differences: list[str]


def output_schema(record: RunRecord) -> OutputSchema | None:
    """Return the section, or None where no processed data was found.

    The schema of the first part is shown, and how those of the others differ from it.
    """
    if not record.schemas:
        return None
    first, *others = record.schemas
    schema = record.schemas[first]
    differences = [
        f"{PART_NAMES.get(part, part)} against {PART_NAMES.get(first, first)}: {short(line, 200)}"
        for part in others
        for line in record.schemas[part].diff(schema)[:MOST_DIFFERENCES]
    ]
    sizes = _tables(schema)
    return OutputSchema(
        columns=[_column(column) for column in list(schema)[:MOST_COLUMNS]],
        left_out=max(0, len(schema) - MOST_COLUMNS),
        tables=len(sizes),
        parameters=sum(sizes.values()),
        differences=differences,
    )


def _column(column: Column) -> OutputColumn:
    lengths = None
    if column.value_count is not None:
        low, high = column.value_count
        lengths = f"{amount(low)} to {'any' if high is None else amount(high)} elements"
    domain = column.domain
    return OutputColumn(
        name=column.name,
        dtype=dtype_name(column.polars_dtype),
        lengths=lengths,
        domain=None if domain is None else f"{amount(domain.min)} to {amount(domain.max)}",
        vocabulary=None if domain is None else domain.name,
        cardinality=column.cardinality,
        embedding_size=_embedding_size(column),
        tags=sorted(column.tags),
    )


def _embedding_size(column: Column) -> int | None:
    """Return the width of the embedding; targets with a domain have none."""
    embedded = Tags.CATEGORICAL in column.tags or column.embedding_size is not None
    return column.resolved_embedding_size if embedded else None


def _tables(schema: Schema) -> dict[str, int]:
    """Return the numbers of parameters by embedding table; a named domain is one table."""
    sizes: dict[str, int] = {}
    for column in schema:
        width = _embedding_size(column)
        if width is not None and column.cardinality is not None and column.domain is not None:
            shared = column.domain.name
            key = f"column {column.name}" if shared is None else f"domain {shared}"
            sizes[key] = max(sizes.get(key, 0), column.cardinality * width)
    return sizes
