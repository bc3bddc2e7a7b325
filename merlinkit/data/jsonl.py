"""Line-delimited JSON, plain or compressed: one object a line, a key is a column.

What Polars' own reader does, as of 1.44, and why it is not used alone: keys that its schema lacks
are dropped without a word; errors name neither file nor line; small integers and times make it
panic. Here the reader gets blocks of whole lines and the base types that it knows, the keys of
each block are compared with the columns, and a line that does not fit is looked for and named.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from merlinkit.data.dtype_rules import lacks_type, plain_dtype, with_type
from merlinkit.data.json_path import JsonPath, nested_schema, parse_fields
from merlinkit.data.jsonl_lines import (
    first_ambiguous,
    first_lines,
    first_not_object,
    kind_of,
    line_blocks,
    numbered_lines,
)
from merlinkit.data.text import line_error, shown
from merlinkit.dtypes import dtype_name
from merlinkit.errors import DataError, ParameterError, SchemaError, did_you_mean

__all__ = ["JsonlReader"]

INFER_ROWS = 10_000
"""Types and keys are taken from so many lines of the first file that has any."""


class JsonlReader:
    """Reads files of one JSON object a line.

    Parameters
    ----------
    files
        The files, sorted.
    dtypes
        Data types that are not inferred, by column. Keys that the first lines lack are added. A
        nested object that is given the type String is read as its JSON text.
    columns
        The columns to read, in order, other keys are left out; None reads all, and then a key
        that first shows up in a later line is an error, so that it cannot get lost.
    fields
        Columns that are made of values within nested objects, as paths of keys
        (`merlinkit.data.json_path.JsonPath`). They come after the others. The outermost keys that
        they go into are no columns then.
    required
        With ``columns`` None, the columns that must be readable; nested objects under other keys
        are left out, with a note. None stands for every column.

    Raises
    ------
    DataError
        If the first lines are not JSON objects, or hold nested objects that have no path.
    SchemaError
        If a column that is named is not there.
    ParameterError
        If a path is none, or a column is read both by a path and as a whole.

    Notes
    -----
    A missing key, also one on a path, is null. Blank lines are left out. A number in a String
    column is its text; a fraction in an integer column, or text in a number column, is an error. So
    is an object that has a key twice, and half of a surrogate pair.
    """

    def __init__(
        self,
        files: Sequence[Path],
        dtypes: Mapping[str, pl.DataType],
        columns: Sequence[str] | None,
        fields: Mapping[str, str] | None = None,
        required: Collection[str] | None = None,
    ) -> None:
        self.notes: list[str] = []
        self._given = dict(dtypes)
        self._every_key = columns is None
        self._required = required
        self._fields = parse_fields(fields)
        self._ignored = {path.keys[0] for path in self._fields.values()} - set(self._fields)
        self._sample_file = files[0]
        self._sample_files: dict[str, Path] = {}
        for name in [*dtypes, *(columns or ())]:
            if name in self._ignored:
                raise ParameterError(
                    f"column '{name}' is read as a whole, but fields go into it; leave one out"
                )
        inferred = self._infer(files, columns)
        self.has_rows = inferred is not None
        known = {**(inferred or {}), **self._given}
        wanted = list(known if columns is None else columns)
        for name in wanted:
            if name not in known:
                hint = did_you_mean(name, known) or f" There are: {', '.join(list(known)[:20])}."
                raise SchemaError(
                    f"{self._sample_file}: no key '{name}' in the first {INFER_ROWS:,} lines."
                    f"{hint} If it comes later, give its type with dtypes"
                )
        self.schema = pl.Schema({name: known[name] for name in wanted})
        self._paths = {name: self._fields.get(name, JsonPath((name,))) for name in wanted}
        self._parsed = nested_schema(
            self._paths, {name: _parsable(dtype) for name, dtype in self.schema.items()}
        )

    def _infer(
        self, files: Sequence[Path], columns: Sequence[str] | None
    ) -> dict[str, pl.DataType] | None:
        found: dict[str, pl.DataType] | None = None
        for file in files:
            if found is not None and not any(map(lacks_type, found.values())):
                break
            for data, line in line_blocks(file):
                sample = first_lines(data, INFER_ROWS)
                try:
                    frame = pl.read_ndjson(sample, infer_schema_length=None)
                except pl.exceptions.PolarsError as error:
                    if found is not None:
                        break  # reading it with the types of the first file decides
                    raise self._unusable(file, sample, line, error) from None
                if found is None:
                    self._sample_file = file
                    found = dict(frame.schema)
                    self._sample_files = dict.fromkeys(found, file)
                else:
                    for name, dtype in found.items():
                        if lacks_type(dtype) and name in frame.schema:
                            found[name] = with_type(dtype, frame.schema[name])
                            self._sample_files[name] = file
                break
        return None if found is None else self._plain(self._sample_file, found, columns)

    def _plain(
        self, file: Path, schema: Mapping[str, pl.DataType], columns: Sequence[str] | None
    ) -> dict[str, pl.DataType]:
        plain: dict[str, pl.DataType] = {}
        problems = []
        found = {
            name: dtype
            for name, dtype in schema.items()
            if name not in self._ignored and name not in self._fields
        }
        for name, path in self._fields.items():
            if columns is None and name in schema and path.keys[0] != name:
                raise ParameterError(
                    f"fields['{name}']: {file} has a key '{name}' besides; give the column another "
                    "name, or name the columns to read with columns=[...]"
                )
            at = path.dtype_in(schema)
            if at is None and name not in self._given and (columns is None or name in columns):
                problems.append(
                    f"column '{name}': no value at {path} in the first {INFER_ROWS:,} lines; if it "
                    "comes later, give its type with dtypes"
                )
            found[name] = pl.String() if at is None else at
        for name, dtype in found.items():
            if name in self._given or (columns is not None and name not in columns):
                plain[name] = pl.String()
                continue
            try:
                # Numbers beyond 64 bits are read as their text, so that no digit is lost.
                plain[name] = pl.String() if dtype == pl.Int128 else plain_dtype(dtype)
            except SchemaError as error:
                if self._required is not None and name not in self._required:
                    self._ignored.add(name)
                    self.notes.append(f"key '{name}' {error}; it is left out, nothing needs it")
                    continue
                problems.append(f"key '{name}' {error}")
        if problems:
            raise DataError(
                f"{file}: {'; '.join(problems)}. Name its values with fields={{'COLUMN': "
                "'$.KEY.KEY'}, leave it out with columns=[...], or read its JSON text with "
                "dtypes={'KEY': 'String'}"
            )
        return plain

    def _unusable(self, file: Path, data: bytes, line: int, error: Exception) -> DataError:
        found = first_not_object(file, data, line) or first_ambiguous(file, data, line)
        if found is not None:
            return found
        kinds: dict[str, dict[str, int]] = {}
        for number, text in numbered_lines(data, line):
            for key, value in json.loads(text).items():
                if value is not None:
                    kinds.setdefault(key, {}).setdefault(kind_of(value), number)
        for name, path in self._fields.items():
            for number, text in numbered_lines(data, line):
                if (at := path.blocked_in(json.loads(text))) is not None:
                    return _blocked(file, number, name, path, at)
        for key, lines in kinds.items():
            if len(lines) > 1 and set(lines) != {"an integer", "a number"}:
                listed = ", ".join(f"{kind} in line {number}" for kind, number in lines.items())
                return DataError(
                    f"{file}: key '{key}' holds {listed}; give the type to read it as with "
                    f"dtypes={{'{key}': 'String'}}, or leave it out with columns=[...]"
                )
        return DataError(f"{file}: {str(error).partition(chr(10))[0]}")

    # -- rows ---------------------------------------------------------------------------------

    def frames(self, file: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows of a file in order, the named columns alone, block by block.

        Raises
        ------
        DataError
            If a line is not a JSON object, holds an unknown key or a value that does not fit.
        """
        for data, line in line_blocks(file):
            yield self._parse(file, data, line).select(columns)

    def _parse(self, file: Path, data: bytes, line: int) -> pl.DataFrame:
        frame = None
        if self._every_key:
            frame = self._parse_every_key(file, data, line)
        try:
            if frame is None:
                frame = pl.read_ndjson(data, schema=self._parsed)
            rows = self._columns(frame, self._paths)
        except pl.exceptions.PolarsError as error:
            raise self._misfit(file, data, line, error) from None
        if (found := first_ambiguous(file, data, line)) is not None:
            raise found
        return rows

    def _columns(self, frame: pl.DataFrame, paths: Mapping[str, JsonPath]) -> pl.DataFrame:
        return frame.select(
            path.expr().cast(self.schema[name]).alias(name) for name, path in paths.items()
        )

    def _parse_every_key(self, file: Path, data: bytes, line: int) -> pl.DataFrame | None:
        """Return the block if its own types are those expected; raise if it has other keys."""
        try:
            frame = pl.read_ndjson(data, infer_schema_length=None)
            keys = set(frame.columns)
        except pl.exceptions.PolarsError:
            # Its types do not agree: let the known ones decide, but look at the keys all the same.
            frame = None
            if (found := first_not_object(file, data, line)) is not None:
                raise found from None
            keys = {key for _, text in numbered_lines(data, line) for key in json.loads(text)}
        unknown = sorted(keys - set(self._parsed) - self._ignored)
        if unknown:
            raise self._unknown_key(file, data, line, unknown[0])
        if frame is None or any(frame.schema.get(key) != self._parsed[key] for key in self._parsed):
            return None
        return frame

    def _unknown_key(self, file: Path, data: bytes, line: int, key: str) -> DataError:
        for number, text in numbered_lines(data, line):
            if key in json.loads(text):
                line = number
                break
        return line_error(
            file,
            line,
            f"key '{key}' is not among the columns, which are the keys of the first "
            f"{INFER_ROWS:,} lines of {self._sample_file}. Read it with "
            f"dtypes={{'{key}': 'String'}} (or its type), or name the columns to read with "
            "columns=[...]",
        )

    def _misfit(self, file: Path, data: bytes, line: int, error: Exception) -> DataError:
        """Return the error that names the first line that does not fit, found by halving."""
        found = first_not_object(file, data, line) or first_ambiguous(file, data, line)
        if found is not None:
            return found
        lines = list(numbered_lines(data, line))
        low, high = 0, len(lines)
        while high - low > 1:
            middle = (low + high) // 2
            if self._fits(lines[low:middle], self._paths):
                low = middle
            else:
                high = middle
        number, text = lines[low]
        for key, path in self._paths.items():
            if not self._fits(lines[low:high], {key: path}):
                if (at := path.blocked_in(json.loads(text))) is not None:
                    return _blocked(file, number, key, path, at)
                kind = dtype_name(self.schema[key])
                value = shown(json.dumps(path.value_in(json.loads(text)), ensure_ascii=False))
                origin = (
                    "as dtypes says"
                    if key in self._given
                    else f"the type inferred from the first {INFER_ROWS:,} lines of "
                    f"{self._sample_files.get(path.keys[0], self._sample_file)}"
                )
                return line_error(
                    file,
                    number,
                    f"column '{key}' holds {value}, which is not {kind}, {origin}. If it is right, "
                    f"read the column as another type with dtypes={{'{key}': 'String'}}",
                )
        first = str(error).partition("\n")[0]
        return line_error(file, number, f"{first}: {shown(text)}")

    def _fits(self, lines: Sequence[tuple[int, bytes]], paths: Mapping[str, JsonPath]) -> bool:
        data = b"".join(text + b"\n" for _, text in lines)
        parsed = {name: _parsable(self.schema[name]) for name in paths}
        try:
            self._columns(pl.read_ndjson(data, schema=nested_schema(paths, parsed)), paths)
        except pl.exceptions.PolarsError:
            return False
        return True


def _blocked(
    file: Path, line: int, column: str, path: JsonPath, at: tuple[JsonPath, object]
) -> DataError:
    return line_error(
        file,
        line,
        f"column '{column}' is read at {path}, but {at[0]} is {kind_of(at[1])}, where an object "
        "was expected. Correct the line",
    )


def _parsable(dtype: pl.DataType) -> pl.DataType:
    """Return the type that Polars' JSON reader knows and that is cast to the wanted one."""
    if isinstance(dtype, pl.List):
        return pl.List(_parsable(dtype.inner))  # type: ignore[arg-type]
    if dtype.is_unsigned_integer():
        return pl.UInt64()
    if dtype.is_integer():
        return pl.Int64()
    if dtype.is_float():
        return pl.Float64()
    if isinstance(dtype, pl.Time | pl.Duration | pl.Binary):
        raise SchemaError(f"JSON values cannot be read as {dtype_name(dtype)}; read them as String")
    return dtype
