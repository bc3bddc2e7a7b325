"""Data profile: a table of the raw columns for each part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from merlinkit.report.charts import spark_bars
from merlinkit.report.coerce import integer, mapping, number, sequence
from merlinkit.report.formats import amount, large, percent, short
from merlinkit.report.record import PARTS, RunRecord
from merlinkit.report.sections.overview import PART_NAMES

__all__ = ["DataProfile", "ProfileColumn", "ProfilePart", "data_profile"]

MOST_COLUMNS = 1_000
"""Columns of a part that the page lists; the file has them all."""

DETAILED = 150
"""With more lines than this in all parts, most frequent values are told by the chart's title alone,
and only the first part has charts: the page stays small enough to open and to pass on."""


@dataclass(frozen=True)
class ProfileColumn:
    """One line of the table."""

    name: object
    dtype: object
    missing_share: float
    missing: str
    distinct: str
    low: object
    high: object
    mean: object
    std: object
    list_length: str | None
    chart: Markup
    top: list[tuple[object, str]]


@dataclass(frozen=True)
class ProfilePart:
    """The table of one part."""

    name: str
    rows: int | None
    columns: list[ProfileColumn]
    left_out: int
    charted: bool
    sample: str | None


@dataclass(frozen=True)
class DataProfile:
    """What the template shows of the data."""

    parts: list[ProfilePart]
    estimated: bool


def data_profile(record: RunRecord) -> DataProfile | None:
    """Return the section, or None where the data was not profiled."""
    entries = [mapping(entry) for entry in sequence(record.profile.get("columns"))]
    by_part: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        by_part.setdefault(str(entry.get("part", "data")), []).append(entry)
    for part in mapping(record.profile.get("parts")):
        by_part.setdefault(str(part), [])
    if not by_part:
        return None
    ordered = sorted(by_part, key=lambda part: PARTS.index(part) if part in PARTS else len(PARTS))
    detailed = len(entries) <= DETAILED
    parts = [
        ProfilePart(
            PART_NAMES.get(part, part),
            integer(mapping(record.profile.get("parts")).get(part)),
            [
                _column(entry, detailed, detailed or index == 0)
                for entry in by_part[part][:MOST_COLUMNS]
            ],
            max(0, len(by_part[part]) - MOST_COLUMNS),
            detailed or index == 0,
            _sample_text(mapping(mapping(record.profile.get("sample")).get(part))),
        )
        for index, part in enumerate(ordered[:20])
    ]
    estimated = any(entry.get("distinct_exact") is False for entry in entries)
    return DataProfile(parts, estimated)


def _sample_text(sample: Mapping[str, Any]) -> str | None:
    rows, every = integer(sample.get("rows")), integer(sample.get("every"))
    if rows is None or every is None or every <= 1:
        return None
    return (
        f"Distributions and most frequent values are of a sample: one row in {every:,}, "
        f"{rows:,} rows."
    )


def _column(entry: Mapping[str, Any], detailed: bool, charted: bool) -> ProfileColumn:
    share, missing = _missing(entry)
    lengths = mapping(entry.get("list_length"))
    top = _top(entry)
    return ProfileColumn(
        name=entry.get("name"),
        dtype=entry.get("dtype"),
        missing_share=share,
        missing=missing,
        distinct=_distinct(entry),
        low=entry.get("min"),
        high=entry.get("max"),
        mean=entry.get("mean"),
        std=entry.get("std"),
        list_length=(
            f"{amount(lengths.get('min'))} to {amount(lengths.get('max'))} elements, "
            f"mean {amount(lengths.get('mean'), 3)}"
            if lengths
            else None
        ),
        chart=_chart(entry, top) if charted else Markup(""),
        top=top if detailed else [],
    )


def _missing(entry: Mapping[str, Any]) -> tuple[float, str]:
    nulls, nans = integer(entry.get("nulls")), integer(entry.get("nans")) or 0
    rows = integer(entry.get("rows")) or 0
    if nulls is None:
        return 0.0, "–"
    # NaN may be counted over the elements of lists: the share of rows is that of nulls then.
    lost = nulls if entry.get("list_length") else nulls + nans
    share = min(1.0, max(0.0, lost / rows)) if rows > 0 else 0.0
    words = [f"{nulls:,} null"] if nulls else []
    words += [f"{nans:,} NaN"] if nans else []
    if infinite := integer(entry.get("infinite")):
        words.append(f"{infinite:,} infinite")
    return share, percent(share) + (f" ({', '.join(words)})" if words else "")


def _distinct(entry: Mapping[str, Any]) -> str:
    distinct = integer(entry.get("distinct"))
    if distinct is None:
        return "–"
    if entry.get("distinct_exact") is False:
        return f"≈ {large(distinct)}" if distinct >= 1e6 else f"≈ {distinct:,}"
    return f"{distinct:,}"


def _top(entry: Mapping[str, Any]) -> list[tuple[object, str]]:
    total = integer(entry.get("sampled_values"))
    top = []
    for pair in sequence(entry.get("top"))[:10]:
        if isinstance(pair, list) and len(pair) == 2 and (count := number(pair[1])) is not None:
            share = percent(min(1.0, max(0.0, count / total))) if total else f"{count:,.0f}"
            top.append((pair[0], share))
    return top


def _chart(entry: Mapping[str, Any], top: Sequence[tuple[object, str]]) -> Markup:
    """Draw the histogram, or the counts of the most frequent values where there is none."""
    bins = mapping(entry.get("histogram"))
    counts = [max(0.0, number(count) or 0.0) for count in sequence(bins.get("counts"))[:100]]
    edges = sequence(bins.get("edges"))
    if counts and max(counts) > 0 and len(edges) == len(counts) + 1:
        best = counts.index(max(counts))
        return spark_bars(
            counts,
            f"Histogram from {amount(edges[0])} to {amount(edges[-1])}; most values, "
            f"{amount(int(counts[best]))}, between {amount(edges[best])} "
            f"and {amount(edges[best + 1])}",
        )
    heights = [
        max(0.0, number(pair[1]) or 0.0)
        for pair in sequence(entry.get("top"))[:10]
        if isinstance(pair, list) and len(pair) == 2
    ]
    listed = ", ".join(f"{short(value, 24)} {share}" for value, share in top[:5])
    # Places for ten values, so that bars are equally wide in all lines.
    padded = [*heights, *([0.0] * (10 - len(heights)))]
    return spark_bars(padded, f"Most frequent values: {listed}")
