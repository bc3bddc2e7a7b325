"""The graph of columns and operators: ``["a"] >> Op()``, ``node + node``, ``node - ["a"]``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence

from merlinkit.errors import ParameterError, SchemaError, did_you_mean
from merlinkit.ops.base import Inputs, Operator, State
from merlinkit.schema import Column, Schema

__all__ = [
    "Applied",
    "Concat",
    "Node",
    "Selectable",
    "Selection",
    "Source",
    "Subset",
    "Subtract",
    "as_node",
    "by_tags",
    "selected_names",
]

Source = tuple["Applied | None", str]
"""Where a column is made: the operator node, or None for the data itself, and its name there."""


class Node(ABC):
    """Columns at one point of a graph. Nodes are never changed; each expression makes new ones."""

    parents: tuple[Node, ...] = ()

    units: tuple[tuple[str, ...], ...] | None = None
    """Columns and groups of columns, each as a tuple; None where there is no group."""

    def __rshift__(self, operator: Operator) -> Applied:
        """Apply an operator to all columns of the node."""
        if isinstance(operator, type) and issubclass(operator, Operator):
            raise ParameterError(f"write {operator.__name__}(), with parentheses, after >>")
        if not isinstance(operator, Operator):
            raise ParameterError(
                f"{operator!r} follows >>, an operator such as Categorify() expected"
            )
        return Applied(self, operator)

    def __add__(self, other: Selectable) -> Concat:
        """Put the columns of both side by side."""
        return Concat((self, as_node(other)))

    def __radd__(self, other: Selectable) -> Concat:
        return Concat((as_node(other), self))

    def __sub__(self, names: str | Iterable[str]) -> Subtract:
        """Leave the named columns out."""
        return Subtract(self, _names(names))

    def __getitem__(self, names: str | Iterable[str]) -> Subset:
        """Keep the named columns, in that order."""
        return Subset(self, _names(names))

    @abstractmethod
    def resolve(self, inputs: Sequence[Schema], state: State | None) -> Schema:
        """Return the columns of the node, given those of its parents."""

    @abstractmethod
    def locate(self, name: str, schemas: Mapping[Node, Schema]) -> Source:
        """Return where a column of the node is made."""

    def ancestors(self) -> Iterator[Node]:
        """Yield every node this one is made from and then itself, parents before children."""
        seen: set[int] = set()
        stack: list[tuple[Node, bool]] = [(self, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                yield node
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((parent, False) for parent in reversed(node.parents))


Selectable = Node | str | Sequence["str | Node | Sequence[str]"]


class Selection(Node):
    """Columns of the data, by name or by tag.

    Parameters
    ----------
    names
        Names of columns; a tuple of names is a group. A column may be in several groups.
    tags
        Columns that carry one of these tags are selected as well.
    """

    def __init__(
        self, names: Sequence[str | tuple[str, ...]] = (), tags: Sequence[str] = ()
    ) -> None:
        units = tuple((name,) if isinstance(name, str) else tuple(name) for name in names)
        if any(len(unit) > 1 for unit in units):
            self.units = units
        self.names = tuple(dict.fromkeys(name for unit in units for name in unit))
        self.tags = tuple(str(tag) for tag in tags)

    def resolve(self, inputs: Sequence[Schema], state: State | None) -> Schema:
        """Return the selected columns of the data, whose schema is the only input."""
        (data,) = inputs
        chosen = data.select(self.names)
        if self.tags:
            tagged = data.by_tag(*self.tags)
            if not len(tagged):
                present = sorted({tag for column in data for tag in column.tags})
                raise SchemaError(
                    f"no column has the tag {' or '.join(map(repr, self.tags))}."
                    f"{did_you_mean(self.tags[0], present)} Tags there are: "
                    f"{', '.join(present) or 'none'}."
                )
            chosen = chosen.merge(tagged)
        return chosen

    def locate(self, name: str, schemas: Mapping[Node, Schema]) -> Source:
        """Return the data itself."""
        return None, name

    def __repr__(self) -> str:
        if self.tags:
            return f"by_tags({', '.join(self.tags)})"
        if self.units is None:
            return str(list(self.names))
        return str([unit[0] if len(unit) == 1 else list(unit) for unit in self.units])


class _Needed(Selection):
    """Columns of the data that an operator reads besides its own, as far as they are there.

    One that is not may be among the operator's own columns.
    """

    def resolve(self, inputs: Sequence[Schema], state: State | None) -> Schema:
        """Return those of the columns that the data has."""
        (data,) = inputs
        return data.select(name for name in self.names if name in data)


class Applied(Node):
    """An operator applied to a node, and to the columns of the data that it needs besides."""

    def __init__(self, parent: Node, operator: Operator) -> None:
        needed = operator.dependencies()
        self.parents = (parent, _Needed(needed)) if needed else (parent,)
        self.operator = operator if parent.units is None else operator.on_groups(parent.units)

    def inputs(self, schemas: Mapping[Node, Schema]) -> Schema:
        """Return the columns that go in: those of the node, then those needed besides."""
        return self._merged([schemas[parent] for parent in self.parents])

    def _merged(self, schemas: Sequence[Schema]) -> Schema:
        applied = schemas[0]
        if len(schemas) == 1:
            return applied
        besides = Schema(column for column in schemas[-1] if column.name not in applied)
        return Inputs(applied, besides)

    def resolve(self, inputs: Sequence[Schema], state: State | None) -> Schema:
        """Return what the operator makes."""
        return Schema(self.operator.output_schema(self._merged(inputs), state))

    def require_needed(self, data: Schema, schemas: Mapping[Node, Schema]) -> None:
        """Raise `SchemaError` unless what the operator needs besides is somewhere."""
        applied = schemas[self.parents[0]]
        for name in self.operator.dependencies():
            if name not in applied and name not in data:
                known = [*applied.names, *data.names]
                raise SchemaError(
                    f"{self.operator.name}: column '{name}', which it needs, is neither in the "
                    f"data nor among its columns.{did_you_mean(name, known)}"
                )

    def locate_input(self, name: str, schemas: Mapping[Node, Schema]) -> Source:
        """Return where a column that goes in is made."""
        parent = next(parent for parent in self.parents if name in schemas[parent])
        return parent.locate(name, schemas)

    def locate(self, name: str, schemas: Mapping[Node, Schema]) -> Source:
        """Return this node."""
        return self, name

    def __repr__(self) -> str:
        return f"{self.parents[0]!r} >> {self.operator!r}"


class Concat(Node):
    """The columns of several nodes side by side."""

    def __init__(self, parents: Sequence[Node]) -> None:
        self.parents = tuple(parents)
        if any(parent.units is not None for parent in self.parents):
            self.units = tuple(unit for parent in self.parents for unit in _units_of(parent))

    def resolve(self, inputs: Sequence[Schema], state: State | None) -> Schema:
        """Return all columns; two of the same name are an error."""
        columns: list[Column] = []
        owner: dict[str, Node] = {}
        for parent, schema in zip(self.parents, inputs, strict=True):
            for column in schema:
                if column.name in owner:
                    if self.units is not None:
                        continue
                    raise SchemaError(
                        f"two outputs are named '{column.name}': {owner[column.name]!r} and "
                        f"{parent!r}; rename one with Rename, or leave it out with - "
                        f"['{column.name}']"
                    )
                owner[column.name] = parent
                columns.append(column)
        return Schema(columns)

    def locate(self, name: str, schemas: Mapping[Node, Schema]) -> Source:
        """Return where the parent that has the column makes it."""
        parent = next(parent for parent in self.parents if name in schemas[parent])
        return parent.locate(name, schemas)

    def __repr__(self) -> str:
        return " + ".join(f"({parent!r})" for parent in self.parents)


class Subtract(Node):
    """A node without some of its columns."""

    def __init__(self, parent: Node, names: Sequence[str]) -> None:
        _require_no_groups(parent, "-")
        self.parents = (parent,)
        self.names = tuple(names)

    def resolve(self, inputs: Sequence[Schema], state: State | None) -> Schema:
        """Return the other columns; a name that is not there is an error."""
        inputs[0].select(self.names)
        return inputs[0].without(self.names)

    def locate(self, name: str, schemas: Mapping[Node, Schema]) -> Source:
        """Return where the parent makes it."""
        return self.parents[0].locate(name, schemas)

    def __repr__(self) -> str:
        return f"({self.parents[0]!r}) - {list(self.names)}"


class Subset(Node):
    """Some columns of a node."""

    def __init__(self, parent: Node, names: Sequence[str]) -> None:
        _require_no_groups(parent, "[...]")
        self.parents = (parent,)
        self.names = tuple(names)

    def resolve(self, inputs: Sequence[Schema], state: State | None) -> Schema:
        """Return the named columns."""
        return inputs[0].select(self.names)

    def locate(self, name: str, schemas: Mapping[Node, Schema]) -> Source:
        """Return where the parent makes it."""
        return self.parents[0].locate(name, schemas)

    def __repr__(self) -> str:
        return f"({self.parents[0]!r})[{list(self.names)}]"


def as_node(selection: Selectable) -> Node:
    """Return the node that a name, a list of names and nodes, or a node stands for."""
    if isinstance(selection, Node):
        return selection
    if isinstance(selection, str):
        return Selection([selection])
    if not isinstance(selection, Sequence):
        raise ParameterError(f"{selection!r} selects no columns; a name or a list of names does")
    if not selection:
        raise ParameterError("an empty list selects no columns")
    # Callers without type checks may hand over anything.
    items: Sequence[object] = selection
    if not any(isinstance(item, Node) for item in items):
        return Selection(_names_and_groups(items))
    return Concat([item if isinstance(item, Node) else as_node([item]) for item in selection])


def _names_and_groups(items: Sequence[object]) -> list[str | tuple[str, ...]]:
    units: list[str | tuple[str, ...]] = []
    for item in items:
        if isinstance(item, str):
            (unit,) = _names(item)
            units.append(unit)
        elif isinstance(item, list | tuple) and item:
            group = tuple(_names(item))
            units.append(group if len(group) > 1 else group[0])
        else:
            raise ParameterError(
                f"{item!r} in a selection, a column name, a node or a list of names (a group) "
                "expected"
            )
    for item in units:
        if units.count(item) > 1:
            what = f"column '{item}'" if isinstance(item, str) else f"group {list(item)}"
            raise ParameterError(f"{what} is selected twice")
    return units


def _units_of(node: Node) -> tuple[tuple[str, ...], ...]:
    """Return the columns and groups of a node that stands beside groups."""
    if node.units is not None:
        return node.units
    if isinstance(node, Selection) and not node.tags:
        return tuple((name,) for name in node.names)
    raise ParameterError(
        f"{node!r} stands beside a group of columns; only names of columns can, since a group "
        "is of columns of the data"
    )


def _require_no_groups(node: Node, sign: str) -> None:
    if node.units is not None:
        raise ParameterError(
            f"{sign} cannot be applied to groups of columns, as in {node!r}; apply an operator "
            "first, or leave the columns out of the list"
        )


def selected_names(node: Node) -> list[str] | None:
    """Return the columns of the data that a graph names; None if it selects some by tags."""
    selections = [each for each in node.ancestors() if isinstance(each, Selection)]
    if any(selection.tags for selection in selections):
        return None
    return list(dict.fromkeys(name for selection in selections for name in selection.names))


def by_tags(*tags: str | Sequence[str]) -> Selection:
    """Select the columns of the data that carry at least one of the tags.

    Examples
    --------
    >>> by_tags("categorical")
    by_tags(categorical)
    """
    flat = [tag for item in tags for tag in ([item] if isinstance(item, str) else item)]
    if not flat:
        raise ParameterError("by_tags needs at least one tag")
    return Selection(tags=flat)


def _names(names: str | Iterable[str]) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    for name in listed:
        if not isinstance(name, str) or not name:
            raise ParameterError(f"{name!r} is not a column name")
    for name in listed:
        if listed.count(name) > 1:
            raise ParameterError(f"column '{name}' is selected twice")
    return listed
