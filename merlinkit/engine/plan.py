"""Proof, without a GPU, that a plan runs on cuDF and stays in many partitions while it does.

cudf-polars runs a plan on the GPU in three steps: it takes the plan that Polars optimised,
translates it to nodes of its own, and lowers these to partitions. None of the steps touches a
device, so this module takes them too and looks at what comes out.

* **Unsupported**: one node that does not translate sends the whole query to the CPU. So does,
  for us, one that translates to something else than was asked for: a few options are accepted by
  cudf-polars and then ignored, and a few expressions are evaluated partition by partition
  although they need all rows. `_Watch` and `_partitionwise` hold the known ones.
* **Fallbacks**: a node that cannot work partition by partition first gathers its whole input into
  one partition. cudf-polars inserts a ``Repartition`` node there, and usually warns; the node is
  what is looked for here, so that a gather without a warning is found as well. A ``Repartition``
  to one partition is no fallback where what it gathers is already reduced to a size that does not
  grow with the rows: the first rows of each partition (``head``), or a select of nothing but
  aggregates, which is one row a partition. Grouped results do grow with the data, and no reduction
  of cudf-polars gathers them at this stage (it decides about those when it runs), so a gather of
  grouped rows counts.
* **Vacuous proofs** are refused: at least one frame that the plan reads must be split.

Differences that depend on values are out of sight: on cuDF a strict cast to a narrower type wraps
where Polars raises, NaN is neither equal to nor above anything, ``log1p(x)`` is computed as
``log(1 + x)``, ``hash`` has other values, and joins keep no order.

All private names of cudf-polars that merlinkit uses live in this file, and `PRIVATE_NAMES` lists
them; a release of it that was not checked is refused.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import polars as pl

from merlinkit.errors import PlanError

__all__ = ["PlanProof", "is_available", "prove", "require_cudf_polars"]

CHECKED_RELEASES = ("26.10.",)

# Each private name that is used here, with the parameters or fields of it that are.
PRIVATE_NAMES = """
cudf_polars.containers:DataType(polars_dtype)
cudf_polars.dsl.expr:Agg(name)
cudf_polars.dsl.expr:Col(name)
cudf_polars.dsl.expr:Len()
cudf_polars.dsl.expr:Literal()
cudf_polars.dsl.expr:NamedExpr(name, value)
cudf_polars.dsl.expr:SortedAgg(options)
cudf_polars.dsl.expr:UnaryFunction(name, options)
cudf_polars.dsl.expressions.base:Expr.is_pointwise()
cudf_polars.dsl.ir:DataFrameScan(schema)
cudf_polars.dsl.ir:Distinct(keep, stable)
cudf_polars.dsl.ir:Distinct._KEEP_MAP()
cudf_polars.dsl.ir:GroupBy(agg_requests, maintain_order)
cudf_polars.dsl.ir:MapFunction(name)
cudf_polars.dsl.ir:Select(exprs)
cudf_polars.dsl.ir:Slice(offset, length)
cudf_polars.dsl.nodebase:Node._non_child()
cudf_polars.dsl.translate:Translator(visitor, engine)
cudf_polars.dsl.translate:Translator.translate_expr(n, schema, allow_array_passthrough)
cudf_polars.dsl.translate:Translator.translate_ir(n)
cudf_polars.dsl.traversal:post_traversal(nodes)
cudf_polars.dsl.traversal:traversal(nodes)
cudf_polars.streaming.base:PartitionInfo(count)
cudf_polars.streaming.parallel:LoweringInfo(lowered, partition_info)
cudf_polars.streaming.parallel:lower_ir_graph(ir, config_options, stats)
cudf_polars.streaming.repartition:Repartition(df)
cudf_polars.streaming.statistics:collect_statistics(root, config_options, executor)
cudf_polars.utils.config:ConfigOptions.from_polars_engine(engine)
cudf_polars.utils.config:DynamicPlanningOptions(sample_chunk_count)
cudf_polars.utils.config:StreamingExecutor(cluster, dynamic_planning, fallback_mode)
cudf_polars.utils.config:StreamingExecutor(join_filter_pushdown, max_rows_per_partition)
cudf_polars.utils.config:StreamingExecutor(min_device_size)
polars._plr:PyLazyFrame.visit()
polars._plr:PyLazyFrame.with_optimizations(optflags)
"""

# What users write, for the nodes whose names differ from it.
_VERBS = {
    "ConditionalJoin": "join_where",
    "DataFrameScan": "a frame",
    "Distinct": "unique",
    "GroupBy": "group_by",
    "HConcat": "horizontal concat",
    "HStack": "with_columns",
    "MergeSorted": "merge_sorted",
    "SimpleProjection": "select",
    "Union": "concat",
}
_SCANS = ("Scan", "PythonScan")
# Where a list of literals is a set to look in, not a column beside the others.
_LOOK_IN = (
    "BooleanFunction.IsIn",
    "StringFunction.ContainsAny",
    "StringFunction.ReplaceMany",
    "replace",
    "replace_strict",
    "search_sorted",
)
_ZONE_SAFE = ("CastTimeUnit", "ConvertTimeZone", "ReplaceTimeZone", "TimeStamp", "WithTimeUnit")
# A join's check of its keys is not part of the plan that an engine receives; the serialized plan
# has it, in MessagePack: 0xaa and 0xa8..0xa9 are the lengths of the strings that follow.
_VALIDATED_JOIN = re.compile(rb"\xaavalidation[\xa8-\xa9](OneToOne|OneToMany|ManyToOne)")


@dataclass(frozen=True)
class PlanProof:
    """What became of a plan on its way to cuDF.

    Parameters
    ----------
    unsupported
        One sentence for each thing that does not translate to cuDF, or would be executed as
        something else than was asked for.
    fallbacks
        One sentence for each place where the streaming executor gathers rows into one partition.
    partitions
        Partitions of the result; 0 for a plan that does not translate.
    nodes
        Nodes of the translated plan.
    notes
        One sentence for each thing worth knowing that does not count against the plan: results
        that are one partition however many groups they have, and frames too small to be split.

    Examples
    --------
    >>> PlanProof(unsupported=(), fallbacks=(), partitions=10, nodes=2).ok
    True
    >>> PlanProof(unsupported=(), fallbacks=("row_index gathers",), partitions=1, nodes=2).ok
    False
    """

    unsupported: tuple[str, ...]
    fallbacks: tuple[str, ...]
    partitions: int
    nodes: int
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the plan runs on cuDF, as it was meant, in many partitions."""
        return not self.unsupported and not self.fallbacks


