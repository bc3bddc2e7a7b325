"""A run directory as a finished run leaves it, and a reader of the page made from it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from merlinkit.report.page import write_report
from merlinkit.schema import Schema

VOID = {"meta", "br", "img", "link", "input", "hr", "base"}
START = 1_796_032_800.0

METRICS = {
    "valid": {"auc": 0.778912345, "logloss": 0.45123456, "normalized_entropy": 0.851, "rows": 30},
    "test": {"auc": 0.77123, "logloss": 0.4555, "normalized_entropy": 0.86, "rows": 40},
    "baseline": {"test": {"auc": 0.70111}},
}
CALIBRATION = {
    "test": {
        "ece": 0.0189,
        "bins": [
            {"low": 0, "high": 0.1, "count": 31, "mean_prediction": 0.05, "mean_label": 0.04},
            {"low": 0.1, "high": 0.2, "count": 9, "mean_prediction": 0.15, "mean_label": 0.17},
            {"low": 0.2, "high": 0.3, "count": 0, "mean_prediction": None, "mean_label": None},
        ],
    }
}
RUN = {
    "merlinkit": "0.1.0",
    "python": "3.11.7",
    "platform": "Linux-6.1",
    "started": START,
    "seed": 42,
    "command": "merlinkit run dataset=movies",
    "versions": {"polars": "1.44.2", "torch": "2.13.0"},
    "engine": "cpu",
    "status": "completed",
}


def profile_entry(name: str, part: str = "train", **changes: Any) -> dict[str, Any]:
    """Return one entry of a profile."""
    entry = {
        "name": name,
        "dtype": "Int64",
        "part": part,
        "rows": 1234,
        "nulls": 617,
        "distinct": 7,
        "min": -3,
        "max": 98765,
        "mean": 12.5,
        "std": 3.25,
        "list_length": None,
        "top": [[5, 400], [6, 217]],
        "histogram": {"edges": [0, 10, 20], "counts": [600, 17]},
    }
    return {**entry, **changes}


def stage(name: str, seconds: float, peak: float, rows: int) -> list[dict[str, Any]]:
    """Return the two events of a stage."""
    start = {"time": START, "kind": "stage", "stage": name, "status": "start"}
    end = {"time": START + seconds, "kind": "stage", "stage": name, "status": "end"}
    return [start, {**end, "seconds": seconds, "peak_rss_mib": peak, "rows": rows}]


def train_events(steps: range = range(10, 60, 10)) -> list[dict[str, Any]]:
    """Return one training event each step."""
    return [
        {
            "time": START + step,
            "kind": "train",
            "step": step,
            "epoch": step // 30,
            "loss": 0.7 - step / 1000,
            "lr": 0.001,
            "samples_per_second": 5000.0 + step,
        }
        for step in steps
    ]


def valid_event(step: int, epoch: int, **metrics: float) -> dict[str, Any]:
    """Return one validation event."""
    return {
        "time": START + step,
        "kind": "valid",
        "step": step,
        "epoch": epoch,
        "metrics": metrics,
    }


def full_events() -> list[dict[str, Any]]:
    """Return the events of a run from raw data to test metrics."""
    return [
        {"time": START, "kind": "note", "message": "The licence of the data is for research."},
        *stage("ingest", 3.25, 310, 1234),
        *stage("fit", 90, 2048, 1000),
        *train_events(),
        valid_event(30, 0, auc=0.71, logloss=0.52, normalized_entropy=0.95),
        valid_event(50, 1, auc=0.73, logloss=0.51, normalized_entropy=0.93),
        *stage("train", 7325, 1024, 5000),
    ]


@dataclass
class Run:
    """A run directory that a test fills."""

    path: Path

    def json(self, name: str, content: Any) -> None:
        """Write a JSON file; NaN and infinity are allowed, as careless writers write them."""
        (self.path / name).write_text(json.dumps(content), encoding="utf-8")

    def events(self, events: list[dict[str, Any]], tail: str = "") -> None:
        """Write the event log, with anything after its last line."""
        lines = "".join(json.dumps(event) + "\n" for event in events)
        (self.path / "events.jsonl").write_text(lines + tail, encoding="utf-8")

    def schema(self, schema: Schema, part: str = "train") -> None:
        """Write an output schema."""
        folder = self.path / "data" / part
        folder.mkdir(parents=True, exist_ok=True)
        schema.save(folder / "schema.json")

    def page(self) -> Page:
        """Write the report and read it."""
        return Page.read(write_report(self.path))


@dataclass
class Element:
    """An element of a page with all text inside of it."""

    tag: str
    attributes: dict[str, str]
    inside: list[str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """A page taken apart by the standard library, which fails where tags are not balanced."""

    source: str
    elements: list[Element] = field(default_factory=list)
    declaration: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []
        self.feed(self.source)
        self.close()
        assert not self._open, f"not closed: {[element.tag for element in self._open]}"

    @classmethod
    def read(cls, path: Path) -> Page:
        """Read a page from a file."""
        return cls(path.read_text(encoding="utf-8"))

    def handle_decl(self, decl: str) -> None:
        self.declaration = decl

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice in <{tag}>: {names}"
        ids = [e.attributes["id"] for e in self._open if "id" in e.attributes]
        element = Element(tag, {name: value or "" for name, value in attrs}, ids)
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        opened = self._open.pop()
        assert opened.tag == tag, f"<{opened.tag}> closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def find(self, tag: str, section: str | None = None) -> list[Element]:
        """Return the elements of a tag, in the section of an id."""
        return [
            element
            for element in self.elements
            if element.tag == tag and (section is None or section in element.inside)
        ]

    @property
    def sections(self) -> list[str]:
        """Ids of the sections, in order."""
        return [element.attributes["id"] for element in self.find("section")]

    def text(self, section: str) -> str:
        """Return the text of a section, runs of white space as one space."""
        [element] = [e for e in self.find("section") if e.attributes["id"] == section]
        return " ".join(element.text.split())

    def facts(self, section: str) -> dict[str, str]:
        """Return the definition lists of a section."""
        names = [element.text for element in self.find("dt", section)]
        return dict(zip(names, [e.text for e in self.find("dd", section)], strict=True))

    def rows(self, section: str) -> list[list[str]]:
        """Return the cells of all table rows of a section."""
        rows: list[list[str]] = []
        for element in self.elements:
            if section not in element.inside:
                continue
            if element.tag == "tr":
                rows.append([])
            elif element.tag in ("td", "th"):
                rows[-1].append(" ".join(element.text.split()))
        return rows
