"""What was dropped from text files because it could not be read as a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["SAMPLE_SIZE", "Malformed", "MalformedRow"]

SAMPLE_SIZE = 5
"""So many dropped rows are kept to be shown."""


@dataclass(frozen=True)
class MalformedRow:
    """One dropped row.

    Parameters
    ----------
    file, line
        Where it starts; lines are counted from 1.
    text
        The start of its text.
    reason
        What is wrong with it.
    """

    file: Path
    line: int
    text: str
    reason: str


@dataclass
class Malformed:
    """Rows that were dropped, by file; a file that is read again replaces its earlier entry.

    Examples
    --------
    >>> dropped = Malformed()
    >>> row = MalformedRow(Path("a.csv"), 3, "'1,2,3'", "3 fields found, 2 expected")
    >>> dropped.record(Path("a.csv"), 1, [row])
    >>> dropped.count, dropped.sample[0].line
    (1, 3)
    """

    counts: dict[Path, int] = field(default_factory=dict)
    samples: dict[Path, tuple[MalformedRow, ...]] = field(default_factory=dict)

    def record(self, file: Path, count: int, sample: list[MalformedRow]) -> None:
        """Note what a whole pass over a file dropped."""
        self.counts[file] = count
        self.samples[file] = tuple(sample[:SAMPLE_SIZE])

    def update(self, other: Malformed) -> None:
        """Take over the entries of another."""
        self.counts.update(other.counts)
        self.samples.update(other.samples)

    @property
    def count(self) -> int:
        """Number of dropped rows."""
        return sum(self.counts.values())

    @property
    def by_file(self) -> Mapping[Path, int]:
        """Number of dropped rows of each file that has any."""
        return {file: count for file, count in sorted(self.counts.items()) if count}

    @property
    def sample(self) -> list[MalformedRow]:
        """The first few dropped rows, by file and line."""
        return list(self)[:SAMPLE_SIZE]

    def __iter__(self) -> Iterator[MalformedRow]:
        for file in sorted(self.samples):
            yield from self.samples[file]

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        if not self:
            return "no malformed rows"
        shown = "; ".join(
            f"{row.file}, line {row.line}: {row.reason}: {row.text}" for row in self.sample
        )
        return f"{self.count} malformed rows dropped, such as {shown}"
