"""Categorify: values to contiguous ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from merlinkit.dtypes import dtype_name
from merlinkit.engine.dialect import Dialect, Lookup
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import (
    Finalized,
    Operator,
    State,
    Statistics,
    Table,
    apply_to_values,
    require_known,
    scratch,
    values_of,
)
from merlinkit.ops.parameters import is_finite_number, per_column, require_choice, require_int
from merlinkit.ops.vocabulary import (
    NULL_ID,
    OOV_ID,
    PADDING_ID,
    Vocabulary,
    canonical,
    canonical_dtype,
)
from merlinkit.schema import Column, Domain, Schema, Tags

__all__ = ["NULL_ID", "OOV_ID", "PADDING_ID", "Categorify"]

PerColumn = int | Mapping[str, int]


class Categorify(Operator):
    """Replace values by ids: 0 padding, 1 null, 2 … out of vocabulary, then the vocabulary.

    The vocabulary is in descending order of frequency, ties by value (strings by their UTF-8
    bytes), so the ids are the same on every engine, however the data is cut into files.

    Parameters
    ----------
    freq_threshold
        Values that occur less often are left out of the vocabulary. One number, or one a column.
    max_size
        Most ids a column may have, the reserved ones counted; the most frequent values are kept.
        0 sets no limit. Excludes `freq_threshold`.
    num_buckets
        Ids for values outside of the vocabulary. With more than one, a value's bucket is its
        stable hash modulo the number, at fit and at transform alike.
    vocabs
        Vocabularies that are given instead of learned, by column, in the order of their ids.
    dtype
        ``"int64"`` or ``"int32"``.
    encode_type
        What a group of columns, ``[["user", "item"], "city"]``, stands for. ``"joint"``: its
        columns share one vocabulary, and so an embedding table. ``"combo"``: the tuple of their
        values is one value, in an output column named after all of them.
    name_sep
        Between the names of a group's columns, in the name of its vocabulary or output column,
        which is also the name that parameters by column use.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or both `freq_threshold` and `max_size` are set for a
        column.

    See Also
    --------
    Bucketize : ids from numeric boundaries.

    Notes
    -----
    NaN is null. An empty string is a value. In list columns the elements are encoded; null lists
    stay null and empty lists stay empty. A combination with a null member is null.
    `inverse_transform` gives null for padding, null and unknown ids. `Workflow.update` keeps every
    id and appends new values, by descending count in the new data, ties by value; `max_size` then
    stops growth, and `freq_threshold` is about the count in the new data, since those of rare
    values of before are not kept. The state holds one table a column with every id, its value and
    its count in the data it was fitted on, so that the counts add up to the number of values seen.

    The convention is NVTabular's; unlike there, ties are broken by value, rare values reach the
    same bucket at fit and at transform, and the domain's maximum is the highest id that can occur.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"city": ["b", "a", None, "b", "c"]})
    >>> workflow = mk.Workflow(["city"] >> Categorify(freq_threshold=1))
    >>> workflow.fit_transform(frame).collect()["city"].to_list()
    [3, 4, 1, 3, 5]
    >>> workflow.transform(pl.DataFrame({"city": ["z"]})).collect()["city"].to_list()
    [2]
    """

    def __init__(
        self,
        freq_threshold: PerColumn = 0,
        max_size: PerColumn = 0,
        num_buckets: PerColumn = 1,
        vocabs: Mapping[str, Sequence[int | float | str | bool]] | None = None,
        dtype: str = "int64",
        encode_type: str = "joint",
        name_sep: str = "_",
    ) -> None:
        self.freq_threshold = per_column("Categorify", "freq_threshold", freq_threshold)
        self.max_size = per_column("Categorify", "max_size", max_size)
        self.num_buckets = per_column("Categorify", "num_buckets", num_buckets)
        self.dtype = require_choice("Categorify", "dtype", dtype, ("int64", "int32"))
        self.encode_type = require_choice(
            "Categorify", "encode_type", encode_type, ("joint", "combo")
        )
        if not isinstance(name_sep, str):
            raise ParameterError(f"Categorify: name_sep is {name_sep!r}, a string expected")
        self.name_sep = name_sep
        require_int("Categorify", "freq_threshold", self.freq_threshold, minimum=0)
        require_int("Categorify", "max_size", self.max_size, minimum=0)
        require_int("Categorify", "num_buckets", self.num_buckets, minimum=1, maximum=10_000_000)
        self.vocabs = _checked_vocabs(vocabs)
        for limits in (self.freq_threshold, self.max_size):
            for column, limit in limits.items() if isinstance(limits, dict) else ():
                if limit and column in (self.vocabs or {}):
                    raise ParameterError(
                        f"Categorify: column '{column}' has both vocabs and a limit; a given "
                        "vocabulary is kept as it is"
                    )
        named: set[str] = set(self.vocabs or ())
        for parameter in (self.freq_threshold, self.max_size, self.num_buckets):
            named |= set(parameter) if isinstance(parameter, dict) else set()
        for column in ["", *sorted(named)]:
            self._check_limits(column)

    def _check_limits(self, column: str) -> None:
        threshold = _of(self.freq_threshold, column, 0)
        limit, buckets = _of(self.max_size, column, 0), _of(self.num_buckets, column, 1)
        where = f" for column '{column}'" if column else ""
        if threshold > 1 and limit:
            raise ParameterError(
                f"Categorify: freq_threshold={threshold} and max_size={limit} exclude each "
                f"other{where}; set one of them to 0"
            )
        if limit and limit < OOV_ID + buckets + 1:
            raise ParameterError(
                f"Categorify: max_size={limit}{where} leaves no room for a vocabulary: padding, "
                f"null and {buckets} out-of-vocabulary ids are counted, so at least "
                f"{OOV_ID + buckets + 1} is needed"
            )

    # -- schema -------------------------------------------------------------------------------

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns of ids; parameters must not name other vocabularies."""
        groups = self._groups(inputs)
        known = {group.name: group for group in groups}
        for parameter in ("freq_threshold", "max_size", "num_buckets", "vocabs"):
            value = getattr(self, parameter)
            if isinstance(value, dict):
                require_known(self, parameter, value, known)
        return Schema(
            self._encoded(column, group, state) for column, group in self._outputs(inputs)
        )

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return the members of combinations, the column itself otherwise."""
        return {
            column.name: [member.name for member in group.members]
            if group.is_combination
            else [column.name]
            for column, group in self._outputs(inputs)
        }

    def _groups(self, inputs: Schema) -> list[_Group]:
        """Return a vocabulary for each column or group of columns."""
        groups = []
        for unit in self.units(inputs):
            members = tuple(inputs[name] for name in unit if name in inputs)
            if not members:
                # On the way back, where only some of the columns are wanted.
                continue
            for member in members:
                self._require_encodable(member)
            combination = self.encode_type == "combo" and len(unit) > 1
            groups.append(_Group(self.name_sep.join(unit), members, combination))
            self._require_agreement(groups[-1])
        names = [group.name for group in groups]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(
                    f"Categorify: two vocabularies are named '{name}'; choose another name_sep"
                )
        return groups

    @staticmethod
    def _require_encodable(column: Column) -> None:
        if column.dtype.is_nested() or isinstance(column.dtype, pl.Binary | pl.Object):
            raise SchemaError(
                f"Categorify: column '{column.name}' is {column.polars_dtype}; numbers, strings, "
                "booleans, dates and times, and lists of these, can be encoded"
            )

    def _require_agreement(self, group: _Group) -> None:
        """Raise unless the members can share a vocabulary, or be combined."""
        if group.is_combination:
            for member in group.members:
                if member.is_list:
                    raise SchemaError(
                        f"Categorify: column '{member.name}' holds lists, which cannot be part of "
                        "a combination"
                    )
                if self.vocabs is not None and group.name in self.vocabs:
                    raise SchemaError(
                        f"Categorify: vocabs are given for the combination '{group.name}'; they "
                        "can be given for columns and joint groups"
                    )
            return
        first = group.members[0]
        for member in group.members[1:]:
            if canonical_dtype(member.dtype) != canonical_dtype(first.dtype):
                raise SchemaError(
                    f"Categorify: columns '{first.name}' ({dtype_name(first.dtype)}) and "
                    f"'{member.name}' ({dtype_name(member.dtype)}) cannot share a vocabulary; "
                    "cast one of them"
                )

    def _outputs(self, inputs: Schema) -> list[tuple[Column, _Group]]:
        """Return a template of each output column, and its vocabulary."""
        out: list[tuple[Column, _Group]] = []
        for group in self._groups(inputs):
            if group.is_combination:
                tags = frozenset.intersection(*(member.tags for member in group.members))
                out.append((Column(group.name, self.dtype, tags=tags), group))
            else:
                out.extend((member, group) for member in group.members)
        names = [column.name for column, _ in out]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(
                    f"Categorify: column '{name}' would come out twice; a column can be in one "
                    "joint group, or stand alone, and combinations need other names (name_sep)"
                )
        return out

    def _encoded(self, column: Column, group: _Group, state: State | None) -> Column:
        """Return an output column; its domain is known once fitted."""
        domain = None
        if state is not None:
            table = state.tables[group.name]
            shared = group.name if len(group.members) > 1 and not group.is_combination else None
            domain = Domain(0, table.rows - 1, shared)
            found = table.frame.collect_schema()
            for member, name in zip(group.keys, self._vocabulary(group).values, strict=True):
                if canonical_dtype(member.dtype) != found[name]:
                    raise SchemaError(
                        f"Categorify: column '{member.name}' is {dtype_name(member.dtype)}, but "
                        f"the vocabulary was made from {dtype_name(found[name])}; cast the "
                        "column, or read it with that data type (dtypes=...)"
                    )
        encoded = Column(
            column.name,
            self.dtype,
            is_list=column.is_list,
            value_count=column.value_count,
            domain=domain,
            tags=column.tags | {Tags.CATEGORICAL},
            embedding_size=column.embedding_size,
            properties=column.properties,
        )
        return encoded.with_properties(
            {"padding_id": PADDING_ID, "num_buckets": _of(self.num_buckets, group.name, 1)}
        )

    # -- fit ----------------------------------------------------------------------------------

    takes_groups = True
    widens_integers = True

    def needs_fit(self, inputs: Schema) -> bool:
        """Return true: a given vocabulary becomes a table as well."""
        del inputs
        return True

    def _vocabulary(self, group: _Group) -> Vocabulary:
        return Vocabulary(
            tuple(canonical_dtype(member.dtype) for member in group.keys),
            _of(self.num_buckets, group.name, 1),
            _of(self.freq_threshold, group.name, 0),
            _of(self.max_size, group.name, 0),
        )

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Count each value of each vocabulary; null is a value here."""
        return {
            group.name: self._count(frame, group, dialect)
            for group in self._groups(inputs)
            if not self._is_given(group)
        }

    def _count(self, frame: pl.LazyFrame, group: _Group, dialect: Dialect) -> pl.LazyFrame:
        vocabulary = self._vocabulary(group)
        if group.is_combination:
            members = zip(group.members, vocabulary.values, strict=True)
            return vocabulary.count(
                frame.select(
                    canonical(pl.col(member.name), member.dtype).alias(name)
                    for member, name in members
                )
            )
        parts = [
            values_of(frame, member, dialect).select(
                canonical(pl.col(member.name), member.dtype).alias("value")
            )
            for member in group.members
        ]
        return vocabulary.count(parts[0] if len(parts) == 1 else pl.concat(parts))

    def _is_given(self, group: _Group) -> bool:
        return self.vocabs is not None and group.name in self.vocabs

    def _given(self, group: _Group) -> pl.Series:
        assert self.vocabs is not None
        column = group.keys[0]
        dtype = canonical_dtype(column.dtype)
        try:
            listed = pl.Series("value", self.vocabs[group.name])
            # Through the column's own type: 0.1 as Float32 is not 0.1 as Float64.
            values = listed.cast(column.dtype).cast(dtype)
            lossless = dtype.is_float() or (values.cast(listed.dtype) == listed).all()
        except (pl.exceptions.PolarsError, TypeError) as error:
            raise ParameterError(
                f"Categorify: vocabs for column '{group.name}' do not fit its data type "
                f"{dtype_name(column.dtype)}: {str(error).splitlines()[0]}"
            ) from error
        nan = dtype.is_float() and values.is_nan().any()
        if not lossless or nan or values.n_unique() != len(values):
            raise ParameterError(
                f"Categorify: vocabs for column '{group.name}' hold values that are NaN, or that "
                f"its data type {dtype_name(column.dtype)} cannot tell apart"
            )
        return values

    def vocabularies(self, inputs: Schema) -> dict[str, tuple[Vocabulary, bool]]:
        """Return, for each table of the state, how it is made and whether it was given."""
        return {
            group.name: (self._vocabulary(group), self._is_given(group))
            for group in self._groups(inputs)
        }

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Add up the counts."""
        merged = {}
        for name in left:
            both = pl.concat([left[name], right[name]])
            values = [column for column in both.collect_schema().names() if column != "count"]
            merged[name] = both.group_by(values).agg(pl.col("count").sum())
        return merged

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Give the values numbers, and add the reserved ids with their counts."""
        tables = {}
        for group in self._groups(inputs):
            vocabulary = self._vocabulary(group)
            tables[group.name] = (
                vocabulary.given(self._given(group))
                if self._is_given(group)
                else vocabulary.build(statistics[group.name], dialect)
            )
        return Finalized(tables=tables)

    def update(
        self, state: State, statistics: Statistics, inputs: Schema, dialect: Dialect
    ) -> Finalized:
        """Keep every id and append new values."""
        tables = {}
        for group in self._groups(inputs):
            table = state.tables[group.name]
            tables[group.name] = (
                table.frame
                if self._is_given(group)
                else self._vocabulary(group).extend(table, statistics[group.name], dialect)
            )
        return Finalized(tables=tables)

    # -- apply --------------------------------------------------------------------------------

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Look the values up; the rest is null or out of vocabulary."""
        scalars: list[tuple[str, list[str], _Group]] = []
        lists: list[tuple[Column, _Group]] = []
        for column, group in self._outputs(inputs):
            if group.is_combination:
                scalars.append((column.name, [member.name for member in group.members], group))
            elif column.is_list:
                lists.append((column, group))
            else:
                scalars.append((column.name, [column.name], group))
        frame = self._encode(frame, scalars, inputs, state, dialect)
        for column, group in lists:

            def step(
                part: pl.LazyFrame, name: str, column: Column = column, group: _Group = group
            ) -> pl.LazyFrame:
                element = Schema([column.with_dtype(column.dtype, is_list=False)])
                return self._encode(part, [(name, [name], group)], element, state, dialect)

            frame = apply_to_values(frame, column, step, _integer(self.dtype), dialect)
        return frame

    def _encode(
        self,
        frame: pl.LazyFrame,
        columns: list[tuple[str, list[str], _Group]],
        inputs: Schema,
        state: State,
        dialect: Dialect,
    ) -> pl.LazyFrame:
        """Encode scalar columns, all at once: a step for each would make wide plans slow."""
        keys: list[pl.Expr] = []
        encoded: list[pl.Expr] = []
        spare: list[str] = []
        singles: list[tuple[str, Lookup, str]] = []
        combinations: list[tuple[pl.LazyFrame, list[str]]] = []
        for number, (into, names, group) in enumerate(columns):
            vocabulary = self._vocabulary(group)
            key = [scratch(f"key_{number}_{index}") for index in range(len(names))]
            found = scratch(f"id_{number}")
            for name, place in zip(names, key, strict=True):
                keys.append(canonical(pl.col(name), inputs[name].dtype).alias(place))
            table = state.tables[group.name]
            if len(key) == 1:
                singles.append((key[0], table.lookup("value", "id"), found))
            else:
                renamed = [
                    pl.col(name).alias(place)
                    for name, place in zip(vocabulary.values, key, strict=True)
                ]
                complete = table.frame.select(*renamed, pl.col("id").alias(found)).drop_nulls()
                combinations.append((complete, key))
            missing = pl.any_horizontal([pl.col(place).is_null() for place in key])
            ids = (
                pl.when(missing)
                .then(pl.lit(NULL_ID, dtype=pl.Int64))
                .when(pl.col(found).is_null())
                .then(vocabulary.bucket([pl.col(place) for place in key], dialect))
                .otherwise(pl.col(found))
            )
            encoded.append(ids.cast(_integer(self.dtype)).alias(into))
            spare += [*key, found]
        frame = frame.with_columns(keys)
        frame = dialect.lookups(frame, singles)
        for complete, key in combinations:
            frame = dialect.join(frame, complete, key)
        return frame.with_columns(encoded).drop(spare)

    @property
    def invertible(self) -> bool:
        """Ids name their values."""
        return True

    def inverse(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Look the values of ids up; null for padding, null, unknown and ids out of range."""
        for output, group in self._outputs(inputs):
            table = state.tables[group.name]
            if group.is_combination:
                frame = self._members(frame, output.name, group, table, dialect)
                continue
            by_id = table.lookup("id", "value")

            def back(
                part: pl.LazyFrame, name: str, by_id: Lookup = by_id, column: Column = output
            ) -> pl.LazyFrame:
                key, found = scratch("key"), scratch("value")
                part = part.with_columns(pl.col(name).cast(pl.Int64).alias(key))
                part = dialect.lookups(part, [(key, by_id, found)])
                return part.with_columns(pl.col(found).cast(column.dtype).alias(name)).drop(
                    key, found
                )

            frame = apply_to_values(frame, output, back, output.dtype, dialect)
        return frame

    def _members(
        self, frame: pl.LazyFrame, name: str, group: _Group, table: Table, dialect: Dialect
    ) -> pl.LazyFrame:
        """Add the members of a combination."""
        key = scratch("key")
        found = {
            value: scratch(f"member_{index}")
            for index, value in enumerate(self._vocabulary(group).values)
        }
        by_id = table.frame.select(
            pl.col("id").alias(key), *(pl.col(value).alias(place) for value, place in found.items())
        )
        frame = frame.with_columns(pl.col(name).cast(pl.Int64).alias(key))
        frame = dialect.join(frame, by_id, [key])
        members = [
            pl.col(place).cast(member.dtype).alias(member.name)
            for member, place in zip(group.members, found.values(), strict=True)
        ]
        return frame.with_columns(members).drop(key, *found.values())


