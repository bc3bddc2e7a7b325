"""From output columns back to the columns of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import SchemaError
from merlinkit.ops.base import State, scratch
from merlinkit.workflow.compile import NO_STATE, Graph
from merlinkit.workflow.graph import Applied, Node

__all__ = ["Backward"]


@dataclass(frozen=True)
class Backward:
    """Turns columns that come out of a graph back into those they were made from.

    Parameters
    ----------
    graph
        The graph.
    states
        What its operators learned.
    """

    graph: Graph
    states: Mapping[Node, State]

    def plan(self, frame: pl.LazyFrame, dialect: Dialect) -> pl.LazyFrame:
        """Return the plan for a frame with some of the output columns, and any others."""
        names = list(frame.collect_schema())
        ways = [self._way(number, name) for number, name in enumerate(names)]
        # Every column is kept aside, since names of one operator may be those of another.
        frame = frame.select(pl.col(way.name).alias(way.places[0]) for way in ways)
        for node in reversed(self.graph.order):
            passing = [way for way in ways if way.chain and way.chain[0][0] is node]
            while passing:
                together, passing = _with_distinct_names(passing)
                frame = self._through(node, together, frame, dialect)
        results: dict[str, str] = {}
        for way in ways:
            for column, place in zip(way.raw, way.places, strict=True):
                if column in results:
                    raise SchemaError(
                        f"'{way.name}' would come back as '{column}', and so does another column; "
                        "leave one of them out"
                    )
                results[column] = place
        return frame.select(pl.col(place).alias(raw) for raw, place in results.items())

    def _way(self, number: int, name: str) -> _Way:
        place = scratch(f"inverse_{number}")
        found = None
        if name in self.graph.output_schema:
            found = _invertible_chain(self.graph, name)
        chain, raw = found or ([], [name])
        return _Way(name, list(chain), raw, [place])

    def _through(
        self, node: Applied, ways: Sequence[_Way], frame: pl.LazyFrame, dialect: Dialect
    ) -> pl.LazyFrame:
        """Take columns back through one operator, all at once: a plan should not be deep."""
        state = self.states.get(node, NO_STATE)
        steps = [way.chain.pop(0) for way in ways]
        before = [column for _, columns, _ in steps for column in columns]
        frame = frame.with_columns(
            pl.col(way.places[0]).alias(after)
            for way, (_, _, after) in zip(ways, steps, strict=True)
        )
        inputs = self.graph.inputs(node).select(before)
        frame = node.operator.inverse(frame, inputs, state, dialect)
        moves = []
        for way, (_, columns, _) in zip(ways, steps, strict=True):
            place = way.places[0]
            way.places = [place, *(f"{place}_{index}" for index in range(1, len(columns)))]
            moves += [
                pl.col(column).alias(kept) for column, kept in zip(columns, way.places, strict=True)
            ]
        return frame.with_columns(moves)


@dataclass
class _Way:
    """The way of one column back to the data.

    Parameters
    ----------
    name
        The column.
    chain
        The operators that it still has to pass, with names before and after them.
    raw
        The columns of the data that it comes back as.
    places
        Where it is kept.
    """

    name: str
    chain: list[tuple[Applied, list[str], str]]
    raw: list[str]
    places: list[str]


def _with_distinct_names(ways: Sequence[_Way]) -> tuple[list[_Way], list[_Way]]:
    """Return ways that can pass an operator together, and the others."""
    taken: set[str] = set()
    together: list[_Way] = []
    others: list[_Way] = []
    for way in ways:
        _, before, after = way.chain[0]
        names = {*before, after}
        (others if names & taken else together).append(way)
        taken |= names
    return together, others


def _invertible_chain(
    graph: Graph, name: str
) -> tuple[list[tuple[Applied, list[str], str]], list[str]] | None:
    """Return the operators from an output column back to its raw columns, or None.

    Each comes with the names of the columns before it and of the one after it. Only the last, next
    to the data, may have made its column from several.
    """
    chain: list[tuple[Applied, list[str], str]] = []
    node, after = graph.locate(graph.output, name)
    while node is not None:
        origins = node.operator.origins(graph.inputs(node))[after]
        if not node.operator.invertible or not origins:
            return None
        chain.append((node, origins, after))
        sources = [graph.sources(node)[origin] for origin in origins]
        if len(origins) > 1:
            raw = all(producer is None for producer, _ in sources)
            return (chain, [made for _, made in sources]) if raw else None
        node, after = sources[0]
    return chain, [after]
