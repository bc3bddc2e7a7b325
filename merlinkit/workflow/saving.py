"""A workflow on disk: ``workflow.json`` and ``tables/*.parquet``.

Nothing in the files is ever imported or executed: operators come from the registry by name, paths
must stay inside the folder, and every table must have the checksum that the JSON states.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from merlinkit._version import __version__
from merlinkit.atomic import atomic_folder, write_json
from merlinkit.data.failures import folder_errors
from merlinkit.data.manifest import file_sha256
from merlinkit.engine.base import Engine, LocalEngine
from merlinkit.engine.select import opened
from merlinkit.engine.task import Task
from merlinkit.errors import ArtifactError, MerlinkitError, RunDirError
from merlinkit.ops.base import State, Table
from merlinkit.ops.categorify import Categorify
from merlinkit.ops.registry import make_operator
from merlinkit.ops.vocabulary_check import check_vocabulary
from merlinkit.schema import JSONValue, Schema
from merlinkit.workflow.compile import Graph, resolve
from merlinkit.workflow.graph import Applied, Concat, Node, Selection, Subset, Subtract

if TYPE_CHECKING:
    from merlinkit.workflow.workflow import Workflow

__all__ = ["load_workflow", "save_workflow"]

WORKFLOW_FORMAT = 1
WORKFLOW_FILE = "workflow.json"
TABLES = "tables"
DIGEST = "sha256"
"""Key of the checksum of everything else in ``workflow.json``."""


def save_workflow(
    folder: Path,
    output: Node,
    data: Schema,
    states: Mapping[Node, State],
    removed: frozenset[str],
    engine: str | Engine,
) -> None:
    """Write a fitted workflow into a folder, which appears whole or not at all."""
    folder = folder.resolve()
    if folder.is_dir() and any(folder.iterdir()) and not (folder / WORKFLOW_FILE).is_file():
        raise RunDirError(
            f"{folder} holds files that are not of a workflow; choose a new or empty folder"
        )
    nodes = list(output.ancestors())
    graph = resolve(output, data, states)
    number = {node: index for index, node in enumerate(nodes)}
    with opened(engine) as chosen, folder_errors(folder), atomic_folder(folder) as temporary:
        (temporary / TABLES).mkdir()
        saved_states: dict[str, JSONValue] = {}
        writing = [
            Task(
                f"saving '{name}'",
                partial(_save_table, table, temporary / TABLES / f"{number[node]}-{index}.parquet"),
            )
            for node, state in states.items()
            for index, (name, table) in enumerate(state.tables.items())
        ]
        written = chosen.run(writing)
        for node, state in states.items():
            tables: dict[str, JSONValue] = {name: next(written) for name in state.tables}
            saved_states[str(number[node])] = {"values": dict(state.values), "tables": tables}
        content: dict[str, JSONValue] = {
            "format": WORKFLOW_FORMAT,
            "merlinkit": __version__,
            "nodes": [_node_to_json(node, number, graph) for node in nodes],
            "output": number[output],
            "data": data.to_dict(),
            "removed": sorted(removed),
            "states": saved_states,
        }
        write_json(temporary / WORKFLOW_FILE, {**content, DIGEST: _digest(content)})


def _save_table(table: Table, path: Path, engine: LocalEngine) -> dict[str, JSONValue]:
    rows = engine.sink(table.frame, path)
    return {"file": path.name, "rows": rows, "sha256": file_sha256(path)}


def _digest(content: Mapping[str, JSONValue]) -> str:
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", errors="surrogatepass")).hexdigest()


def _require_states(graph: Graph, states: Mapping[Node, State]) -> None:
    """Raise unless there is, for each operator that learns, what it learned."""
    for node in graph.order:
        inputs = graph.inputs(node)
        if node.operator.needs_fit(inputs):
            if node not in states:
                raise ArtifactError(f"what {node.operator!r} learned is missing")
            node.operator.check(states[node], inputs)
            if isinstance(node.operator, Categorify):
                _check_vocabularies(node.operator, states[node], inputs)


def _check_vocabularies(operator: Categorify, state: State, inputs: Schema) -> None:
    for name, (vocabulary, is_given) in operator.vocabularies(inputs).items():
        table = state.tables[name]
        check_vocabulary(
            table.frame,
            name,
            values=vocabulary.values,
            reserved=vocabulary.first,
            cardinality=table.rows,
            # A given vocabulary is kept as it is.
            limit=0 if is_given else vocabulary.limit,
        )


def _node_to_json(node: Node, number: Mapping[Node, int], graph: Graph) -> JSONValue:
    parents = [number[parent] for parent in node.parents]
    if isinstance(node, Selection):
        columns: list[JSONValue] = list(node.names)
        if node.units is not None:
            columns = [unit[0] if len(unit) == 1 else list(unit) for unit in node.units]
        return {"kind": "select", "columns": columns, "tags": list(node.tags)}
    if isinstance(node, Applied):
        return {
            "kind": "apply",
            "parents": parents,
            "operator": node.operator.name,
            "parameters": node.operator.saved_parameters(graph.inputs(node)),
        }
    if isinstance(node, Subtract | Subset):
        kind = "subtract" if isinstance(node, Subtract) else "subset"
        return {"kind": kind, "parents": parents, "columns": list(node.names)}
    return {"kind": "concat", "parents": parents}


def load_workflow(folder: Path) -> Workflow:
    """Read a workflow that `save_workflow` wrote, wherever the folder is now.

    Raises
    ------
    ArtifactError
        If a file is missing, altered or damaged, the format is of another version, or the file
        names an operator or parameter that does not exist.
    """
    from merlinkit.workflow.workflow import Workflow

    path = folder / WORKFLOW_FILE
    try:
        data = json.loads(
            path.read_text(encoding="utf-8"), parse_float=_finite, parse_constant=_finite
        )
    except FileNotFoundError:
        raise ArtifactError(f"no workflow in {folder}: {WORKFLOW_FILE} is missing") from None
    except NotADirectoryError:
        raise ArtifactError(f"{folder} is a file, the folder of a workflow expected") from None
    except (OSError, RecursionError, ValueError) as error:
        raise ArtifactError(f"{path} is damaged: {error}") from error
    found = data.get("format") if isinstance(data, dict) else None
    # True equals 1.
    if type(found) is not int or found != WORKFLOW_FORMAT:
        raise ArtifactError(
            f"{path} has format {found!r}, {WORKFLOW_FORMAT} expected; fit and save the workflow "
            "again with this version of merlinkit"
        )
    if data.pop(DIGEST, None) != _digest(data):
        raise ArtifactError(f"{path} was altered: its content is not what its checksum says")
    try:
        nodes: list[Node] = []
        for entry in data["nodes"]:
            nodes.append(_node_from_json(entry, nodes))
        states: dict[Node, State] = {}
        for key, entry in data["states"].items():
            node = nodes[int(key)] if key in map(str, range(len(nodes))) else None
            if not isinstance(node, Applied):
                raise ArtifactError(f"states has an entry for {key!r}, which is no operator")
            states[node] = _state_from_json(entry, folder / TABLES)
        workflow = Workflow._restored(
            _node_at(nodes, data["output"]),
            Schema.from_dict(data["data"]),
            states,
            _texts("removed", data["removed"]),
        )
        _require_states(workflow.graph(), states)
        return workflow
    except ArtifactError:
        raise
    except MerlinkitError as error:
        raise ArtifactError(f"{path}: {error}") from error
    except (
        pl.exceptions.PanicException,
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        RecursionError,
        TypeError,
        ValueError,
        pl.exceptions.PolarsError,
    ) as error:
        raise ArtifactError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _finite(text: str) -> float:
    """Return a number of JSON; what no float holds (1e999) and what is no JSON (NaN) is damage."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number