def require_cudf_polars() -> None:
    """Raise unless a release of cudf-polars that was checked is installed.

    Raises
    ------
    PlanError
        If cudf-polars is absent, cannot be imported, or is of another release.
    """
    if importlib.util.find_spec("cudf_polars") is None:
        raise PlanError(
            "plans are proved with cudf-polars, which is not installed; it needs no GPU for "
            "that: pip install 'merlinkit[plan]'"
        )
    try:
        found: str = importlib.import_module("cudf_polars").__version__
    except (ImportError, OSError, RuntimeError) as error:
        # Of RuntimeError is what it says of a library of CUDA that is not there.
        raise PlanError(
            f"cudf-polars is installed and cannot be imported: {error}; "
            "install the releases that fit each other: pip install 'merlinkit[plan]'"
        ) from error
    if not found.startswith(CHECKED_RELEASES):
        checked = " and ".join(f"{release}*" for release in CHECKED_RELEASES)
        raise PlanError(
            f"cudf-polars {found} found, {checked} was checked; its internals move between "
            "releases: pip install 'merlinkit[plan]'"
        )
    if moved := _moved_names():
        raise PlanError(f"cudf-polars {found} differs from what was checked: " + "; ".join(moved))


def is_available() -> bool:
    """Return whether plans can be proved here. Imports cudf-polars where it is installed."""
    try:
        require_cudf_polars()
    except PlanError:
        return False
    return True


