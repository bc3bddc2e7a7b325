"""Numbers, times and long values as the page writes them."""

from __future__ import annotations

import pytest

from merlinkit.report.formats import MISSING, amount, clean, duration, metric, percent, short, when


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, MISSING),
        (float("nan"), MISSING),
        (float("-inf"), MISSING),
        (True, "true"),
        (0, "0"),
        (-0.0, "0"),
        (999, "999"),
        (-1234567, "-1,234,567"),
        (2**64 - 1, "1.845e+19"),
        (0.000123, "0.000123"),
        (-0.00012345, "-0.0001234"),
        (12.34567, "12.35"),
        (9999.6, "10,000"),
        (123456.7, "123,457"),
        ("2026-11-30T10:20:30.123456+01:00", "2026-11-30 10:20:30+01:00"),
        ("2026-11-30", "2026-11-30"),
        ("text", "text"),
    ],
)
def test_amounts(value: object, expected: str) -> None:
    assert amount(value) == expected


def test_metrics_without_a_value_are_dashes() -> None:
    assert [metric(value) for value in (None, float("nan"), float("inf"), "0.5", True)] == (
        [MISSING] * 5
    )


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0.0 s"),
        (0.9994, "999 ms"),
        (59.9, "59.9 s"),
        (3599.9, "1 h 00 min"),
        (360000, "100 h 00 min"),
    ],
)
def test_durations_at_the_edges_of_units(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_shares_are_whole_only_where_they_are() -> None:
    shares = [0, 1e-9, 0.001, 0.5, 0.999, 1 - 1e-9, 1]
    assert [percent(share) for share in shares] == [
        "0%",
        "<0.1%",
        "0.1%",
        "50.0%",
        "99.9%",
        ">99.9%",
        "100%",
    ]


def test_text_is_cut_to_a_length() -> None:
    assert short("x" * 60) == "x" * 60
    assert short("x" * 61) == "x" * 59 + "…"


def test_line_ends_stay_and_other_control_characters_go() -> None:
    assert clean("a\tb\nc\rd\x1b[0m") == "a\tb\nc\ufffdd\ufffd[0m"


def test_times_out_of_range_are_dashes() -> None:
    assert when(1e20) == MISSING
    assert when(1_796_032_800) == "2026-11-30 10:00:00 UTC"
