"""Messages that help: suggestions for misspelt names, and several problems in one report."""

from __future__ import annotations

import pytest

from merlinkit.errors import (
    ArtifactError,
    ConfigError,
    DataError,
    MerlinkitError,
    ParameterError,
    PlanError,
    RunDirError,
    SchemaError,
    did_you_mean,
)

COLUMNS = ["user_id", "item_id", "Price", "click"]


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("user_di", " Did you mean 'user_id'?"),
        ("USER_ID", " Did you mean 'user_id'?"),
        ("price", " Did you mean 'Price'?"),
        ("clik", " Did you mean 'click'?"),
        ("weather", ""),
        ("", ""),
    ],
)
def test_suggests_what_is_near_whatever_the_case(written: str, hint: str) -> None:
    assert did_you_mean(written, COLUMNS) == hint


def test_lists_several_suggestions_best_first() -> None:
    assert did_you_mean("day_3", ["day_1", "day_2"]) == " Did you mean 'day_2' or 'day_1'?"
    assert did_you_mean("ab", ["abc", "abd", "abe"]) == " Did you mean 'abe', 'abd' or 'abc'?"


def test_suggests_at_most_as_many_as_asked_for() -> None:
    assert did_you_mean("ab", ["abc", "abd", "abe"], limit=1) == " Did you mean 'abe'?"


def test_suggests_nothing_from_nothing() -> None:
    assert did_you_mean("user", []) == ""


def test_suggestions_do_not_depend_on_the_order_or_number_of_candidates() -> None:
    assert did_you_mean("user", iter(["users", "user_id", "users"])) == did_you_mean(
        "user", ["user_id", "users"]
    )


def test_one_configuration_problem_is_the_message() -> None:
    error = ConfigError("model.dim: -1 is below 1")
    assert str(error) == "model.dim: -1 is below 1"
    assert error.problems == ("model.dim: -1 is below 1",)


def test_several_configuration_problems_are_numbered_and_listed() -> None:
    error = ConfigError(["a: missing", "b: unknown"])
    assert str(error) == "2 problems in the configuration:\n  - a: missing\n  - b: unknown"
    assert error.problems == ("a: missing", "b: unknown")


@pytest.mark.parametrize(
    "kind",
    [ArtifactError, ConfigError, DataError, ParameterError, PlanError, RunDirError, SchemaError],
)
def test_every_user_error_is_caught_as_one(kind: type[MerlinkitError]) -> None:
    with pytest.raises(MerlinkitError, match="what, where and how"):
        raise kind("what, where and how")
