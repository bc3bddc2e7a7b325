"""Row-wise expressions from SQL text or Polars, checked, and saved as text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from merlinkit.errors import ArtifactError, ParameterError, SchemaError, did_you_mean
from merlinkit.ops.base import scratch
from merlinkit.schema import Schema

__all__ = ["SqlExpression"]

_JSON_MARK = "polars-json:"
"""Begins the saved form of an expression that was not given as SQL."""

_DEEPEST = 500
"""Levels of the serialized form, two to four for an operation; cuDF's planner takes 600 or so."""

_LONGEST = 2000
"""Signs and words of operations in SQL text; Polars' parser overflows its stack at 5000 or so."""

_INTERVAL = 30
"""Operations that the word INTERVAL counts besides: a chain of them overflows the stack sooner."""

_DEEPEST_LIST = 4
"""Square brackets within one another; Polars' parser takes time exponential in their number."""

_TOKEN = re.compile(r"""'[^']*'|"[^"]*"|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\w+|[^\w\s]""")
_OPERATING = frozenset(
    """and at between binary case cast collate date distinct div exists ilike in interval is like
    not or prior regexp rlike select similar time timestamp when xor""".split()  # noqa: SIM905
)
_HARMLESS = frozenset(",.;'\"")
_BRACKET_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')
_SPLIT = (
    "Split it: compute parts of it in Expressions of their own and combine their columns in another"
)

# What may stand in an expression. All of it looks at one row alone, so that a result cannot
# depend on how the data is cut into files, and none of it runs Python code.
_NODES = frozenset({"Alias", "BinaryExpr", "Cast", "Column", "Function", "Literal", "Ternary"})
_FUNCTIONS = frozenset(
    """Abs Boolean Cbrt Ceil Clip Coalesce Exp FillNull FillNan Floor Log Log1p MaxHorizontal
    MeanHorizontal MinHorizontal Negate Pow Round RoundSF Sign StringExpr SumHorizontal TemporalExpr
    Trigonometry""".split()  # noqa: SIM905
)
_VARIANTS = {
    "Boolean": frozenset(
        """AllHorizontal AnyHorizontal IsBetween IsClose IsFinite IsIn IsInfinite IsNan IsNotNan
        IsNotNull IsNull Not""".split()  # noqa: SIM905
    ),
    "StringExpr": frozenset(
        """ConcatHorizontal Contains CountMatches EndsWith Extract Find Head JsonPathMatch LenBytes
        LenChars Lowercase PadEnd PadStart Replace Slice StartsWith StripChars StripCharsEnd
        StripCharsStart StripPrefix StripSuffix Strptime Tail Titlecase ToInteger Uppercase
        ZFill""".split()  # noqa: SIM905
    ),
}
# Keys under which Polars keeps code, or an expression in a place where none is looked for.
_HIDING = ("Anonymous", "Python", "Plugin", "Ffi", "OfExpr", "SubPlan", "Eval")