def prove(
    plan: pl.LazyFrame, *, max_rows_per_partition: int = 100, streams: bool = True
) -> PlanProof:
    """Translate a plan to cuDF and lower it to partitions; nothing is executed.

    Parameters
    ----------
    plan
        A plan over in-memory frames. Frames of more than `max_rows_per_partition` rows stand for
        data of any size, smaller ones for tables that are small in earnest.
    max_rows_per_partition
        Rows of a partition.
    streams
        Whether the plan is meant to run in many partitions. False proves the translation of a
        plan over small tables, and frames of any size will do.

    Returns
    -------
    PlanProof
        What would not run on cuDF, and what would gather the data into one partition.

    Raises
    ------
    PlanError
        If cudf-polars is missing or unchecked, if the plan reads files, or if it is meant to
        stream and no frame that it reads is large enough to be split, which would prove nothing.

    Notes
    -----
    The plan is the one that ``collect`` hands to the GPU engine: optimised, with the default
    flags. A ``head`` right after a frame is applied to the frame by the optimiser, so that such
    a frame counts as small.

    Examples
    --------
    >>> frame = pl.LazyFrame({"user": list(range(1000))})
    >>> prove(frame.with_row_index()).fallbacks  # doctest: +SKIP
    ('row_index gathers 10 partitions into one (row_index is not supported for multiple ...',)
    """
    if max_rows_per_partition < 1:
        raise PlanError(f"max_rows_per_partition {max_rows_per_partition} is below 1")
    require_cudf_polars()
    engine = pl.GPUEngine(
        executor="streaming",
        raise_on_fail=True,
        executor_options={
            "cluster": "default_singleton",
            # As by default. Without it, partial results are gathered when lowering.
            "dynamic_planning": {"sample_chunk_count": 2},
            "fallback_mode": "warn",
            "join_filter_pushdown": None,
            "max_rows_per_partition": max_rows_per_partition,
            # Given, so that no device is asked for its size, and that the size is not cached.
            "min_device_size": 16 * 2**30,
        },
    )
    root, watch, errors = _translate(plan, engine)
    if watch.scans:
        raise PlanError(
            f"the plan reads files ({', '.join(sorted(watch.scans))}), and cudf-polars reads "
            "them with the GPU driver already while planning; prove the same plan over an "
            f"in-memory frame of the same schema and {10 * max_rows_per_partition} rows"
        )
    from cudf_polars.dsl.traversal import traversal

    nodes = sum(1 for _ in traversal([root]))
    unsupported = [*errors, *watch.differences, *_validated_joins(plan)]
    if errors:
        return PlanProof(tuple(dict.fromkeys(unsupported)), (), 0, nodes)
    try:
        lowered, partitions, reasons = _lower(root, engine)
    except Exception as error:  # Whatever it is that another library raises, the plan won't run.
        unsupported.append(f"the plan cannot be lowered to partitions: {_sentence(error)}")
        return PlanProof(tuple(dict.fromkeys(unsupported)), (), 0, nodes)
    notes = _check_sources(lowered, partitions, max_rows_per_partition) if streams else []
    unsupported += _partitionwise(lowered, partitions)
    return PlanProof(
        unsupported=tuple(dict.fromkeys(unsupported)),
        fallbacks=tuple(_gathers(lowered, partitions, reasons)),
        partitions=partitions[lowered].count,
        nodes=nodes,
        notes=tuple(dict.fromkeys([*notes, *_ordered_reductions(lowered, partitions)])),
    )


# -- translating ------------------------------------------------------------------------------


