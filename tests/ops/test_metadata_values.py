"""Properties that JSON cannot hold are refused when they are given, not when they are saved."""

from __future__ import annotations

import datetime as dt
import math
import re

import numpy as np
import polars as pl
import pytest

from merlinkit import Workflow, ops
from merlinkit.errors import ParameterError

DEEP: list = []
for _ in range(40):
    DEEP = [DEEP]


@pytest.mark.parametrize("operator", ["AddProperties", "AddMetadata"])
@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"a": math.nan}, "properties['a'] is nan, which JSON cannot hold"),
        ({"a": [1, -math.inf]}, "properties['a'][1] is -inf, which JSON cannot hold"),
        ({"a": {"b": np.float32("nan")}}, "properties['a']['b'] is nan"),
        ({"a": dt.date(2026, 1, 1)}, "properties['a'] is datetime.date(2026, 1, 1) (date)"),
        ({"a": b"x"}, "properties['a'] is b'x' (bytes), which JSON cannot hold"),
        ({"a": {1, 2}}, "properties['a'] is {1, 2} (set)"),
        ({1: "a"}, "properties has the name 1 (int), a string expected"),
        ({"a": {None: 1}}, "properties['a'] has the name None (NoneType)"),
        ({"a": 10**5000}, "properties['a'] is a whole number beyond 64 bits"),
        ({"a": "\ud800"}, "properties['a'] holds half of a surrogate pair"),
        ({"\ud800": 1}, "properties has a name that holds half of a surrogate pair"),
        ({"a": DEEP}, "more than 32 within one another"),
        (["a"], "properties is ['a'], a mapping of names to values expected"),
    ],
)
def test_what_json_cannot_hold_is_refused_at_construction(operator, properties, message):
    with pytest.raises(ParameterError, match=re.escape(message)) as caught:
        getattr(ops, operator)(properties=properties)
    assert str(caught.value).startswith(f"{operator}: ")


def test_what_json_holds_comes_back_from_disk(tmp_path):
    given = {
        "n": None,
        "b": True,
        "i": np.int64(3),
        "u": 2**64 - 1,
        "f": np.float32(0.5),
        "t": ("x", [1.5]),
        "m": {"é": False},
    }
    workflow = Workflow(["x"] >> ops.AddProperties(given)).fit(pl.DataFrame({"x": [1]}))
    workflow.save(tmp_path / "saved")
    loaded = Workflow.load(tmp_path / "saved").output_schema["x"].properties
    expected = {**given, "i": 3, "f": 0.5, "t": ["x", [1.5]]}
    assert loaded == workflow.output_schema["x"].properties == expected