def _node_at(nodes: Sequence[Node], index: JSONValue) -> Node:
    # True is an index for Python, and negative ones count from the end.
    if type(index) is not int or not 0 <= index < len(nodes):
        raise ArtifactError(f"there is no node {index!r} among the {len(nodes)} before it")
    return nodes[index]


def _texts(key: str, value: JSONValue) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ArtifactError(f"{key} is {value!r}, a list of strings expected")
    return value


def _node_from_json(entry: Mapping[str, JSONValue], nodes: list[Node]) -> Node:
    kind = entry["kind"]
    if kind == "select":
        units = [
            unit if isinstance(unit, str) else tuple(_texts("columns", unit))
            for unit in _list("columns", entry["columns"])
        ]
        return Selection(units, _texts("tags", entry["tags"]))
    # Nodes come after their parents, so an index that is not there yet is damage.
    parents = [_node_at(nodes, index) for index in _list("parents", entry["parents"])]
    if kind == "concat":
        return Concat(parents)
    if kind not in ("apply", "subtract", "subset"):
        raise ArtifactError(f"unknown kind of node {kind!r}")
    # The second parent of an operator is what it needs besides, which it makes again itself.
    if not 1 <= len(parents) <= (2 if kind == "apply" else 1):
        raise ArtifactError(f"a node of kind {kind!r} has {len(parents)} parents, one expected")
    if kind == "apply":
        return Applied(parents[0], make_operator(entry["operator"], entry["parameters"]))
    columns = _texts("columns", entry["columns"])
    return Subtract(parents[0], columns) if kind == "subtract" else Subset(parents[0], columns)


def _list(key: str, value: JSONValue) -> list[JSONValue]:
    if not isinstance(value, list):
        raise ArtifactError(f"{key} is {value!r}, a list expected")
    return value


def _state_from_json(entry: Mapping[str, JSONValue], tables: Path) -> State:
    out: dict[str, Table] = {}
    for name, table in entry["tables"].items():
        file = table["file"]
        if not isinstance(file, str) or Path(file).name != file:
            raise ArtifactError(f"{tables.parent / WORKFLOW_FILE} names a file outside: {file!r}")
        path = tables / file
        if path.resolve().parent != tables.resolve():
            raise ArtifactError(f"{path} is a link to a file outside")
        if not path.is_file():
            raise ArtifactError(f"{path} is missing")
        if file_sha256(path) != table["sha256"]:
            raise ArtifactError(f"{path} was altered: its checksum is not the one in the workflow")
        frame = pl.scan_parquet(path, glob=False)
        rows = frame.select(pl.len()).collect().item()
        if type(table["rows"]) is not int or rows != table["rows"]:
            raise ArtifactError(f"{path} has {rows} rows, {table['rows']} expected")
        out[name] = Table(frame, rows)
    values = entry["values"]
    if not all(isinstance(row, dict) for rows in values.values() for row in _list("values", rows)):
        raise ArtifactError("values of a state are no lists of rows")
    return State(values, out)