@dataclass(frozen=True)
class SqlExpression:
    """An expression over the columns of one row.

    Parameters
    ----------
    expr
        The expression.
    saved
        Text from which it can be made again.
    shown
        Text for messages.
    """

    expr: pl.Expr
    saved: str
    shown: str

    @classmethod
    def of(
        cls, operator: str, parameter: str, given: str | pl.Expr | Callable[[], pl.Expr]
    ) -> SqlExpression:
        """Return the expression that a parameter stands for.

        Raises
        ------
        ParameterError
            If it does not parse, looks at other rows, runs Python code, or is too long or nested
            too deep: SQL text may have some 2,000 operations, some 125 to 250 of them within one
            another (``a + b + c`` is two) and square brackets 4, a Polars expression some 40 to 60.
        """
        where = f"{operator}: {parameter}"
        if isinstance(given, str):
            return cls._from_text(where, given)
        if callable(given):
            try:
                given = given()
            except Exception as error:
                raise ParameterError(
                    f"{where} is a function that failed: {error}. It is called once, without "
                    "arguments, and returns a polars.Expr such as pl.col('price') * 2; it does "
                    "not see rows"
                ) from error
        if not isinstance(given, pl.Expr):
            raise ParameterError(
                f"{where} is {type(given).__name__}, a SQL expression or a polars.Expr expected"
            )
        # Polars has no other form of an expression that can be inspected and read back.
        saved = given.meta.serialize(format="json")
        _check(where, _tree(where, saved))
        try:
            pl.Expr.deserialize(saved.encode(), format="json")
        except pl.exceptions.PolarsError:
            raise ParameterError(
                f"{where} is nested too deep: Polars saves it, but cannot read it back, as with "
                "more than about 40 operations within one another. Write it as SQL text, which may "
                f"have three times as many. {_SPLIT}"
            ) from None
        return cls(given, _JSON_MARK + saved, str(given))

    @classmethod
    def _from_text(cls, where: str, text: str) -> SqlExpression:
        if text.startswith(_JSON_MARK):
            saved = text.removeprefix(_JSON_MARK)
            try:
                # Looked through before Polars sees it: a crafted one could hold pickled code.
                _check(where, _tree(where, saved))
                expr = pl.Expr.deserialize(saved.encode(), format="json")
            except (
                AttributeError,
                IndexError,
                KeyError,
                ParameterError,
                RecursionError,
                TypeError,
                ValueError,
                pl.exceptions.PolarsError,
            ) as error:
                raise ArtifactError(f"{where}: not a saved expression: {error}") from error
            return cls(expr, text, str(expr))
        if _operations(text) > _LONGEST:
            raise ParameterError(
                f"{where} {text[:40]!r}... is too long: it has more than {_LONGEST:,} operations. "
                f"{_SPLIT}"
            )
        if _nested_lists(text) > _DEEPEST_LIST:
            raise ParameterError(
                f"{where} {text[:40]!r}... is nested too deep: at most {_DEEPEST_LIST} square "
                f"brackets may be within one another. {_SPLIT}"
            )
        try:
            expr = pl.sql_expr(text)
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0]
            raise ParameterError(
                f"{where} {text!r} is not a SQL expression: {reason}. Examples: "
                '"price * quantity", "rating >= 4", "CASE WHEN x > 0 THEN 1 ELSE 0 END"; '
                'quote unusual column names: "\\"my column\\" * 2"'
            ) from error
        _check(where, _tree(where, expr.meta.serialize(format="json")))
        return cls(expr, text, repr(text))

    def roots(self) -> list[str]:
        """Return the names of the columns it reads."""
        return list(dict.fromkeys(self.expr.meta.root_names()))

    def evaluate(self, frame: pl.LazyFrame, inputs: Schema, into: str) -> pl.LazyFrame:
        """Return the frame with the result as another column; NaN in the inputs is null.

        Parameters
        ----------
        frame
            Holds the inputs under their names.
        inputs
            The columns of the expression.
        into
            Name of the new column, which must not be one of the inputs.
        """
        floats = [
            name
            for name in self.roots()
            if inputs[name].dtype.is_float() and not inputs[name].is_list
        ]
        kept = {name: scratch(f"kept_{index}") for index, name in enumerate(floats)}
        frame = frame.with_columns(pl.col(name).alias(copy) for name, copy in kept.items())
        frame = frame.with_columns(pl.col(name).fill_nan(None) for name in floats)
        frame = frame.with_columns(self.expr.alias(into))
        frame = frame.with_columns(pl.col(copy).alias(name) for name, copy in kept.items())
        return frame.drop(kept.values())

    def dtype(self, inputs: Schema) -> pl.DataType:
        """Return the data type of its result over the given columns.

        Raises
        ------
        SchemaError
            If it reads a column that is not there, or its types do not fit together.
        """
        for name in self.roots():
            if name not in inputs:
                raise SchemaError(
                    f"expression {self.shown} uses column '{name}', which is not among its "
                    f"columns {', '.join(inputs.names)}.{did_you_mean(name, inputs.names)}"
                )
        frame = inputs.empty_frame().lazy().select(self.expr.alias("result"))
        try:
            # Some type errors only show when the plan runs; without rows that costs nothing.
            return frame.collect().schema["result"]
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0]
            raise SchemaError(
                f"expression {self.shown} does not fit its columns: {reason}"
            ) from error


def _operations(text: str) -> int:
    """Return how many operations SQL text may hold, signs of numbers in lists not counted."""
    count = 0
    before = ""
    for found in _TOKEN.finditer(text):
        piece = found.group()
        is_sign = piece in ("-", "+") and before in ("(", ",")
        is_mark = len(piece) == 1 and not (piece.isalnum() or piece == "_" or piece in _HARMLESS)
        count += (is_mark and not is_sign and piece != ")") or piece.lower() in _OPERATING
        if piece.lower() == "interval":
            count += _INTERVAL
        before = piece
    return count