class _Watch:
    """Stands between Polars' view of a plan and cudf-polars' translator, and looks over both.

    It knows what is being translated, so that errors can say where they are, and it finds the
    options that cudf-polars accepts and ignores.
    """

    def __init__(self, traverser: Any) -> None:
        self._traverser = traverser
        self._verbs: dict[int, str] = {}
        self._roots: dict[int, str] = {}
        self._sets: set[int] = set()
        self._schema: dict[str, pl.DataType] = {}
        self.root: str | None = None
        self.scans: set[str] = set()
        self.differences: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._traverser, name)

    def get_schema(self) -> dict[str, pl.DataType]:
        """Return the columns of the current node."""
        self._schema = self._traverser.get_schema()
        return self._schema

    def view_current_node(self) -> Any:
        """Return the current node of the plan."""
        node = self._traverser.view_current_node()
        kind = type(node).__name__
        verb = node.function[0] if kind == "MapFunction" else _verb(kind)
        self._verbs[self._traverser.get_node()] = verb
        if kind in _SCANS:
            scan_type = getattr(node, "scan_type", ("Python source",))
            self.scans.add(f"scan of {scan_type[0]}")
        for attribute in ("expr", "exprs", "keys", "aggs", "left_on", "right_on", "by_column"):
            for named in getattr(node, attribute, ()):
                name = named.output_name
                shared = name.startswith("__POLARS_CSER")  # As Polars names what it computes once.
                self._roots[named.node] = (
                    "an expression that is used twice" if shared else f"{verb} of '{name}'"
                )
        if kind == "Filter":
            self._roots[node.predicate.node] = "filter"
        self._check_node(kind, node)
        return node

    def view_expression(self, n: int) -> Any:
        """Return an expression of the current node."""
        self.root = self._roots.get(n, self.root)
        node = self._traverser.view_expression(n)
        match type(node).__name__:
            case "Function":
                self._check_function(n, str(node.function_data[0]), node)
            case "Cast":
                self._check_cast(n, node)
            case "Literal":
                if isinstance(node.value, _polars_series()) and n not in self._sets:
                    self._differs(
                        "a series of its own length",
                        "be put beside each partition as a whole; join it by a key instead",
                    )
        return node

    def node(self, n: int) -> str:
        """Return what users call a node, or the columns for which it could not be viewed."""
        if n in self._verbs:
            return self._verbs[n]
        names = [name for name, dtype in self._schema.items() if not _has_cudf_dtype(dtype)]
        return f"column {_quoted(names)}" if names else "the plan"

    def _differs(self, what: str, how: str) -> None:
        self.differences.append(f"{self.root or 'the plan'}: {what} would {how}")

    def _check_node(self, kind: str, node: Any) -> None:
        if kind == "MapFunction" and node.function[0] == "explode":
            _, columns, *options = node.function
            if options and not options[0]:
                self.differences.append(
                    f"explode of {_quoted(columns)} with empty_as_null=False would be executed as "
                    "empty_as_null=True: an empty list gives a row with a null"
                )
        elif kind == "HConcat":
            self.differences.append(
                "horizontal concat would be executed within each partition, which pairs other "
                "rows once one side was filtered; join by a key instead"
            )
        elif kind == "Sink":
            written = json.loads(node.payload).get("File", {}).get("file_format", {})
            parquet = written.get("Parquet", {}) if isinstance(written, dict) else {}
            ignored = [key for key in ("key_value_metadata", "arrow_schema") if parquet.get(key)]
            if ignored:
                self.differences.append(
                    f"sink_parquet: {' and '.join(ignored)} would be left out of the file"
                )

    def _check_function(self, n: int, name: str, node: Any) -> None:
        options = node.function_data[1:]
        dtype_of = self._traverser.get_dtype
        if name in _LOOK_IN:
            self._sets.update(node.input if name == "search_sorted" else node.input[1:])
        if name == "BooleanFunction.IsIn":
            if options[0]:
                self._differs(
                    "is_in with nulls_equal=True",
                    "give null for null; write is_in(...) | is_null()",
                )
            if isinstance(dtype_of(node.input[1]), pl.List) and not self._is_constant(
                node.input[1]
            ):
                self._differs(
                    "is_in a list column",
                    "look in the lists of all rows at once; explode and join instead",
                )
        elif name == "StringFunction.Strptime":
            if options[0] is None:
                self._differs(
                    "parsing times without a format",
                    "infer it from the first value of each partition; give a format",
                )
            self._check_zone(
                "parsing",
                dtype_of(n),
                "read it as UTC; parse without a zone, then use dt.replace_time_zone",
            )
        elif name == "StringFunction.ConcatHorizontal":
            for dtype in {dtype_of(each) for each in node.input}:
                self._check_text(dtype)
        elif name.startswith("TemporalFunction.") and not name.endswith(_ZONE_SAFE):
            self._check_zone(
                name.partition(".")[2].lower(),
                dtype_of(node.input[0]),
                "be computed in UTC; use dt.replace_time_zone(None) first, which keeps the "
                "local time",
            )

    def _check_zone(self, what: str, dtype: pl.DataType, how: str) -> None:
        zone = getattr(dtype, "time_zone", None)
        if zone not in (None, "UTC"):
            self._differs(f"{what} of a time in zone {zone}", how)

    def _check_text(self, dtype: pl.DataType) -> None:
        if dtype.is_float():
            self._differs(
                f"{dtype} as String",
                "have at most ten digits; use integers, or hash the bits",
            )

    def _check_cast(self, n: int, node: Any) -> None:
        if n in self._sets:
            self._sets.add(node.expr)
        if type(self._view(node.expr)).__name__ == "Literal":
            return
        source, target = self._traverser.get_dtype(node.expr), self._traverser.get_dtype(n)
        if target == pl.String:
            self._check_text(source)
        # 0 raises for what does not fit, 1 gives null, 2 wraps.
        if node.options != 1:
            return
        if source == pl.String and target.is_integer() and target != pl.Int64:
            self._differs(
                f"cast of String to {target} with strict=False",
                "wrap numbers that do not fit; use str.to_integer(dtype=..., strict=False)",
            )
        elif not _fits(source, target):
            self._differs(
                f"cast of {source} to {target} with strict=False",
                "wrap values that do not fit; test the range first",
            )

    def _view(self, n: int) -> Any:
        return self._traverser.view_expression(n)

    def _is_constant(self, n: int) -> bool:
        node = self._view(n)
        kind = type(node).__name__
        if kind == "Cast":
            return self._is_constant(node.expr)
        return kind == "Literal" or (kind == "Agg" and node.name == "implode")


