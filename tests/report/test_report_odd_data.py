"""No data, however odd, keeps a report from being written or gets markup into it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merlinkit.report.page import write_report
from merlinkit.schema import Column, Domain, Schema
from tests.report.runs import (
    CALIBRATION,
    METRICS,
    RUN,
    Page,
    Run,
    full_events,
    profile_entry,
    stage,
    train_events,
    valid_event,
)

MARKUP = '<script>alert(1)</script><img src=x onerror="alert(2)">\'"&amp;'


def with_leaves(value: object, new: object, key: str | None = None) -> object:
    """Return JSON with `new` in place of what a key holds, or of all that is no container."""
    if isinstance(value, dict):
        return {
            name: new if name == key else with_leaves(inner, new, key)
            for name, inner in value.items()
            if name != "kind"
        } | {name: inner for name, inner in value.items() if name == "kind"}
    if isinstance(value, list):
        return [with_leaves(inner, new, key) for inner in value]
    return new if key is None else value


def keys_of(value: object) -> set[str]:
    """Return all keys of all mappings."""
    if isinstance(value, dict):
        return set(value) | {key for inner in value.values() for key in keys_of(inner)}
    if isinstance(value, list):
        return {key for inner in value for key in keys_of(inner)}
    return set()


def marked(value: object) -> object:
    """Return JSON in which every string, keys of free choice among them, is markup."""
    kept = {"train", "valid", "start", "end", "kind", "stage", "note", "status"}
    if isinstance(value, dict):
        return {key: marked(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [marked(inner) for inner in value]
    return MARKUP if isinstance(value, str) and value not in kept else value


def test_markup_in_data_is_text(tmp_path: Path) -> None:
    path = tmp_path / MARKUP.replace("/", "-")
    path.mkdir()
    run = Run(path)
    config = {"dataset": {"name": MARKUP}, MARKUP: [MARKUP], "engine": MARKUP}
    (path / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    events = [*full_events(), valid_event(90, 2, **{MARKUP: 0.5, "auc": 0.7})]
    run.events([marked(event) for event in events])  # type: ignore[misc]
    entry = profile_entry(MARKUP, dtype=MARKUP, min=MARKUP, max=MARKUP, top=[[MARKUP, 3]])
    entries = [{**entry, "histogram": None}, {**entry, "part": MARKUP}]
    run.json("profile.json", {"parts": {"train": 5, MARKUP: 6}, "columns": entries})
    run.json("run.json", {**RUN, **dict.fromkeys(("status", "command", "error", "engine"), MARKUP)})
    run.json("metrics.json", {**METRICS, MARKUP: {MARKUP: MARKUP}})
    run.json("calibration.json", {MARKUP: {"bins": [{"low": 0, "high": 1, "count": 3}]}})
    run.schema(
        Schema([Column(MARKUP, "Int64", domain=Domain(0, 3, MARKUP), tags=["categorical", MARKUP])])
    )
    (path / "data" / "valid").mkdir()
    (path / "data" / "valid" / "schema.json").write_text(json.dumps({MARKUP: 1}), encoding="utf-8")

    page = run.page()

    for element in page.elements:
        assert element.tag not in {"script", "img"}
        assert not [name for name in element.attributes if name.startswith("on")]
    for section in ("notes", "data", "stages", "training", "calibration", "output"):
        assert "<script>alert(1)</script>" in page.text(section), section
    assert page.find("h1")[0].text.startswith("<script>")
    assert MARKUP in page.find("pre", "environment")[0].text


def test_metrics_that_are_no_numbers_are_dashes(run: Run) -> None:
    odd = {"auc": float("nan"), "logloss": float("inf"), "normalized_entropy": None}
    run.json("metrics.json", {"valid": odd, "test": {**odd, "auc": "high"}})
    page = run.page()
    assert [element.text for element in page.find("data", "summary")] == ["–"] * 6


def test_losses_that_are_no_numbers_are_counted_and_left_out(run: Run) -> None:
    events = train_events()
    events[1]["loss"] = float("nan")
    events[3]["loss"] = None
    run.events(events)
    page = run.page()
    assert "2 of 5 logged losses are not finite numbers" in page.text("training")
    assert "training: 3 points" in page.find("svg", "training")[0].attributes["aria-label"]


def test_all_losses_nan_leaves_the_other_charts(run: Run) -> None:
    run.events([{**event, "loss": float("nan")} for event in train_events()])
    labels = [e.attributes["aria-label"] for e in run.page().find("svg", "training")]
    assert [label.split(" by")[0] for label in labels] == ["Learning rate", "Throughput"]


def test_one_step_and_one_epoch_are_drawn_as_points(run: Run) -> None:
    run.events([train_events(range(10, 11))[0], valid_event(10, 0, auc=0.5)])
    page = run.page()
    dots = [e for e in page.find("circle", "training") if e.attributes["class"].startswith("dot")]
    # Loss, learning rate, throughput and AUC, one point each.
    assert len(dots) == 4


def test_run_killed_while_writing_its_log(run: Run) -> None:
    run.events(stage("fit", 5, 100, 10), tail='{"time": 17, "kind": "sta')
    page = run.page()
    assert page.sections == ["summary", "stages", "configuration"]
    assert len(page.rows("stages")) == 2


def test_damaged_lines_inside_the_log_are_told(run: Run) -> None:
    run.events(stage("fit", 5, 100, 10)[:1], tail='{"tim\n[1]\n\n')
    with (run.path / "events.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(stage("fit", 5, 100, 10)[1]) + "\n")
    page = run.page()
    assert "damaged: 2" in page.text("notes")
    assert page.rows("stages")[1][1] == "done"


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", "7", '{"valid": 3', "\x00", "[" * 100_000]
)
@pytest.mark.parametrize(
    "name",
    ["run.json", "metrics.json", "profile.json", "calibration.json", "data/train/schema.json"],
)
def test_damaged_files_are_named_in_the_notes(full_run: Run, name: str, content: str) -> None:
    (full_run.path / name).write_text(content, encoding="utf-8")
    page = full_run.page()
    assert f"{name} could not be read" in page.text("notes")
    assert "stages" in page.sections


@pytest.mark.parametrize("content", ["a: [", "- 1\n- 2\n", "a: ${b\n", "\t", "&x *x", "\x00", "7"])
def test_damaged_configuration_is_named_in_the_notes(full_run: Run, content: str) -> None:
    (full_run.path / "config.yaml").write_text(content, encoding="utf-8")
    page = full_run.page()
    assert "config.yaml could not be read" in page.text("notes")
    assert "configuration" not in page.sections


def test_five_hundred_columns_stay_usable(run: Run) -> None:
    names = [f"feature_{index:03d}" for index in range(500)]
    bins = {"edges": list(range(21)), "counts": [index * 37 % 101 for index in range(20)]}
    columns = [profile_entry(name, histogram=bins) for name in names]
    run.json("profile.json", {"parts": {"train": 1234}, "columns": columns})
    run.schema(Schema([Column(name, "Float32", tags=["continuous"]) for name in names]))
    page = run.page()
    assert [row[0] for row in page.rows("data")[1:]] == [f"{name}Int64" for name in names]
    assert [row[0] for row in page.rows("output")[1:]] == names
    assert len(page.find("svg", "data")) == 500
    assert len(page.source.encode()) < 500_000
    # A table this long scrolls inside of its own frame.
    frames = [e.attributes["class"] for e in page.find("div", "data") if "role" in e.attributes]
    assert frames == ["scroll tall"]


def test_columns_beyond_a_thousand_are_counted(run: Run) -> None:
    columns = [profile_entry(f"c{index}", histogram=None, top=[]) for index in range(1_003)]
    run.json("profile.json", {"columns": columns})
    text = run.page().text("data")
    assert "3 more columns are in profile.json" in text
    assert "1,003 columns" in text


def test_long_values_are_cut(run: Run) -> None:
    long = "x" * 1_000_000
    run.json(
        "profile.json",
        {"columns": [profile_entry(long, dtype=long, min=long, top=[[long, 1]], histogram=None)]},
    )
    run.events([{"kind": "note", "message": long}, *stage(long, 1, 1, 1)])
    run.json("run.json", {"command": long, "status": long, "versions": {long: long}})
    page = run.page()
    assert len(page.source) < 60_000
    assert "x…" in page.text("data")


def test_text_of_any_script_is_kept(run: Run) -> None:
    name = "价格 цена السعر 🛒"
    run.json("profile.json", {"columns": [profile_entry(name)]})
    assert name in run.page().text("data")


def test_characters_that_no_page_can_show_are_replaced(run: Run) -> None:
    (run.path / "events.jsonl").write_text(
        r'{"kind": "note", "message": "half \ud800, null \u0000, turn \u202e."}' + "\n",
        encoding="utf-8",
    )
    assert run.page().text("notes") == "Notes half �, null �, turn �."


def test_extreme_numbers_are_drawn(run: Run) -> None:
    low, high = 5e-324, 1.7e308
    run.events(
        [
            {"kind": "train", "step": 1, "loss": high, "lr": low},
            {"kind": "train", "step": 2, "loss": -high, "lr": 2 * low},
            {"kind": "train", "step": 10**300, "loss": 1e149, "lr": 0},
            {"kind": "train", "step": 10**20, "loss": -1e149, "lr": 1e-300},
        ]
    )
    page = run.page()
    for element in page.find("polyline", "training"):
        assert "nan" not in element.attributes["points"]
        assert "inf" not in element.attributes["points"]


FILES = {
    "run": RUN,
    "metrics": METRICS,
    "calibration": CALIBRATION,
    "profile": {"parts": {"train": 9}, "sample": {"train": {"rows": 3, "every": 3}}},
    "columns": [profile_entry("price", list_length={"min": 1, "mean": 2.5, "max": 3})],
    "events": full_events(),
}


def page_of(path: Path, files: dict[str, Any]) -> Page:
    run = Run(path)
    (path / "config.yaml").write_text("a: 1\n", encoding="utf-8")
    for name in ("run", "metrics", "calibration"):
        run.json(f"{name}.json", files[name])
    run.json("profile.json", {**files["profile"], "columns": files["columns"]})
    run.events(files["events"])
    page = Page.read(write_report(path))
    assert "configuration" in page.sections
    return page


ODD = [None, True, -1, 0, 1e308, float("nan"), 10**400, "", "x", [], [[1]], {}, {"a": {"b": 1}}]


@pytest.mark.parametrize("odd", ODD, ids=lambda value: str(value)[:12])
def test_odd_values_everywhere(tmp_path: Path, odd: object) -> None:
    page_of(tmp_path, {name: with_leaves(content, odd) for name, content in FILES.items()})


@pytest.mark.parametrize("key", sorted(keys_of(FILES) - {"kind"}))
def test_an_odd_value_of_each_key(tmp_path: Path, key: str) -> None:
    for odd in (None, "x", {"a": [1]}):
        page_of(tmp_path, {name: with_leaves(FILES[name], odd, key) for name in FILES})


KEYS = sorted(keys_of(FILES) - {"kind"})
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=24,
)
events = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["stage", "train", "valid", "note", "resume", "early_stop"])},
        optional={
            name: st.integers(-3, 9) | anything
            for name in sorted(keys_of(FILES["events"]) - {"kind"})
        },
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(
    files=st.fixed_dictionaries(
        {
            **dict.fromkeys(("run", "metrics", "calibration"), anything),
            "profile": st.dictionaries(st.sampled_from(["parts", "sample"]), anything),
            "columns": st.lists(anything, max_size=4),
            "events": events,
        }
    )
)
def test_whatever_the_files_hold_there_is_a_page(files: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        page_of(Path(folder), files)
