"""The top of the page: what ran on what, how it ended, and the key metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from merlinkit.report.coerce import integer, mapping, number, sequence, text
from merlinkit.report.formats import amount, duration, mebibytes, short
from merlinkit.report.record import PARTS, RunRecord

__all__ = ["METRIC_NAMES", "PART_NAMES", "Card", "MetricRow", "Overview", "overview"]

METRIC_NAMES = {
    "auc": "AUC",
    "logloss": "Logloss",
    "normalized_entropy": "Normalized entropy",
    "calibration": "Calibration ratio",
    "ece": "Calibration error",
    "mean_prediction": "Mean prediction",
    "base_rate": "Base rate",
    "rows": "Rows",
}
PART_NAMES = {"train": "Training", "valid": "Validation", "test": "Test"}
HELP = {
    "auc": "Area under the ROC curve: 0.5 is chance, 1 is perfect.",
    "logloss": "Mean binary cross-entropy of the predictions; lower is better.",
    "normalized_entropy": "Logloss divided by that of always predicting the mean label; "
    "below 1 is better than that.",
}
KEY_METRICS = ("auc", "logloss", "normalized_entropy")
_COLOURS = {
    "good": {"done", "ok", "success", "succeeded", "complete", "completed", "finished"},
    "bad": {"failed", "failure", "error", "killed", "aborted", "interrupted", "cancelled"},
    "busy": {"running", "started", "start", "active"},
}
MOST_NOTES = 100


@dataclass(frozen=True)
class Card:
    """One metric of one part, and that of the baseline where there is one."""

    label: str
    value: object
    help: str
    baseline: object = None


@dataclass(frozen=True)
class MetricRow:
    """One line of the table of metrics."""

    label: str
    values: Mapping[str, object]


@dataclass
class Overview:
    """What the template shows above the sections."""

    name: str
    dataset: str | None
    engine: str | None
    status: str | None
    status_colour: str
    error: str | None
    facts: list[tuple[str, str]] = field(default_factory=list)
    cards: list[tuple[str, list[Card]]] = field(default_factory=list)
    metric_keys: list[str] = field(default_factory=list)
    metric_rows: list[MetricRow] = field(default_factory=list)
    notes: list[tuple[str, int]] = field(default_factory=list)


def overview(record: RunRecord) -> Overview:
    """Return the top of the page; what is unknown is left out."""
    rows = list(_metric_rows((), record.metrics))
    keys: list[str] = []
    for _, values in rows:
        keys.extend(key for key in values if key not in keys)
    keys.sort(key=lambda key: KEY_METRICS.index(key) if key in KEY_METRICS else len(KEY_METRICS))
    status = text(record.run.get("status"))
    return Overview(
        name=record.name,
        dataset=_named(record.config.get("dataset")),
        engine=_named(record.run.get("engine")) or _named(record.config.get("engine")),
        status=status,
        status_colour=next(
            (colour for colour, words in _COLOURS.items() if (status or "").lower() in words),
            "unknown",
        ),
        error=text(record.run.get("error")),
        facts=_facts(record),
        cards=_cards(record.metrics, rows),
        metric_keys=keys[:20],
        metric_rows=[
            MetricRow(" · ".join(PART_NAMES.get(name, name) for name in path) or "all", values)
            for path, values in rows[:50]
        ],
        notes=_notes(record),
    )


def _named(value: object) -> str | None:
    """Return the name of a config group, which is a string or a mapping with a name."""
    if text(value):
        return str(value)
    for key in ("name", "_name_", "path", "source", "_target_"):
        if found := text(mapping(value).get(key)):
            return found
    return None


def _metric_rows(
    path: tuple[str, ...], content: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], dict[str, object]]]:
    """Yield one row for each mapping that holds values, however deep it lies."""
    values = {key: value for key, value in content.items() if not isinstance(value, dict | list)}
    if values:
        yield path, values
    ordered = sorted(content, key=lambda key: PARTS.index(key) if key in PARTS else len(PARTS))
    for key in ordered:
        if isinstance(content[key], dict) and len(path) < 4:
            yield from _metric_rows((*path, key), content[key])


def _cards(
    metrics: Mapping[str, Any], rows: list[tuple[tuple[str, ...], dict[str, object]]]
) -> list[tuple[str, list[Card]]]:
    groups = []
    for part in ("valid", "test"):
        values = mapping(metrics.get(part))
        cards = [
            Card(METRIC_NAMES[key], values[key], HELP[key], _baseline(rows, part, key))
            for key in KEY_METRICS
            if key in values
        ]
        if cards:
            groups.append((PART_NAMES[part], cards))
    return groups


def _baseline(
    rows: list[tuple[tuple[str, ...], dict[str, object]]], part: str, key: str
) -> float | None:
    for path, values in rows:
        if path[:1] == ("baseline",) and (part in path or not set(path) & set(PARTS)):
            found = number(values.get(key))
            if found is not None:
                return found
    return None


def _facts(record: RunRecord) -> list[tuple[str, str]]:
    facts = []
    parts = mapping(record.profile.get("parts"))
    for part in [*(p for p in PARTS if p in parts), *(p for p in parts if p not in PARTS)][:6]:
        if integer(parts[part]) is not None:
            label = f"{PART_NAMES.get(part, short(part, 20))} rows"
            facts.append((label, amount(integer(parts[part]))))
    if not facts:
        for part in ("valid", "test"):
            rows = integer(mapping(record.metrics.get(part)).get("rows"))
            if rows is not None:
                facts.append((f"{PART_NAMES[part]} rows", amount(rows)))
    columns = {str(mapping(entry).get("name")) for entry in sequence(record.profile.get("columns"))}
    if columns:
        facts.append(("Raw columns", amount(len(columns))))
    times = [t for event in record.events if (t := number(event.get("time"))) is not None]
    if len(times) > 1:
        facts.append(("First to last event", duration(max(times) - min(times))))
    peaks = [
        peak
        for event in record.events_of("stage")
        if (peak := number(event.get("peak_rss_mib"))) is not None
    ]
    if peaks:
        facts.append(("Peak memory", mebibytes(max(peaks))))
    return facts


def _notes(record: RunRecord) -> list[tuple[str, int]]:
    """Return each message once, with the number of times it was written."""
    counts: dict[str, int] = {}
    for message in [
        *record.problems,
        *(str(event.get("message")) for event in record.events_of("note") if event.get("message")),
    ]:
        counts[message] = counts.get(message, 0) + 1
    notes = list(counts.items())
    if len(notes) > MOST_NOTES:
        left = len(notes) - MOST_NOTES
        notes = [*notes[:MOST_NOTES], (f"{left:,} more notes are in events.jsonl", 1)]
    return notes