def _translate(plan: pl.LazyFrame, engine: pl.GPUEngine) -> tuple[Any, _Watch, list[str]]:
    """Return the translated plan, what was seen on the way, and the errors as sentences."""
    from cudf_polars.dsl.translate import Translator

    # What `collect` does: the default flags, then the engine sees the optimised plan.
    flags = pl.QueryOptFlags()._pyoptflags
    watch = _Watch(plan._ldf.with_optimizations(flags).visit())
    translator: Any = Translator(watch, engine)
    translate_ir, translate_expr = translator.translate_ir, translator.translate_expr
    located: list[str] = []

    def locate(where: str) -> None:
        # The innermost call comes first and takes the errors that are new.
        for error in translator.errors[len(located) :]:
            located.append(f"{where} does not translate to cuDF: {_sentence(error)}")

    def translate_ir_located(*, n: int | None = None) -> Any:
        node = watch.get_node() if n is None else n
        result = translate_ir(n=n)
        locate(watch.node(node))
        watch.root = None
        return result

    def translate_expr_located(
        *, n: int, schema: Any, allow_array_passthrough: bool = False
    ) -> Any:
        result = translate_expr(n=n, schema=schema, allow_array_passthrough=allow_array_passthrough)
        locate(watch.root or "the plan")
        return result

    # On this one object: its own recursion goes through its attributes.
    translator.translate_ir = translate_ir_located
    translator.translate_expr = translate_expr_located
    try:
        root = translator.translate_ir()
    except NotImplementedError as error:
        raise PlanError(f"cudf-polars does not fit this Polars release: {error}") from error
    # What contains an untranslated expression often fails in turn, with nothing to add.
    own = [line for line in located if "ErrorExpr" not in line]
    return root, watch, own or located


def _validated_joins(plan: pl.LazyFrame) -> list[str]:
    try:
        serialized = plan.serialize()
    except (pl.exceptions.PolarsError, TypeError, ValueError):
        return []  # A plan with a Python function, which does not translate either.
    checks = {match.decode() for match in _VALIDATED_JOIN.findall(serialized)}
    return [
        f"join with validate={check} would be executed without the check; count the keys instead"
        for check in sorted(checks)
    ]


# -- lowering ---------------------------------------------------------------------------------


def _lower(root: Any, engine: pl.GPUEngine) -> tuple[Any, Any, list[str]]:
    """Return the lowered plan, the partitions of each node, and the fallback warnings."""
    from cudf_polars.streaming.parallel import lower_ir_graph
    from cudf_polars.streaming.statistics import collect_statistics
    from cudf_polars.utils.config import ConfigOptions

    config: Any = ConfigOptions.from_polars_engine(engine)
    with ThreadPoolExecutor(max_workers=1) as executor:
        stats = collect_statistics(root, config, executor)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        info = lower_ir_graph(root, config, stats)
    return info.lowered, info.partition_info, [_sentence(each.message) for each in caught]


