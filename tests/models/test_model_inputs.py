"""Which columns of a schema a model reads."""

from __future__ import annotations

import pytest

from merlinkit.errors import SchemaError
from merlinkit.models import model_inputs, target_column
from merlinkit.schema import Column, Domain, Schema


def test_columns_by_tag_in_schema_order() -> None:
    schema = Schema(
        [
            Column("price", "Float64", tags=["continuous"]),
            Column("genres", "List(Int64)", domain=Domain(0, 4), tags=["categorical"]),
            Column("weight", "Float32", tags=["weight"]),
            Column("click", "Int8", domain=Domain(0, 1), tags=["target", "categorical"]),
            Column("user", "Int32", domain=Domain(0, 9), tags=["categorical", "user_id"]),
            Column("is_new", "Boolean", tags=["continuous"]),
        ]
    )
    inputs = model_inputs(schema)
    assert [column.name for column in inputs.categorical] == ["genres", "user"]
    assert [column.name for column in inputs.continuous] == ["price", "is_new"]
    assert target_column(schema).name == "click"


def test_every_column_that_cannot_be_used_is_named() -> None:
    schema = Schema(
        [
            Column("a", "Int64", tags=["categorical"]),
            Column("b", "String", domain=Domain(0, 3), tags=["categorical"]),
            Column("c", "Int64", domain=Domain(-1, 3), tags=["categorical"]),
            Column("d", "Int64", domain=Domain(0, 1.5), tags=["categorical"]),
            Column("e", "List(Float32)", tags=["continuous"]),
            Column("f", "String", tags=["continuous"]),
            Column("g", "Int64", domain=Domain(0, 3), tags=["categorical", "continuous"]),
        ]
    )
    with pytest.raises(SchemaError) as caught:
        model_inputs(schema)
    problems = str(caught.value).split("; column ")
    assert len(problems) == 7
    for name, problem, part in zip(
        "abcdefg",
        problems,
        ["no domain", "String", "starts at -1", "no domain", "lists", "String", "both"],
        strict=True,
    ):
        assert f"'{name}'" in problem and part in problem


def test_target_must_be_told_apart() -> None:
    two = Schema([Column(name, "Int8", tags=["target"]) for name in ("click", "buy")])
    assert target_column(two, "buy").name == "buy"
    with pytest.raises(SchemaError, match="2 columns are tagged 'target': click, buy"):
        target_column(two)
    with pytest.raises(SchemaError, match="Did you mean 'click'"):
        target_column(two, "clik")
    with pytest.raises(SchemaError, match="no column is tagged 'target'"):
        target_column(Schema([Column("a", "Int8")]))


@pytest.mark.parametrize("dtype", ["List(Int8)", "String"])
def test_target_must_be_one_number_a_row(dtype: str) -> None:
    with pytest.raises(SchemaError, match="one number a row"):
        target_column(Schema([Column("click", dtype, tags=["target"])]))
