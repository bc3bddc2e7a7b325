"""Fit: gather statistics level by level, on partitions, and turn them into states."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl

from merlinkit.data.coerce import RowSource
from merlinkit.engine.base import Engine
from merlinkit.engine.shared import Shared
from merlinkit.engine.task import Task
from merlinkit.ops.base import State
from merlinkit.schema import Schema
from merlinkit.workflow.compile import Graph, resolve
from merlinkit.workflow.gather import Gathered, Learning, finish, gather, merge_parts
from merlinkit.workflow.graph import Applied, Node
from merlinkit.workflow.pieces import Piece, large_pieces
from merlinkit.workflow.program import Program, bring_together

__all__ = ["fit_states", "fitted_nodes", "levels", "reads"]

Progress = Callable[[str], None]

_MERGED_AT_ONCE = 16


def fitted_nodes(output: Node, data: Schema) -> list[Applied]:
    """Return the operators that learn from the data, in the order in which they run."""
    graph = resolve(output, data, {})
    return [node for node in graph.order if node.operator.needs_fit(graph.inputs(node))]


def levels(output: Node, data: Schema) -> list[list[Applied]]:
    """Return the operators that learn, grouped so that a group depends on earlier groups only."""
    graph = resolve(output, data, {})
    depth: dict[Applied, int] = {}
    grouped: list[list[Applied]] = []
    for node in fitted_nodes(output, data):
        # Nodes are hashed by identity, so the graphs of two calls share them.
        needed = [depth[other] for other in graph.before(node) if other in depth]
        depth[node] = max(needed, default=-1) + 1
        if depth[node] == len(grouped):
            grouped.append([])
        grouped[depth[node]].append(node)
    return grouped


def reads(graph: Graph, level: Sequence[Applied]) -> list[list[Applied]]:
    """Return the operators of a level in groups that learn from the same rows.

    Those go together that see the same rows removed, and for which rows are brought together alike;
    a group is gathered in one go.
    """
    groups: dict[tuple[object, ...], list[Applied]] = {}
    for node in level:
        before = graph.before(node)
        removed = tuple(other for other in before if not other.operator.keeps_rows)
        groups.setdefault((removed, bool(graph.route(node).boundaries)), []).append(node)
    return list(groups.values())


def fit_states(
    output: Node,
    data: Schema,
    rows: RowSource,
    engine: Engine,
    work_dir: Path | None,
    progress: Progress | None = None,
    *,
    inputs: tuple[pl.Expr, ...] | None = None,
    known: Mapping[Node, State] | None = None,
) -> dict[Node, State]:
    """Learn the state of every operator that needs one.

    Parameters
    ----------
    output
        The graph.
    data
        Columns of the rows.
    rows
        The data.
    engine
        Where the plans run.
    work_dir
        Folder for statistics and tables, seen by all workers; with None they are kept in memory.
    progress
        Called with a line before each operator.
    inputs
        How the columns of the data are made ready; None takes them as they are.
    known
        States of an earlier fit that are updated; with None everything is learned anew.
    """
    if work_dir is not None:
        # A folder of its own, since what an earlier fit learned may still be read from its files.
        work_dir = work_dir.absolute() / f"fit-{secrets.token_hex(8)}"
    states: dict[Node, State] = {}
    pieces = large_pieces(rows, engine)
    for depth, level in enumerate(levels(output, data)):
        graph = resolve(output, data, states)
        for number, nodes in enumerate(reads(graph, level)):
            if progress is not None:
                for node in nodes:
                    inputs_of = ", ".join(graph.inputs(node).names)
                    progress(f"fit {node.operator!r} on {inputs_of}")
            learning = _learning(graph, nodes, states, inputs, known or {})
            folder = None if work_dir is None else work_dir / f"{depth}-{number}"
            found = _learn(learning, pieces, rows.name, engine, folder)
            states.update(zip(nodes, found, strict=True))
        for node in level:
            node.operator.check(states[node], graph.inputs(node))
    return states


def _learning(
    graph: Graph,
    nodes: Sequence[Applied],
    states: Mapping[Node, State],
    inputs: tuple[pl.Expr, ...] | None,
    known: Mapping[Node, State],
) -> Shared[Learning]:
    before = {other for node in nodes for other in graph.before(node)}
    order = [node for node in graph.order if node in before]
    wanted = {
        Learning.column(number, name): source
        for number, node in enumerate(nodes)
        for name, source in graph.sources(node).items()
    }
    needed: dict[Node, State] = {node: state for node, state in states.items() if node in before}
    program = Program(graph, graph.route_of(order, wanted), needed, True, inputs)
    return Shared(Learning(program, tuple(nodes), tuple(known.get(node) for node in nodes)))


def _learn(
    learning: Shared[Learning],
    pieces: Sequence[Piece],
    name: str,
    engine: Engine,
    folder: Path | None,
) -> list[State]:
    """Return the states of operators that learn from the same rows."""
    program = learning.value.program
    if program.steps == 1:
        return _learn_from(learning, pieces, False, name, engine, folder)
    with _folder_for_buckets(folder) as place:
        buckets = bring_together(Shared(program), pieces, place, engine, name)
        if buckets is not None:
            return _learn_from(learning, buckets, True, name, engine, folder)
        whole = [Piece(name, pl.concat([piece.frame for piece in pieces]))]
        return _learn_from(learning, whole, False, name, engine, folder)


@contextmanager
def _folder_for_buckets(folder: Path | None) -> Iterator[Path]:
    """Give a folder for rows that are brought together, gone at the end."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="merlinkit-", dir=folder) as place:
        yield Path(place)


def _learn_from(
    learning: Shared[Learning],
    pieces: Sequence[Piece],
    are_buckets: bool,
    name: str,
    engine: Engine,
    folder: Path | None,
) -> list[State]:
    def below(part: str) -> Path | None:
        return None if folder is None else folder / part

    tasks = [
        Task(
            f"fit on {piece.name}",
            partial(gather, learning, piece, are_buckets, below(f"{number:05d}")),
        )
        for number, piece in enumerate(pieces)
    ]
    gathered = list(engine.run(tasks))
    operators = range(len(learning.value.nodes))
    # The parts of each operator.
    parts: list[list[Gathered]] = [[piece[number] for piece in gathered] for number in operators]
    round_ = 0
    while len(parts[0]) > _MERGED_AT_ONCE:
        parts = _merged(learning, parts, name, engine, below(f"merge-{round_}"))
        round_ += 1
    finishing = (
        Task(
            f"fit {learning.value.nodes[number].operator!r} on {name}",
            partial(finish, learning, number, parts[number], folder),
        )
        for number in operators
    )
    return list(engine.run(finishing))


def _merged(
    learning: Shared[Learning],
    parts: list[list[Gathered]],
    name: str,
    engine: Engine,
    folder: Path | None,
) -> list[list[Gathered]]:
    """Return the parts of each operator, several merged into one."""
    starts = range(0, len(parts[0]), _MERGED_AT_ONCE)
    tasks = [
        Task(
            f"merging what was learned of {name}",
            partial(
                merge_parts,
                learning,
                number,
                some[start : start + _MERGED_AT_ONCE],
                folder,
                f"{number}-{start}",
            ),
        )
        for number, some in enumerate(parts)
        for start in starts
    ]
    merged = engine.run(tasks)
    return [[next(merged) for _ in starts] for _ in parts]