def _check_sources(lowered: Any, partitions: Any, rows: int) -> list[str]:
    """Return a note for each frame that is not split; raise if none is."""
    from cudf_polars.dsl.ir import DataFrameScan
    from cudf_polars.dsl.traversal import traversal

    sources = [node for node in traversal([lowered]) if isinstance(node, DataFrameScan)]
    if not any(partitions[source].count > 1 for source in sources):
        raise PlanError(
            f"the frame has too few rows to prove anything: none that the plan reads has more "
            f"than the {rows} rows of one partition, after any head or slice right behind it; "
            f"build the plan over a frame of {10 * rows} rows"
        )
    return [
        f"the frame of {', '.join(repr(name) for name in list(source.schema)[:4])} is one "
        "partition: what happens to it before it meets other rows is not proved to stream"
        for source in sources
        if partitions[source].count == 1
    ]


def _gathers(lowered: Any, partitions: Any, reasons: Sequence[str]) -> list[str]:
    """Return a sentence for each node below which rows are gathered into one partition."""
    from cudf_polars.dsl.traversal import post_traversal
    from cudf_polars.streaming.repartition import Repartition

    sites: list[str] = []
    for node in post_traversal([lowered]):
        gathered = [
            partitions[child.children[0]].count
            for child in node.children
            if isinstance(child, Repartition)
            and partitions[child].count == 1 < partitions[child.children[0]].count
            and not _is_reduced(child.children[0], node)
        ]
        if gathered:
            sites.append(f"{_describe(node)} gathers {max(gathered)} partitions into one")
    if len(sites) == len(reasons):
        # Both are in the order in which nodes were lowered, children first.
        return [f"{site} ({reason})" for site, reason in zip(sites, reasons, strict=True)]
    return [*sites, *(f"cudf-polars falls back: {reason}" for reason in reasons)]


def _is_reduced(gathered: Any, parent: Any) -> bool:
    """Return whether a partition of `gathered` has a few rows however many it was made from."""
    from cudf_polars.dsl.ir import Select, Slice

    if isinstance(gathered, Slice):
        return (
            isinstance(parent, Slice)
            and parent.offset == gathered.offset == 0
            and parent.length == gathered.length
            and parent.length is not None
        )
    return isinstance(gathered, Select) and all(_is_one_row(each.value) for each in gathered.exprs)


def _is_one_row(expression: Any) -> bool:
    from cudf_polars.dsl.expr import Agg, Len, Literal, UnaryFunction

    if isinstance(expression, Agg):
        return expression.name != "implode"  # One row, which holds all values.
    if isinstance(expression, (Len, Literal)):
        return True
    if isinstance(expression, UnaryFunction) and expression.name == "null_count":
        return True
    return (
        expression.is_pointwise
        and bool(expression.children)
        and all(_is_one_row(child) for child in expression.children)
    )


def _partitionwise(lowered: Any, partitions: Any) -> Iterator[str]:
    """Yield a sentence for each expression that needs all rows and would see one partition.

    Filling nulls by a strategy counts as row-wise for cudf-polars, and only its ``select`` makes
    an exception of it: in ``with_columns`` and ``filter`` each partition is filled by itself.
    """
    from cudf_polars.dsl.expr import UnaryFunction
    from cudf_polars.dsl.traversal import traversal

    for node in traversal([lowered]):
        if partitions[node].count == 1:
            continue
        for name, value in _named(node):
            for expression in traversal([value]):
                if (
                    isinstance(expression, UnaryFunction)
                    and expression.name == "fill_null_with_strategy"
                    and expression.options[0] not in ("zero", "one")
                ):
                    yield (
                        f"{_verb(type(node).__name__)} of '{name}': "
                        f"fill_null(strategy='{expression.options[0]}') would be executed within "
                        "each partition; use a value, or .over(key, order_by=...)"
                    )


def _ordered_reductions(lowered: Any, partitions: Any) -> Iterator[str]:
    """Yield a note for each result that one partition must hold because its order is kept."""
    from cudf_polars.dsl.expr import SortedAgg
    from cudf_polars.dsl.ir import Distinct, GroupBy
    from cudf_polars.dsl.traversal import traversal

    ordered_keeps = (Distinct._KEEP_MAP["first"], Distinct._KEEP_MAP["last"])
    for node in traversal([lowered]):
        if partitions[node].count == 1:
            continue
        if isinstance(node, GroupBy):
            ordered = node.maintain_order or any(
                isinstance(each.value, SortedAgg) and each.value.options[0]
                for each in node.agg_requests
            )
        elif isinstance(node, Distinct):
            ordered = node.stable or node.keep in ordered_keeps
        else:
            continue
        if ordered:
            yield (
                f"{_describe(node)} keeps an order, so its result is reduced to one partition, "
                "whatever its size"
            )


