"""Columns and schemas: what they say, how they change, and how they are saved."""

from __future__ import annotations

import copy
import json
import math
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from merlinkit.errors import ArtifactError, SchemaError
from merlinkit.schema import Column, Domain, Schema, Tags, default_embedding_size
from tests.schema_strategies import columns, schemas

deterministic = settings(derandomize=True, database=None, deadline=None, max_examples=200)


@pytest.fixture
def schema() -> Schema:
    return Schema(
        [
            Column(
                "user",
                "Int64",
                domain=Domain(0, 944, "users"),
                tags=[Tags.CATEGORICAL, Tags.USER_ID],
                embedding_size=32,
            ),
            Column("genres", "List(Int32)", value_count=(1, 6), domain=Domain(0, 20)),
            Column("price", "Float32", tags=["continuous"], properties={"unit": "EUR"}),
            Column("at", "Datetime(us, UTC)", tags=["time"]),
        ]
    )


# -- embedding sizes and domains --------------------------------------------------------------


@pytest.mark.parametrize(
    ("cardinality", "size"),
    [
        # 1.6 * n ** 0.56, worked out with bc and rounded, then held between 16 and 512.
        (1, 16),
        (61, 16),  # 15.99
        (62, 16),  # 16.14
        (100, 21),  # 21.09
        (945, 74),  # 74.19
        (1_000, 77),  # 76.58
        (10_000, 278),  # 278.05
        (29_755, 512),  # 512.05
        (100_000_000, 512),
    ],
)
def test_default_embedding_size(cardinality: int, size: int) -> None:
    assert default_embedding_size(cardinality) == size


def test_cardinality_counts_zero() -> None:
    column = Column("x", "Int64", domain=Domain(0, 944))
    assert column.cardinality == 945
    assert column.resolved_embedding_size == 74


@pytest.mark.parametrize("domain", [None, Domain(0.0, 9.0), Domain(-5, -1), Domain(0, math.inf)])
def test_columns_without_ids_have_no_cardinality(domain: Domain | None) -> None:
    column = Column("x", "Float64", domain=domain)
    assert column.cardinality is None
    assert column.resolved_embedding_size is None


def test_given_embedding_size_wins() -> None:
    assert Column("x", "Int64", domain=Domain(0, 9), embedding_size=3).resolved_embedding_size == 3


