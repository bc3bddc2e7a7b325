"""The columns of a data set, in order.

A `Schema` travels beside the data through the whole pipeline. Operators change it, the loader
decides from it what to read, and models size their embedding tables by it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import polars as pl

from merlinkit.atomic import write_text
from merlinkit.column import Column, Domain, JSONValue, Tags, default_embedding_size
from merlinkit.dtypes import dtype_name
from merlinkit.errors import ArtifactError, SchemaError, did_you_mean

__all__ = ["Column", "Domain", "JSONValue", "Schema", "Tags", "default_embedding_size"]

SCHEMA_FORMAT = 1


class Schema:
    """An ordered set of columns with distinct names.

    Parameters
    ----------
    columns
        The columns, in order.

    Raises
    ------
    SchemaError
        If two columns have the same name.

    Examples
    --------
    >>> schema = Schema([Column("user", "Int64", tags=["user_id"]), Column("price", "Float32")])
    >>> schema.names, schema.by_tag("user_id").names
    (['user', 'price'], ['user'])
    >>> schema["pric"]
    Traceback (most recent call last):
        ...
    merlinkit.errors.SchemaError: no column 'pric'. Did you mean 'price'?
    """

    def __init__(self, columns: Iterable[Column] = ()) -> None:
        self._columns: dict[str, Column] = {}
        for column in columns:
            if column.name in self._columns:
                raise SchemaError(f"two columns are named '{column.name}'")
            self._columns[column.name] = column

    # -- reading ------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Column names, in order."""
        return list(self._columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self._columns.values())

    def __len__(self) -> int:
        return len(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> Column:
        try:
            return self._columns[name]
        except KeyError:
            hint = did_you_mean(name, self._columns) or f" There are: {self._listed()}."
            raise SchemaError(f"no column '{name}'.{hint}") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def _listed(self, limit: int = 20) -> str:
        shown = ", ".join(self.names[:limit]) or "none"
        return shown if len(self) <= limit else f"{shown}, and {len(self) - limit} more"

    # -- deriving -----------------------------------------------------------------------------

    def select(self, names: Iterable[str]) -> Schema:
        """Return the named columns, in the order of the names."""
        return Schema(self[name] for name in _names(names))

    def without(self, names: Iterable[str]) -> Schema:
        """Return all columns but the named ones; names that are not there are ignored."""
        dropped = set(_names(names))
        return Schema(column for column in self if column.name not in dropped)

    def by_tag(self, *tags: str) -> Schema:
        """Return the columns that carry at least one of the tags."""
        wanted = {str(tag) for tag in tags}
        return Schema(column for column in self if column.tags & wanted)

    def without_tag(self, *tags: str) -> Schema:
        """Return the columns that carry none of the tags."""
        unwanted = {str(tag) for tag in tags}
        return Schema(column for column in self if not column.tags & unwanted)

    def with_columns(self, columns: Iterable[Column]) -> Schema:
        """Return the schema with columns replaced in place, or appended when they are new."""
        merged = dict(self._columns)
        for column in columns:
            merged[column.name] = column
        return Schema(merged.values())

    def merge(self, other: Schema) -> Schema:
        """Return the columns of both; a column in both must be equal but for its tags.

        Tags and properties of a shared column are united.

        Raises
        ------
        SchemaError
            If a shared column differs in anything else, naming column and difference.
        """
        merged = dict(self._columns)
        for column in other:
            mine = merged.get(column.name)
            if mine is None:
                merged[column.name] = column
                continue
            united = mine.with_tags(column.tags).with_properties(column.properties)
            differences = Schema([united]).diff(
                Schema([column.with_tags(mine.tags).with_properties(united.properties)])
            )
            if differences:
                raise SchemaError("cannot merge schemas: " + "; ".join(differences))
            merged[column.name] = united
        return Schema(merged.values())

    def __add__(self, other: Schema) -> Schema:
        return self.merge(other)

    def diff(self, other: Schema) -> list[str]:
        """Return one sentence for each difference to another schema; empty when equal.

        Examples
        --------
        >>> Schema([Column("a", "Int64")]).diff(Schema([Column("a", "Int32"), Column("b", "Int8")]))
        ["column 'a': dtype Int64 against Int32", "column 'b' is only on the right"]
        """
        out: list[str] = []
        for column in self:
            if column.name not in other:
                out.append(f"column '{column.name}' is only on the left")
                continue
            theirs = other[column.name]
            mine, yours = column.to_dict(), theirs.to_dict()
            for key in {**mine, **yours}:
                left, right = mine.get(key), yours.get(key)
                if left != right:
                    out.append(f"column '{column.name}': {key} {left} against {right}")
        out.extend(
            f"column '{name}' is only on the right" for name in other.names if name not in self
        )
        shared = [name for name in self.names if name in other]
        if not out and shared != other.names:
            out.append(f"order {self.names} against {other.names}")
        return out

    # -- frames -------------------------------------------------------------------------------

    @classmethod
    def from_polars(cls, schema: Mapping[str, pl.DataType]) -> Schema:
        """Return a schema of plain columns from a Polars schema."""
        return cls(Column(name, dtype) for name, dtype in schema.items())

    def to_polars(self) -> pl.Schema:
        """Return the Polars schema of a frame with these columns."""
        return pl.Schema({column.name: column.polars_dtype for column in self})

    def empty_frame(self) -> pl.DataFrame:
        """Return a frame of these columns without rows."""
        return pl.DataFrame(schema=self.to_polars())

    # -- saved form ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the schema as JSON values."""
        return {"format": SCHEMA_FORMAT, "columns": [column.to_dict() for column in self]}

    @classmethod
    def from_dict(cls, data: Mapping[str, JSONValue]) -> Schema:
        """Return the schema that `to_dict` described.

        Raises
        ------
        ArtifactError
            If it is of another format version or not a schema at all.
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("columns"), list):
            raise ArtifactError("not a schema: expected a mapping with 'format' and 'columns'")
        if data.get("format") != SCHEMA_FORMAT:
            raise ArtifactError(
                f"schema format {data.get('format')!r} found, {SCHEMA_FORMAT} expected; "
                "write it again with this version of merlinkit"
            )
        return cls(Column.from_dict(column) for column in data["columns"])

    def save(self, path: str | Path) -> None:
        """Write the schema as JSON; the file appears whole or not at all."""
        write_text(path, json.dumps(self.to_dict(), indent=2) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema that `save` wrote.

        Raises
        ------
        ArtifactError
            If the file is missing, unreadable or not a schema, or of another format version.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ArtifactError(f"no schema at {path}") from None
        except OSError as error:
            raise ArtifactError(f"cannot read {path}: {error.strerror}") from error
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ArtifactError(f"{path} is not valid JSON: {error}") from error
        try:
            return cls.from_dict(data)
        except (ArtifactError, SchemaError) as error:
            raise ArtifactError(f"{path}: {error}") from error

    def __repr__(self) -> str:
        if not self._columns:
            return "Schema (no columns)"
        rows = [("column", "dtype", "domain", "embedding", "tags")]
        for column in self:
            kind = dtype_name(column.polars_dtype)
            if column.value_count is not None:
                low, high = column.value_count
                kind += f" {low}..{'' if high is None else high}"
            domain = ""
            if column.domain is not None:
                domain = f"{column.domain.min}..{column.domain.max}"
                if column.domain.name is not None:
                    domain += f" ({column.domain.name})"
            size = column.resolved_embedding_size
            rows.append(
                (
                    column.name,
                    kind,
                    domain,
                    "" if size is None else str(size),
                    ", ".join(sorted(column.tags)),
                )
            )
        widths = [max(len(row[index]) for row in rows) for index in range(5)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([f"Schema ({len(self)} columns)", *lines])


def _names(names: Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