# -- naming -----------------------------------------------------------------------------------


def _verb(kind: str) -> str:
    return _VERBS.get(kind, kind[:1].lower() + kind[1:])


def _named(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and expression of all that a lowered node computes."""
    from cudf_polars.dsl.expr import NamedExpr

    for attribute in type(node)._non_child:
        value = getattr(node, attribute)
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, NamedExpr):
                yield each.name, each.value


def _describe(node: Any) -> str:
    """Return what users call a lowered node, with what it computes from more than one row."""
    from cudf_polars.dsl.expr import Col
    from cudf_polars.dsl.ir import GroupBy, MapFunction

    if isinstance(node, MapFunction):
        return str(node.name)
    kind = type(node).__name__
    names: list[str] = []
    for name, value in _named(node):
        if kind == "Select" and isinstance(value, Col) and value.name == name:
            continue  # A column that is passed on.
        how = _needs_rows(value)
        if isinstance(node, GroupBy) and any(each.value is value for each in node.agg_requests):
            how = how or "list"
        names.append(f"'{name}' ({how})" if how else f"'{name}'")
    names = list(dict.fromkeys(names))
    # A with_columns that needs other rows has been rewritten to a select by now.
    verb = "select or with_columns" if kind == "Select" else _verb(kind)
    listed = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
    return f"{verb} of {listed}" if listed else verb


def _needs_rows(value: Any) -> str:
    """Return the name of the first step that is not row by row, or an empty string."""
    from cudf_polars.dsl.traversal import traversal

    for expression in traversal([value]):
        if not expression.is_pointwise and expression.children:
            name = getattr(expression, "name", None)
            if type(expression).__name__ == "GroupedWindow":
                return "over"
            return name if isinstance(name, str) else type(expression).__name__.lower()
    return ""


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _sentence(error: object) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    kind = type(error).__name__
    if kind == "DynamicLibNotFoundError":
        return "it takes the CUDA driver to translate it, prove it on a machine that has one"
    if "anonymousfunction" in text or "opaque python" in text:
        return "it is a Python function"
    if "with Null column dtype" in text:
        return "a column of it has the data type Null; cast it"
    if isinstance(error, (LookupError, TypeError, ValueError, AssertionError)):
        text = f"{kind}: {text}"  # A fault of the library, whose text means little by itself.
    return text if len(text) <= 240 else text[:240] + "..."


def _fits(source: pl.DataType, target: pl.DataType) -> bool:
    """Return whether each number of one type has a place in the other."""
    if not (source.is_numeric() and target.is_integer()):
        return True
    if not source.is_integer():
        return False

    def bits(dtype: pl.DataType) -> int:
        return int(str(dtype).removeprefix("U").removeprefix("Int"))

    if source.is_unsigned_integer() == target.is_unsigned_integer():
        return bits(source) <= bits(target)
    return source.is_unsigned_integer() and bits(source) < bits(target)


def _has_cudf_dtype(dtype: pl.DataType) -> bool:
    from cudf_polars.containers import DataType

    try:
        DataType(dtype)
    except NotImplementedError:
        return False
    return True


@functools.cache
def _polars_series() -> type:
    return type(pl.Series()._s)


# -- private names ----------------------------------------------------------------------------


@functools.cache
def _moved_names() -> tuple[str, ...]:
    """Return a sentence for each private name that is gone or takes other parameters."""
    moved: list[str] = []
    for line in PRIVATE_NAMES.split("\n"):
        name, _, listed = line.rstrip(")").partition("(")
        if not name:
            continue
        module, _, path = name.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            moved.append(f"{name} is gone")
            continue
        if wanted := set(listed.split(", ")) - {""}:
            accepted = {*inspect.signature(found).parameters, *getattr(found, "__slots__", ())}
            if missing := sorted(wanted - accepted):
                moved.append(f"{name} has no {' or '.join(missing)}")
    return tuple(moved)