def _nested_lists(text: str) -> int:
    """Return how many square brackets are at most within one another in SQL text."""
    depth = deepest = 0
    for found in _TOKEN.finditer(text):
        depth += {"[": 1, "]": -1}.get(found.group(), 0)
        deepest = max(deepest, depth)
    return deepest


def _tree(where: str, saved: str) -> Any:
    """Return a serialized expression as JSON values, unless it is nested too deep to handle."""
    depth = 0
    for found in _BRACKET_OR_STRING.finditer(saved):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found.group(), 0)
        if depth > _DEEPEST:
            raise ParameterError(
                f"{where} is nested too deep: at most about {_DEEPEST // 4} operations may be "
                f"within one another, and a + b + c is two. {_SPLIT}"
            )
    return json.loads(saved)


def _walk(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield each node of a serialized expression: its kind and what it holds."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        parts: list[Any] = []
        if isinstance(node, str):
            yield node, None
        elif isinstance(node, dict) and len(node) == 1:
            ((kind, body),) = node.items()
            yield kind, body
            if kind == "Alias":
                parts = [body[0]]
            elif kind == "BinaryExpr":
                parts = [body["left"], body["right"]]
            elif kind == "Cast":
                parts = [body["expr"]]
            elif kind == "Ternary":
                parts = [body[part] for part in ("predicate", "truthy", "falsy")]
            elif kind == "Function":
                parts = list(body["input"])
        else:
            yield "unknown", node
        waiting += reversed(parts)


def _keys(value: Any) -> Iterator[str]:
    """Yield every key at any depth, whether `_walk` goes there or not."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield from map(str, item)
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def _check(where: str, tree: Any) -> None:
    """Raise `ParameterError` unless everything in a serialized expression is allowed."""
    for key in _keys(tree):
        if key.startswith("Anonymous"):
            raise ParameterError(
                f"{where} runs a Python function row by row or batch by batch (map_elements, "
                "map_batches), which no engine can plan and cuDF cannot run; write it with Polars "
                "expressions"
            )
        if key.startswith(_HIDING):
            raise ParameterError(f"{where} uses {key}, which cannot be saved and checked")
    allowed_series: set[int] = set()
    for kind, body in _walk(tree):
        if kind not in _NODES:
            raise ParameterError(
                f"{where} uses {kind}, which looks at other rows than its own, so that its result "
                "would depend on how the data is cut; use an operator such as Normalize for that"
            )
        if kind == "Cast" and set(body["dtype"]) != {"Literal"}:
            raise ParameterError(f"{where} casts to a data type that is computed")
        if kind == "Function":
            _check_function(where, body["function"])
            if body["function"] == {"Boolean": {"IsIn": {"nulls_equal": False}}}:
                # The values of IN (...) are a series; anywhere else it would be a column.
                allowed_series |= {id(part) for part in body["input"][1:]}
            for part in body["input"]:
                if _is_series(part) and id(part) not in allowed_series:
                    raise ParameterError(f"{where} holds a series of values as a column")
        if kind in ("Alias", "BinaryExpr", "Cast", "Ternary"):
            parts = body if isinstance(body, list) else body.values()
            if any(_is_series(part) for part in parts):
                raise ParameterError(f"{where} holds a series of values as a column")
    if _is_series(tree):
        raise ParameterError(f"{where} holds a series of values as a column")


def _is_series(node: Any) -> bool:
    literal = node.get("Literal") if isinstance(node, dict) else None
    return isinstance(literal, dict) and "Series" in literal


def _check_function(where: str, function: Any) -> None:
    name = function if isinstance(function, str) else next(iter(function))
    variant: str = name
    options: Any = None
    if name in _VARIANTS:
        inner = function[name]
        variant = inner if isinstance(inner, str) else next(iter(inner))
        options = None if isinstance(inner, str) else inner[variant]
    if name not in _FUNCTIONS or (name in _VARIANTS and variant not in _VARIANTS[name]):
        raise ParameterError(
            f"{where} uses {variant}, which is not a function of one row's values that all "
            "engines have"
        )
    if variant == "Strptime" and options[1]["format"] is None:
        raise ParameterError(
            f"{where} reads a date or time from text without a format, which would be guessed "
            "from other rows; give one, or use DateTime"
        )
