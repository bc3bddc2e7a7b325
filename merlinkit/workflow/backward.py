"""From output columns back to the columns of the data."""

from __future__ import annotations

from collections.abc import Mapping
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
        graph = self.graph
        # Every column is kept aside first, since names of one step may be those of others.
        aside = {name: scratch(f"inverse_{i}") for i, name in enumerate(frame.collect_schema())}
        frame = frame.with_columns(pl.col(name).alias(kept) for name, kept in aside.items())
        results: dict[str, str] = {}
        for name, kept in aside.items():
            known = name in graph.output_schema
            chain, raw = (_invertible_chain(graph, name) if known else None) or ([], [name])
            places = [kept]
            for node, before, after in chain:
                inputs = graph.inputs(node).select(before)
                state = self.states.get(node, NO_STATE)
                frame = frame.with_columns(pl.col(kept).alias(after))
                frame = node.operator.inverse(frame, inputs, state, dialect)
                places = [kept, *(f"{kept}_{index}" for index in range(1, len(before)))]
                frame = frame.with_columns(
                    pl.col(column).alias(place)
                    for column, place in zip(before, places, strict=True)
                )
            for column, place in zip(raw, places, strict=True):
                if column in results:
                    raise SchemaError(
                        f"'{name}' would come back as '{column}', and so does another column; "
                        "leave one of them out"
                    )
                results[column] = place
        return frame.select(pl.col(kept).alias(raw) for raw, kept in results.items())


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
