"""Random schemas for round-trip tests: every data type, nesting and awkward value."""

from __future__ import annotations

import polars as pl
from hypothesis import strategies as st

from merlinkit.schema import Column, Domain, Schema, Tags

# What Merlin uses for itself among the properties, and what pbtxt adds.
RESERVED_NAMES = (
    *("domain", "value_count", "_dims", "is_list", "is_ragged", "dtype_item_size"),
    *("embedding_sizes", "merlinkit.column"),
)

plain_dtypes = st.sampled_from(
    [
        *(pl.Boolean(), pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64(), pl.Int128()),
        *(pl.UInt8(), pl.UInt16(), pl.UInt32(), pl.UInt64(), pl.Float32(), pl.Float64()),
        *(pl.String(), pl.Binary(), pl.Categorical(), pl.Date(), pl.Time(), pl.Null()),
        *(pl.Duration("ms"), pl.Datetime("ns"), pl.Datetime("us", "America/New_York")),
        *(pl.Decimal(38, 0), pl.Decimal(10, 3)),
    ]
)
dtypes = st.recursive(
    st.one_of(
        plain_dtypes,
        st.lists(st.text(), max_size=3, unique=True).map(pl.Enum),
        st.dictionaries(st.text(), plain_dtypes, min_size=1, max_size=2).map(pl.Struct),
    ),
    lambda inner: st.one_of(
        inner.map(pl.List), st.builds(pl.Array, inner, st.integers(min_value=1, max_value=9))
    ),
    max_leaves=3,
)
json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(min_value=2**1030, max_value=2**1040),  # more than a double holds
        st.floats(allow_nan=False),
        st.text(),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
properties = st.dictionaries(
    st.text(max_size=8) | st.sampled_from(RESERVED_NAMES),
    json_values
    | st.fixed_dictionaries({"dimension": json_values}, optional={"cardinality": json_values})
    | st.lists(st.none() | st.integers(0, 9) | st.tuples(st.integers(0, 3), st.integers(3, 9))),
    max_size=3,
)
ends = st.one_of(
    st.integers(min_value=-(2**70), max_value=2**70),
    st.integers(min_value=-5, max_value=1000),
    st.floats(allow_nan=False),
)
domains = st.builds(
    lambda pair, name: Domain(min(pair), max(pair), name),
    st.tuples(ends, ends),
    st.none() | st.text(max_size=8),
)
tags = st.frozensets(
    st.sampled_from([*Tags, "binary", "classification", "multi_class"]) | st.text(max_size=8),
    max_size=4,
)
value_counts = st.one_of(
    st.none(),
    st.tuples(st.integers(0, 5), st.none() | st.integers(5, 9)),
    st.sampled_from([(0, 0), (1, 2**60), (2**70, None)]),
)
columns = st.builds(
    Column,
    name=st.text(),
    dtype=dtypes,
    is_list=st.booleans(),
    value_count=value_counts,
    domain=st.none() | domains,
    tags=tags,
    embedding_size=st.none() | st.integers(min_value=1, max_value=4096),
    properties=properties,
)
schemas = st.lists(columns, max_size=4, unique_by=lambda column: column.name).map(Schema)
