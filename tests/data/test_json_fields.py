"""Nested JSON by paths of keys, and lines of JSON that do not say one thing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from merlinkit.data.convert import convert
from merlinkit.data.dataset import Dataset
from merlinkit.data.failures import data_errors
from merlinkit.data.json_path import JsonPath
from merlinkit.errors import DataError, ParameterError

LINES = [
    {"id": 1, "user": {"age": 30, "address": {"city": "Rome", "zip": "00184"}, "a.b": True}},
    {"id": 2, "user": {"age": None, "address": None}},
    {"id": 3, "user": None},
    {"id": 4},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


def rows(data: Dataset) -> list[tuple[Any, ...]]:
    with data_errors():
        return data.scan().collect(engine="streaming").rows()


def test_values_within_objects_are_columns(file: Path) -> None:
    fields = {"city": "$.user.address.city", "age": "user.age", "flag": '$.user["a.b"]'}
    data = Dataset(file, fields=fields)
    assert dict(data.schema.to_polars()) == {
        "id": pl.Int64,
        "city": pl.String,
        "age": pl.Int64,
        "flag": pl.Boolean,
    }
    assert rows(data) == [
        (1, "Rome", 30, True),
        (2, None, None, None),
        (3, None, None, None),
        (4, None, None, None),
    ]
    assert rows(Dataset(file, fields=fields, columns=["city"])) == [("Rome",), *[(None,)] * 3]
    with data_errors():
        assert data.scan().select("age").collect(engine="streaming")["age"].sum() == 30


def test_a_field_can_have_a_type_and_rename_a_key(file: Path) -> None:
    fields = {"age": "$.user.age", "key": "$.id", "later": "$.user.later"}
    data = Dataset(file, fields=fields, dtypes={"age": "Float32", "later": "Int8"})
    assert data.schema.names == ["age", "key", "later"]
    assert rows(data)[0] == (30.0, 1, None)


def test_another_path_is_converted_again(file: Path, tmp_path: Path) -> None:
    for path in ("$.user.address.city", "$.user.address.zip"):
        data = Dataset(file, fields={"x": path})
        assert rows(convert(data, tmp_path / "out")) == rows(data)


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({"x": "$.user.tags[0]"}, {}, r"fields\['x'\] is '\$\.user\.tags\[0\]': keys of nested"),
        ({"x": ""}, {}, "keys of nested objects"),
        ({"x": "$"}, {}, "keys of nested objects"),
        ({"x": "$.a.*"}, {}, "keys of nested objects"),
        ({"x": 3}, {}, "keys of nested objects"),
        ({"x": "$.user.age", "y": "$.user"}, {}, r"fields\['x'\] goes through \$\.user, which"),
        ({"x": "$.user.age"}, {"dtypes": {"user": "String"}}, "'user' is read as a whole, but"),
        ({"x": "$.user.age"}, {"columns": ["user"]}, "'user' is read as a whole, but"),
        ({"id": "$.user.age"}, {}, r"fields\['id'\]: .*a\.jsonl has a key 'id' besides"),
        (["x"], {}, r"fields is \['x'\]: paths by column were expected"),
    ],
)
def test_paths_that_cannot_be(
    file: Path, fields: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        Dataset(file, fields=fields, **options)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("$.user.town", r"column 'x': no value at \$\.user\.town in the first"),
        ("$.id.town", r"column 'x': no value at \$\.id\.town"),
        ("$.user.address", r"key 'x' holds nested objects.*fields="),
    ],
)
def test_paths_that_lead_nowhere(file: Path, path: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset(file, fields={"x": path})


def test_a_value_at_a_path_that_does_not_fit_is_named_with_its_line(file: Path) -> None:
    data = Dataset(file, fields={"age": "$.user.age"})
    for value in ("old", 1.5):
        with file.open("a") as more:
            more.write(json.dumps({"id": 5, "user": {"age": value}}) + "\n")
        given = Dataset(file, fields={"age": "$.user.age"}, dtypes={"age": "Int64"})
        with pytest.raises(DataError, match=r"a\.jsonl, line 5: column 'age' holds '.*not Int64"):
            rows(given)
    file.write_text('{"id": 1, "user": 7}\n')
    blocked = r"'age' is read at \$\.user\.age, but \$\.user is an integer, where an object"
    with pytest.raises(DataError, match=rf"a\.jsonl, line 1: column {blocked}"):
        rows(data)
    file.write_text('{"user": {"age": 3}}\n{"user": 7}\n')
    with pytest.raises(DataError, match=rf"a\.jsonl, line 2: column {blocked}"):
        Dataset(file, fields={"age": "$.user.age"})


def test_a_field_may_be_named_like_a_key_that_is_not_read(file: Path) -> None:
    data = Dataset(file, fields={"id": "$.user.age"}, columns=["id"])
    assert rows(data) == [(30,), (None,), (None,), (None,)]


def test_nested_objects_that_nothing_needs_are_left_out(file: Path) -> None:
    with pytest.raises(DataError, match=r"key 'user' holds nested objects.*fields="):
        Dataset(file)
    data = Dataset(file, required=["id"])
    assert rows(data) == [(1,), (2,), (3,), (4,)]
    assert any("key 'user' holds nested objects" in note for note in data.notes)


def test_fields_are_for_jsonl_alone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(ParameterError, match="fields were given for csv files"):
        Dataset(tmp_path, fields={"x": "$.y"})
    with pytest.raises(ParameterError, match="given for a frame"):
        Dataset(pl.DataFrame({"x": [1]}), fields={"x": "$.y"})


@pytest.mark.parametrize("key", ["a", "a.b", "a[0]", "a'b", "é"])
def test_a_quoted_key_stands_for_itself(key: str) -> None:
    assert JsonPath.parse("x", f'$.u["{key}"].v').keys == ("u", key, "v")


# -- lines that do not say one thing ----------------------------------------------------------


@pytest.mark.parametrize("sampled", [True, False])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (r'{"a": "\ud800"}', r"key 'a' holds \\ud800 alone, half of a character"),
        (r'{"a": "x\uDC00y"}', r"key 'a' holds \\udc00 alone"),
        (r'{"a": "y", "l": ["\ud83d"]}', r"key 'l' holds \\ud83d alone"),
        (r'{"a": "y", "a": "z"}', r"key 'a' is there twice in one object"),
        (r'{"a": "y", "a": "y", "b": "\"a\":"}', r"key 'a' is there twice"),
        (r'{"l": [], "a": "\"", "b": "q", "b": "q"}', r"key 'b' is there twice"),
        (r'{"a" : "y", "a": "z"}', r"key 'a' is there twice"),
        (r'{"a": "y", "\u0061": "z"}', r"key 'a' is there twice"),
        (r'{"a": "y", "d": [["\udead"]]}', r"key 'd' holds \\udead alone"),
    ],
)
def test_an_ambiguous_line_is_named_and_not_read_as_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampled: bool, line: str, message: str
) -> None:
    monkeypatch.setattr("merlinkit.data.jsonl.INFER_ROWS", 10 if sampled else 2)
    first = '{"a": "x", "b": "y", "l": ["z"], "d": [["z"]]}\n'
    (tmp_path / "a.jsonl").write_text(first * 2 + "\n" + line + "\n" + first)
    for columns in (None, ["a", "b", "l", "d"]):
        with pytest.raises(DataError, match=rf"a\.jsonl, line 4: {message}"):
            rows(Dataset(tmp_path, columns=columns))


def test_pairs_of_surrogates_and_equal_keys_of_other_objects_are_fine(tmp_path: Path) -> None:
    lines = [
        r'{"a": "\ud83d\ude00", "u": {"a": "\\ud800"}}',
        '{"a": "\\"a\\": 1", "u": {"a": "x"}}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    data = Dataset(tmp_path, fields={"inner": "$.u.a"})
    assert rows(data) == [("\U0001f600", "\\ud800"), ('"a": 1', "x")]


def test_keys_that_an_inner_object_has_twice_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"u": {"a": 1}}\n{"u": {"a": 1, "a": 2}}\n')
    with pytest.raises(DataError, match=r"line 2: key 'a' is there twice"):
        rows(Dataset(tmp_path, fields={"a": "$.u.a"}))


@pytest.mark.parametrize("deep", ["[" * 5000, '[{"b":' * 5000])
def test_a_line_nested_too_deep_is_one_error_not_a_crash(tmp_path: Path, deep: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": []}\n{"a": ' + deep + "\n")
    with pytest.raises(DataError, match=r"a\.jsonl, line 2: .* more than 64 within one another"):
        Dataset(tmp_path)


def test_many_brackets_that_are_not_deep_are_fine(tmp_path: Path) -> None:
    lines = [{"a": [[0]] * 100, "b": "x"}, {"a": [[1]], "b": "[" * 100}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    data = Dataset(tmp_path)
    assert rows(data) == [([[0]] * 100, "x"), ([[1]], "[" * 100)]
