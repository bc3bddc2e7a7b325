"""From a graph to one plan.

All branches of a graph run on one wide frame, so that rows stay together without a join. A column
keeps its own name in that frame as long as nobody else needs the name; then it moves to a spare
one. Operators that remove rows run as early as their inputs allow, so that what is not made from
those inputs never sees the removed rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import SchemaError
from merlinkit.ops.base import State, scratch, without_nan
from merlinkit.schema import Schema
from merlinkit.workflow.graph import Applied, Node, Selection, Source

__all__ = ["BUCKET", "Graph", "Route", "compile_plan", "compile_stretch", "resolve"]

NO_STATE = State()

BUCKET = scratch("bucket")
"""Column with the number of the bucket of a row, where rows are brought together."""


@dataclass(frozen=True)
class Route:
    """The part of a graph that is run.

    Parameters
    ----------
    order
        The operators, in the order in which they run.
    wanted
        Where the columns are made that come out, by the name that they come out with.
    boundaries
        Places in the order before which rows must be brought together by a key, so that each
        operator from there on finds all rows of a value in one frame.
    """

    order: tuple[Applied, ...]
    wanted: Mapping[str, Source]
    boundaries: tuple[int, ...]


@dataclass(frozen=True)
class Graph:
    """A graph over data of a known schema.

    Parameters
    ----------
    output
        The node whose columns come out.
    schemas
        Columns of every node.
    order
        Operator nodes in the order in which they run.
    skipped
        Operators on rows that do not run, since a column they read was removed.
    """

    output: Node
    schemas: Mapping[Node, Schema]
    order: tuple[Applied, ...]
    skipped: frozenset[Applied] = frozenset()

    @property
    def output_schema(self) -> Schema:
        """Columns that come out."""
        return self.schemas[self.output]

    def inputs(self, node: Applied) -> Schema:
        """Return the columns that go into an operator."""
        return node.inputs(self.schemas)

    def locate(self, node: Node, name: str) -> Source:
        """Return where a column of a node is made."""
        return self._past_skipped(node.locate(name, self.schemas))

    def _past_skipped(self, source: Source) -> Source:
        producer, made = source
        while producer in self.skipped:
            assert producer is not None
            producer, made = producer.locate_input(made, self.schemas)
        return producer, made

    def sources(self, node: Applied) -> dict[str, Source]:
        """Return where each input column of an operator is made."""
        return {
            name: self._past_skipped(node.locate_input(name, self.schemas))
            for name in self.inputs(node).names
        }

    def outputs(self) -> dict[str, Source]:
        """Return where each column that comes out is made."""
        return {name: self.locate(self.output, name) for name in self.output_schema.names}

    def origins(self, source: Source) -> set[str]:
        """Return the columns of the data that a column is made from."""
        producer, name = source
        if producer is None:
            return {name}
        sources = self.sources(producer)
        made_from = producer.operator.origins(self.inputs(producer))[name]
        return set().union(*(self.origins(sources[origin]) for origin in made_from))

    def columns_of_any_width(self) -> set[str]:
        """Return columns of the data whose integers may have another width than at fit."""
        takes: dict[str, bool] = {}
        for node in self.order:
            for producer, name in self.sources(node).values():
                if producer is None:
                    takes[name] = takes.get(name, True) and node.operator.widens_integers
        passed_on = {name for producer, name in self.outputs().values() if producer is None}
        return {name for name, wide in takes.items() if wide} - passed_on

    def data_columns(self) -> set[str]:
        """Return the columns of the data that are read."""
        read = {source for node in self.order for source in self.sources(node).values()}
        read |= set(self.outputs().values())
        return {name for producer, name in read if producer is None}

    def key(self, node: Applied) -> list[Source] | None:
        """Return where the columns are made whose rows an operator needs together."""
        names = node.operator.rows_together(self.inputs(node))
        return None if names is None else [self.sources(node)[name] for name in names]

    def route(self, until: Applied | None = None) -> Route:
        """Return the way to the output columns, or to the input columns of an operator."""
        if until is None:
            return self.route_of(self.order, self.outputs())
        return self.route_of(self.before(until), self.sources(until))

    def route_of(self, order: Sequence[Applied], wanted: Mapping[str, Source]) -> Route:
        """Return the way to some columns through some operators."""
        boundaries: list[int] = []
        current: list[Source] | None = None
        for index, node in enumerate(order):
            key = self.key(node)
            if key is not None and key != current:
                boundaries.append(index)
                current = key
        return Route(tuple(order), dict(wanted), tuple(boundaries))

    def before(self, node: Applied) -> list[Applied]:
        """Return the operators that must have run before one: its own and those on rows."""
        index = self.order.index(node)
        wanted = {id(item) for item in node.ancestors()} - {id(node)}
        for item in self.order[:index]:
            if not item.operator.keeps_rows:
                wanted |= {id(ancestor) for ancestor in item.ancestors()}
        return [item for item in self.order[:index] if id(item) in wanted]


def resolve(
    output: Node,
    data: Schema,
    states: Mapping[Node, State],
    removed: frozenset[str] = frozenset(),
) -> Graph:
    """Return the graph over data of a schema, with the columns of every node.

    Parameters
    ----------
    output
        The node whose columns come out.
    data
        Columns of the data.
    states
        What was fitted; before fit, domains of what is not fitted stay unknown.
    removed
        Columns of the data that are not there any more; operators on rows that read them do not
        run.

    Raises
    ------
    SchemaError
        If a column is missing, has a data type that its operator cannot work with, or two outputs
        have the same name.
    """
    schemas: dict[Node, Schema] = {}
    applied: list[Applied] = []
    for node in output.ancestors():
        inputs = [data] if isinstance(node, Selection) else [schemas[p] for p in node.parents]
        state = states.get(node)
        if isinstance(node, Applied):
            applied.append(node)
            node.require_needed(data, schemas)
            if state is None and not node.operator.needs_fit(node.inputs(schemas)):
                state = NO_STATE
        schemas[node] = node.resolve(inputs, state)
        _require_plain_names(schemas[node])
    graph = Graph(output, schemas, tuple(_row_operators_first(applied, schemas)))
    skipped = {
        node
        for node in graph.order
        if not node.operator.keeps_rows
        and any(
            graph.origins(graph.sources(node)[name]) & removed
            for name in node.operator.row_inputs(graph.inputs(node))
        )
    }
    kept = tuple(node for node in graph.order if node not in skipped)
    graph = _without_dead_ends(Graph(output, schemas, kept, frozenset(skipped)))
    _require_same_rows(graph)
    return graph


def _require_same_rows(graph: Graph) -> None:
    """Raise if columns of other rows stand beside those that an operator makes of groups."""
    for index, node in enumerate(graph.order):
        if not node.operator.regroups:
            continue
        earlier = {None, *graph.order[:index]}
        later = [
            source for other in graph.order[index + 1 :] for source in graph.sources(other).values()
        ]
        for producer, name in [*later, *graph.outputs().values()]:
            if producer in earlier:
                raise SchemaError(
                    f"column '{name}' has a row for each row of the data, but stands beside the "
                    f"output of {node.operator!r}, which has others; put the column through "
                    f"{node.operator.name}, or use two workflows"
                )


def _require_plain_names(schema: Schema) -> None:
    """Raise for names that merlinkit uses itself, or that Polars takes for a pattern."""
    for name in schema.names:
        pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
        if pattern or name.startswith(scratch("")):
            why = "stand for patterns" if pattern else f"begin with {scratch('')!r} are taken"
            raise SchemaError(f"column '{name}': names that {why}; rename it")


def _without_dead_ends(graph: Graph) -> Graph:
    """Return the graph without operators of whose columns nothing comes out."""
    live: set[Applied] = set()
    waiting = [node for node, _ in graph.outputs().values() if node is not None]
    waiting += [node for node in graph.order if not node.operator.keeps_rows]
    while waiting:
        node = waiting.pop()
        if node not in live:
            live.add(node)
            waiting += [made for made, _ in graph.sources(node).values() if made is not None]
    order = tuple(node for node in graph.order if node in live)
    return Graph(graph.output, graph.schemas, order, graph.skipped)


def _row_operators_first(
    applied: Sequence[Applied], schemas: Mapping[Node, Schema]
) -> list[Applied]:
    """Return operators in an order that respects the graph and removes rows early.

    Of several that remove rows, those run first whose predicates rest on the fewest operators that
    learn, so that what is learned does not depend on which one was written first.
    """
    order: list[Applied] = []
    placed: set[int] = set()

    def place(node: Applied) -> None:
        for ancestor in node.ancestors():
            if isinstance(ancestor, Applied) and id(ancestor) not in placed:
                placed.add(id(ancestor))
                order.append(ancestor)

    def learned(node: Applied) -> int:
        return sum(
            isinstance(ancestor, Applied) and ancestor.operator.needs_fit(ancestor.inputs(schemas))
            for ancestor in node.ancestors()
        )

    for node in sorted((node for node in applied if not node.operator.keeps_rows), key=learned):
        place(node)
    for node in applied:
        place(node)
    return order


def compile_plan(
    graph: Graph,
    frame: pl.LazyFrame,
    states: Mapping[Node, State],
    dialect: Dialect,
    *,
    until: Applied | None = None,
    training: bool = False,
) -> pl.LazyFrame:
    """Return the one plan that applies a graph to a frame with all rows.

    Parameters
    ----------
    graph
        The graph, resolved over the frame's schema.
    frame
        The data.
    states
        What was fitted.
    dialect
        How the engine spells lists, lookups and hashes.
    until
        Stop before this operator and return its input columns, instead of the output columns.
    training
        Whether a model is trained on the rows; see `Operator.transform_training`.
    """
    route = graph.route(until)
    return compile_stretch(graph, route, frame, states, dialect, training=training)


def compile_stretch(
    graph: Graph,
    route: Route,
    frame: pl.LazyFrame,
    states: Mapping[Node, State],
    dialect: Dialect,
    *,
    training: bool,
    start: int = 0,
    stop: int | None = None,
    buckets: int = 1,
) -> pl.LazyFrame:
    """Return the plan that runs some operators of a route.

    Parameters
    ----------
    graph, frame, states, dialect, training
        As for `compile_plan`.
    route
        The route.
    start
        The first operator. If it is not the first of the route, the frame holds what the stretch
        before it gave.
    stop
        The operator before which to stop, one of the route's boundaries. The plan then gives the
        columns that are needed further on, and `BUCKET`. With None it gives those that are wanted.
    buckets
        Number of buckets.
    """
    wide = _WideFrame(frame, route, graph)
    if start == 0:
        wide.keep_needed()
    for index in range(start):
        wide.skip(index, route.order[index])
    for index in range(start, len(route.order) if stop is None else stop):
        node = route.order[index]
        wide.apply(index, node, states.get(node, NO_STATE), dialect, training)
    if stop is not None:
        return wide.with_bucket(stop, route.order[stop], buckets, dialect)
    return wide.frame.select(
        pl.col(wide.place[source]).alias(name) for name, source in route.wanted.items()
    )


class _WideFrame:
    """The one frame on which a graph runs, and where in it each column is."""

    def __init__(self, frame: pl.LazyFrame, route: Route, graph: Graph) -> None:
        self.graph = graph
        # The last step that reads a column; the end of all for what comes out.
        self.last_use: dict[Source, int] = {}
        for index, node in enumerate(route.order):
            for source in graph.sources(node).values():
                self.last_use[source] = index
        for source in route.wanted.values():
            self.last_use[source] = len(route.order)
        raw = [name for producer, name in self.last_use if producer is None]
        self.frame = frame
        self.place: dict[Source, str] = {(None, name): name for name in raw}
        self._spares = 0
        self._skips = False

    def keep_needed(self) -> None:
        """Drop the columns of the data that nobody reads."""
        self.frame = self.frame.select(self.place.values())

    def _free(self, name: str, keep: Source | None, index: int) -> None:
        """Move the column that stands under a name elsewhere, unless nobody needs it any more."""
        for source, place in list(self.place.items()):
            if place != name or source == keep:
                continue
            if self.last_use.get(source, -1) < index:
                del self.place[source]
                continue
            self._spares += 1
            spare = scratch(f"{self._spares}_{name}")
            self._copy(name, spare)
            self.place[source] = spare

    def _copy(self, name: str, into: str) -> None:
        if not self._skips:
            self.frame = self.frame.with_columns(pl.col(name).alias(into))

    def with_bucket(self, stop: int, node: Applied, buckets: int, dialect: Dialect) -> pl.LazyFrame:
        """Return the columns needed from an operator on, and the bucket by what it needs together.

        The bucket is that of the hash of the first column of the key.
        """
        key = self.graph.key(node)
        assert key is not None
        bucket = pl.lit(0, dtype=pl.Int32)
        if key:
            place = self.place[key[0]]
            dtype = self.frame.collect_schema()[place]
            # NaN is null to operators, and nulls belong together too.
            hashed = dialect.hash64(without_nan(pl.col(place), dtype), dtype).fill_null(0)
            bucket = (hashed % buckets).cast(pl.Int32)
        needed = dict.fromkeys(
            place for source, place in self.place.items() if self.last_use.get(source, -1) >= stop
        )
        return self.frame.select(*needed, bucket.alias(BUCKET))

    def skip(self, index: int, node: Applied) -> None:
        """Note where columns are after an operator that an earlier stretch has run."""
        self._skips = True
        self._enter(index, node)
        self._leave(node)
        self._skips = False

    def apply(
        self, index: int, node: Applied, state: State, dialect: Dialect, training: bool
    ) -> None:
        """Run one operator on the frame."""
        self._enter(index, node)
        inputs = self.graph.inputs(node)
        apply = node.operator.transform_training if training else node.operator.transform
        self.frame = apply(self.frame, inputs, state, dialect)
        self._leave(node)

    def _enter(self, index: int, node: Applied) -> None:
        """Put the inputs of an operator under their names."""
        sources = self.graph.sources(node)
        for name, source in sources.items():
            needed_later = self.last_use[source] > index
            # In place when this is the last to read it and it already has the right name.
            in_place = self.place[source] == name and not needed_later
            self._free(name, source if in_place else None, index)
            if self.place[source] != name:
                self._copy(self.place[source], name)
        for name in self.graph.schemas[node].names:
            if name not in sources:
                self._free(name, None, index)

    def _leave(self, node: Applied) -> None:
        """Note where the outputs of an operator are, and what it wrote over."""
        sources = self.graph.sources(node)
        outputs = self.graph.schemas[node].names
        consumed = [
            source for source, place in self.place.items() if place in sources or place in outputs
        ]
        for source in consumed:
            del self.place[source]
        for name in outputs:
            self.place[node, name] = name