def test_numpy_numbers_become_python_numbers() -> None:
    domain = Domain(np.int32(0), np.int64(9))
    assert (type(domain.min), type(domain.max)) == (int, int)
    assert type(Domain(0, np.float32(0.5)).max) is float
    column = Column(
        "x",
        "Int64",
        is_list=True,
        value_count=(np.int64(1), np.int64(2)),
        domain=domain,
        embedding_size=np.int64(8),
        properties={"n": np.int64(3), "x": [np.float32(0.5)]},
    )
    assert column.cardinality == 10
    assert json.loads(json.dumps(column.to_dict())) == {
        "name": "x",
        "dtype": "Int64",
        "is_list": True,
        "value_count": [1, 2],
        "domain": {"min": 0, "max": 9},
        "embedding_size": 8,
        "properties": {"n": 3, "x": [0.5]},
    }


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (5, 4, "domain max 4 is below its min 5"),
        (0, math.nan, "domain max is nan, expected a number"),
        (math.nan, 0, "domain min is nan"),
        ("0", 9, "domain min is '0', expected a number"),
        (0, None, "domain max is None, expected a number"),
    ],
)
def test_domains_that_mean_nothing(low: object, high: object, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Domain(low, high)  # type: ignore[arg-type]


# -- columns ----------------------------------------------------------------------------------


def test_a_list_data_type_makes_a_list_column() -> None:
    column = Column("x", pl.List(pl.Int64))
    assert (column.is_list, column.dtype, column.polars_dtype) == (
        True,
        pl.Int64(),
        pl.List(pl.Int64()),
    )
    assert column == Column("x", "Int64", is_list=True)


def test_lists_of_lists_stay_that_through_every_change() -> None:
    column = Column("x", "List(List(List(Int8)))", value_count=(1, 2))
    expected = pl.List(pl.List(pl.List(pl.Int8())))
    changed = [
        column.renamed("x"),
        column.with_tags(["text"]),
        column.with_domain(Domain(0, 1)),
        column.with_properties({"a": 1}),
        Column.from_dict(column.to_dict()),
        pickle.loads(pickle.dumps(column)),
        copy.deepcopy(column),
    ]
    assert [each.polars_dtype for each in changed] == [expected] * len(changed)
    assert {each.value_count for each in changed} == {(1, 2)}
    assert column.with_dtype("Int64").polars_dtype == pl.List(pl.Int64())
    assert column.with_dtype("Int64", is_list=False).polars_dtype == pl.Int64()


def test_value_count_is_dropped_with_the_lists() -> None:
    column = Column("x", "Int64", is_list=True, value_count=(2, 2))
    assert column.with_dtype("Int32").value_count == (2, 2)
    assert column.with_dtype("Int32", is_list=False).value_count is None
    assert Column("x", "Int64", value_count=(2, 2)).value_count is None


def test_a_string_is_one_tag() -> None:
    assert Column("x", "Int64", tags="user").tags == {"user"}
    assert Column("x", "Int64").with_tags("user").with_tags(["item"]).tags == {"user", "item"}
    assert Column("x", "Int64", tags=[Tags.USER]) == Column("x", "Int64", tags=["user"])


def test_changes_leave_the_column_as_it_was() -> None:
    nested = {"list": [1]}
    column = Column("x", "Int64", properties=nested)
    column.with_tags(["a"]).with_properties({"b": 1}).with_domain(Domain(0, 1)).renamed("y")
    nested["list"].append(2)
    assert column == Column("x", "Int64", properties={"list": [1]})


def test_given_properties_win() -> None:
    column = Column("x", "Int64", properties={"a": 1, "b": 1})
    assert column.with_properties({"b": 2, "c": (3, None)}).properties == {
        "a": 1,
        "b": 2,
        "c": [3, None],
    }


def test_equal_columns_have_equal_hashes() -> None:
    one = Column("x", pl.Datetime("us", "UTC"), tags=["b", "a"], properties={"p": [1]})
    two = Column("x", "Datetime(us, UTC)", tags=["a", "b"], properties={"p": [1]})
    assert one == two
    assert hash(one) == hash(two)
    assert one != two.with_properties({"p": [2]})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": 3}, "column name 3 is no string"),
        ({"dtype": "Int46"}, "unknown data type 'Int46'"),
        ({"dtype": pl.Object()}, "column 'x': data type Object cannot be saved"),
        ({"dtype": pl.List(pl.Object())}, "column 'x': data type Object cannot be saved"),
        ({"embedding_size": 0}, "column 'x': embedding_size 0 is below 1"),
        ({"embedding_size": 1.5}, "column 'x': embedding_size 1.5 is no whole number"),
        ({"is_list": True, "value_count": (3, 2)}, r"column 'x': value_count \(3, 2\)"),
        ({"is_list": True, "value_count": (-1, 2)}, r"column 'x': value_count \(-1, 2\)"),
        ({"is_list": True, "value_count": (1,)}, r"expected the fewest and the most elements"),
        ({"is_list": True, "value_count": 3}, r"column 'x': value_count 3"),
        ({"properties": ["a"]}, r"column 'x': properties are \['a'\], expected a mapping"),
        ({"properties": {"a": [{1}]}}, r"column 'x': property 'a' holds \{1\} \(set\)"),
    ],
)
def test_columns_that_mean_nothing(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Column(**{"name": "x", "dtype": "Int64", **wrong})  # type: ignore[arg-type]


# -- reading a schema -------------------------------------------------------------------------


def test_names_order_and_membership(schema: Schema) -> None:
    assert schema.names == ["user", "genres", "price", "at"]
    assert [column.name for column in schema] == schema.names
    assert len(schema) == 4
    assert "price" in schema
    assert "pric" not in schema
    assert schema["price"].dtype == pl.Float32()


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(SchemaError, match="two columns are named 'a'"):
        Schema([Column("a", "Int64"), Column("b", "Int64"), Column("a", "Int32")])


def test_a_missing_column_is_named_with_what_there_is(schema: Schema) -> None:
    with pytest.raises(SchemaError, match=r"no column 'usr'. Did you mean 'user'\?"):
        schema["usr"]
    with pytest.raises(SchemaError, match=r"no column 'q'. There are: user, genres, price, at."):
        schema["q"]
    with pytest.raises(SchemaError, match=r"There are: none."):
        Schema()["q"]
    many = Schema(Column(f"a{number}", "Int64") for number in range(25))
    with pytest.raises(SchemaError, match=r"a19, and 5 more."):
        many["zzz"]


def test_select_keeps_the_order_asked_for(schema: Schema) -> None:
    assert schema.select(["price", "user"]).names == ["price", "user"]
    assert schema.select("price").names == ["price"]
    with pytest.raises(SchemaError, match="no column 'prise'"):
        schema.select(["user", "prise"])


def test_without_ignores_what_is_not_there(schema: Schema) -> None:
    assert schema.without(["price", "nothing"]).names == ["user", "genres", "at"]
    assert schema.without("at").names == ["user", "genres", "price"]


def test_tags_select(schema: Schema) -> None:
    assert schema.by_tag("continuous", Tags.USER_ID).names == ["user", "price"]
    assert schema.by_tag("nothing").names == []
    assert schema.without_tag("continuous", Tags.USER_ID).names == ["genres", "at"]


def test_with_columns_replaces_in_place_and_appends(schema: Schema) -> None:
    changed = schema.with_columns([Column("new", "Int8"), Column("genres", "String")])
    assert changed.names == ["user", "genres", "price", "at", "new"]
    assert changed["genres"] == Column("genres", "String")
    assert schema["genres"].is_list


# -- merging and comparing --------------------------------------------------------------------


def test_merge_unites_tags_and_properties() -> None:
    left = Schema([Column("a", "Int64", tags=["x"], properties={"p": 1, "q": 1})])
    right = Schema(
        [Column("b", "Int8"), Column("a", "Int64", tags=["y"], properties={"q": 2})],
    )
    assert left + right == Schema(
        [
            Column("a", "Int64", tags=["x", "y"], properties={"p": 1, "q": 2}),
            Column("b", "Int8"),
        ]
    )


def test_merge_names_every_difference() -> None:
    left = Schema([Column("a", "Int64", domain=Domain(0, 1)), Column("b", "Int64")])
    right = Schema([Column("a", "Int32", domain=Domain(0, 2))])
    with pytest.raises(SchemaError) as caught:
        left.merge(right)
    assert str(caught.value) == (
        "cannot merge schemas: column 'a': dtype Int64 against Int32; "
        "column 'a': domain {'min': 0, 'max': 1} against {'min': 0, 'max': 2}"
    )


def test_diff_lists_every_difference(schema: Schema) -> None:
    other = Schema(
        [
            Column("user", "Int64", domain=Domain(0, 944, "users"), tags=["categorical"]),
            schema["genres"].with_dtype("Int64"),
            Column("new", "Int8"),
            schema["at"],
        ]
    )
    assert schema.diff(other) == [
        "column 'user': tags ['categorical', 'user_id'] against ['categorical']",
        "column 'user': embedding_size 32 against None",
        "column 'genres': dtype Int32 against Int64",
        "column 'price' is only on the left",
        "column 'new' is only on the right",
    ]


def test_diff_sees_the_order() -> None:
    a, b = Column("a", "Int8"), Column("b", "Int8")
    assert Schema([a, b]).diff(Schema([b, a])) == ["order ['a', 'b'] against ['b', 'a']"]
    assert Schema([a, b]) != Schema([b, a])


def test_equal_schemas_have_no_difference(schema: Schema) -> None:
    again = Schema(list(schema))
    assert again == schema
    assert schema.diff(again) == []
    assert schema != "schema"


# -- frames -----------------------------------------------------------------------------------


def test_frames_and_back() -> None:
    frame = pl.DataFrame(
        schema={
            "a": pl.Int8,
            "b": pl.List(pl.Datetime("us", "UTC")),
            "c": pl.List(pl.List(pl.Float32)),
            "d": pl.Array(pl.Float32, 4),
            "e": pl.Enum(["x"]),
        }
    )
    schema = Schema.from_polars(frame.schema)
    assert schema["b"] == Column("b", "Datetime(us, UTC)", is_list=True)
    assert schema.to_polars() == frame.schema
    assert schema.empty_frame().equals(frame)
    assert Schema.from_dict(schema.to_dict()).to_polars() == frame.schema


def test_repr_is_a_table(schema: Schema) -> None:
    assert repr(schema).splitlines() == [
        "Schema (4 columns)",
        "column  dtype              domain          embedding  tags",
        "user    Int64              0..944 (users)  32         categorical, user_id",
        "genres  List(Int32) 1..6   0..20           16",
        "price   Float32                                       continuous",
        "at      Datetime(us, UTC)                             time",
    ]
    assert repr(Schema()) == "Schema (no columns)"
    assert repr(Schema([Column("n", "Int8", domain=Domain(-9, -3))])).endswith("-9..-3")


# -- saved form -------------------------------------------------------------------------------


def test_saved_form_is_what_the_format_says(schema: Schema, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    schema.save(path)
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "format": 1,
        "columns": [
            {
                "name": "user",
                "dtype": "Int64",
                "domain": {"min": 0, "max": 944, "name": "users"},
                "tags": ["categorical", "user_id"],
                "embedding_size": 32,
            },
            {
                "name": "genres",
                "dtype": "Int32",
                "is_list": True,
                "value_count": [1, 6],
                "domain": {"min": 0, "max": 20},
            },
            {
                "name": "price",
                "dtype": "Float32",
                "tags": ["continuous"],
                "properties": {"unit": "EUR"},
            },
            {"name": "at", "dtype": "Datetime(us, UTC)", "tags": ["time"]},
        ],
    }
    assert Schema.load(path) == schema
    assert [file.name for file in tmp_path.iterdir()] == ["schema.json"]


@deterministic
@given(schemas)
def test_any_schema_survives_json(schema: Schema) -> None:
    text = json.dumps(schema.to_dict())
    again = Schema.from_dict(json.loads(text))
    assert again == schema
    assert json.dumps(again.to_dict()) == text  # tells 1 from 1.0 and True, == does not


@deterministic
@given(columns)
def test_any_column_is_itself_after_a_change_and_back(column: Column) -> None:
    assert column.renamed("other").renamed(column.name) == column
    assert column.with_domain(None).with_domain(column.domain) == column
    assert hash(column.with_tags([])) == hash(column)


def test_a_failed_save_leaves_the_old_file(
    schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "schema.json"
    schema.save(path)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("merlinkit.atomic.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        Schema().save(path)
    assert Schema.load(path) == schema
    assert [file.name for file in tmp_path.iterdir()] == ["schema.json"]


COLUMN = {"name": "a", "dtype": "Int64"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not valid JSON"),
        ("[]", "not a schema: expected a mapping with 'format' and 'columns'"),
        ('{"format": 1}', "not a schema"),
        ('{"format": 2, "columns": []}', "schema format 2 found, 1 expected"),
        ('{"columns": []}', "schema format None found, 1 expected"),
        (json.dumps({"format": 1, "columns": [COLUMN, COLUMN]}), "two columns are named 'a'"),
        ('{"format": 1, "columns": [7]}', "not a column description: 7"),
    ],
)
def test_files_that_are_no_schema(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "schema.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArtifactError) as caught:
        Schema.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dtype": None}, "'dtype' is missing or no string"),
        ({"name": 7}, "column 7: 'name' is missing or no string"),
        ({"dtype": "Int46"}, "column 'a' is not described right: unknown data type 'Int46'"),
        ({"domian": {}}, "column 'a': unknown key 'domian'. Did you mean 'domain'?"),
        ({"domain": {"min": 0}}, "column 'a' is not described right"),
        ({"domain": {"min": 2, "max": 1}}, "domain max 1 is below its min 2"),
        ({"domain": 7}, "column 'a' is not described right"),
        ({"is_list": "yes"}, "is_list is 'yes', expected true or false"),
        ({"is_list": True, "value_count": [1]}, "value_count (1,)"),
        ({"is_list": True, "value_count": 1}, "column 'a' is not described right"),
        ({"tags": 7}, "column 'a' is not described right"),
        ({"embedding_size": "16"}, "embedding_size '16' is no whole number"),
        ({"properties": [7]}, "properties are [7], expected a mapping"),
    ],
)
def test_columns_that_are_described_wrong(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        Schema.from_dict({"format": 1, "columns": [{**COLUMN, **wrong}]})
    assert message in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no schema at"):
        Schema.load(tmp_path / "nothing.json")
    with pytest.raises(ArtifactError, match="cannot read"):
        Schema.load(tmp_path)
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ArtifactError, match="is not valid JSON"):
        Schema.load(binary)