@dataclass(frozen=True)
class _Group:
    """Columns that have one vocabulary: a column alone, several jointly, or a combination."""

    name: str
    members: tuple[Column, ...]
    is_combination: bool

    @property
    def keys(self) -> tuple[Column, ...]:
        """The columns whose data types the vocabulary has."""
        return self.members if self.is_combination else self.members[:1]


def _of(parameter: int | dict[str, int], column: str, default: int) -> int:
    return parameter.get(column, default) if isinstance(parameter, dict) else parameter


def _integer(name: str) -> pl.DataType:
    return pl.Int32() if name == "int32" else pl.Int64()


def _checked_vocabs(
    vocabs: Mapping[str, Sequence[int | float | str | bool]] | None,
) -> dict[str, list[int | float | str | bool]] | None:
    if vocabs is None:
        return None
    if not isinstance(vocabs, Mapping):
        raise ParameterError(
            f"Categorify: vocabs is {type(vocabs).__name__}, a mapping of column to values expected"
        )
    checked = {}
    for column, values in vocabs.items():
        # A set has no order, and the ids are the order.
        listed = list(values) if isinstance(values, list | tuple) else []
        plain = all(isinstance(value, str | bool) or is_finite_number(value) for value in listed)
        if not listed or not plain:
            raise ParameterError(
                f"Categorify: vocabs for column '{column}' must be a list of values without null: "
                "numbers, strings or booleans"
            )
        if len(set(listed)) != len(listed):
            twice = next(value for value in listed if listed.count(value) > 1)
            raise ParameterError(
                f"Categorify: vocabs for column '{column}' hold {twice!r} more than once"
            )
        checked[str(column)] = listed
    return checked
