"""The graph of features from its form in YAML."""

from __future__ import annotations

from typing import Any

from merlinkit.errors import MerlinkitError, did_you_mean
from merlinkit.ops import make_operator
from merlinkit.workflow.graph import Concat, Node, as_node, by_tags

__all__ = ["features_graph"]

_ENTRY_KEYS = ("columns", "tags", "ops")


def features_graph(entries: Any, problems: list[str]) -> Node | None:
    """Return the graph that the ``features`` section describes, or None if it has problems.

    Parameters
    ----------
    entries
        A list; each entry names ``columns`` or ``tags`` and the ``ops`` that are applied to them
        one after the other, each as ``{op: Name, parameter: value}`` or just ``Name``.
    problems
        Where problems are added, each with the key it is about.
    """
    if not isinstance(entries, list):
        problems.append(f"features: {entries!r} found, a list of entries expected")
        return None
    if not entries:
        problems.append(
            "features: the list is empty; say which columns to use and how, for example "
            "features=my_features with conf/features/my_features.yaml, see docs/configuration.md"
        )
        return None
    nodes = [_entry(f"features[{index}]", entry, problems) for index, entry in enumerate(entries)]
    ready = [node for node in nodes if node is not None]
    if len(ready) < len(nodes):
        return None
    return ready[0] if len(ready) == 1 else Concat(ready)


def _entry(key: str, entry: Any, problems: list[str]) -> Node | None:
    if not isinstance(entry, dict):
        problems.append(f"{key}: {entry!r} found, a mapping with columns and ops expected")
        return None
    for name in entry:
        if name not in _ENTRY_KEYS:
            problems.append(
                f"{key}.{name} is not a setting.{did_you_mean(str(name), _ENTRY_KEYS)} "
                "An entry has columns or tags, and ops."
            )
    node: Node | None = None
    if ("columns" in entry) == ("tags" in entry):
        problems.append(f"{key}: give either columns or tags")
    else:
        try:
            node = as_node(entry["columns"]) if "columns" in entry else by_tags(entry["tags"])
        except (MerlinkitError, TypeError) as error:
            problems.append(f"{key}: {error}")
    steps = entry.get("ops") or []
    if not isinstance(steps, list):
        problems.append(f"{key}.ops: {steps!r} found, a list of operators expected")
        return None
    complete = True
    for index, step in enumerate(steps):
        where = f"{key}.ops[{index}]"
        described = {"op": step} if isinstance(step, str) else step
        if not isinstance(described, dict) or not isinstance(described.get("op"), str):
            problems.append(
                f"{where}: {step!r} found, an operator expected: 'Name' or {{op: Name, "
                "parameter: value}"
            )
            complete = False
            continue
        parameters = {str(name): value for name, value in described.items() if name != "op"}
        try:
            operator = make_operator(described["op"], parameters)
        except MerlinkitError as error:
            problems.append(f"{where}: {error}")
            complete = False
            continue
        if node is not None:
            node = node >> operator
    return node if complete else None
