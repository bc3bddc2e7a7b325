"""TargetEncoding: categories by the mean of the target."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from merlinkit.dtypes import dtype_from_name
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import Finalized, Operator, State, Statistics, scratch, without_nan
from merlinkit.ops.cross_hash import cross_hash
from merlinkit.ops.group_key import GroupKey
from merlinkit.ops.hash_bucket import hashable, require_hashable
from merlinkit.ops.parameters import (
    is_finite_number,
    require_bool,
    require_choice,
    require_int,
    text_list,
)
from merlinkit.schema import Column, JSONValue, Schema, Tags

__all__ = ["TargetEncoding"]


class TargetEncoding(Operator):
    """Replace categories by the smoothed mean of the target of their rows.

    ``(sum + p_smooth * mean) / (count + p_smooth)``, with sum and count of the target over the rows
    of the category, and the mean over all rows. Rows of the training data are encoded without their
    own target: from the other folds, or from all rows but themselves.

    Parameters
    ----------
    target
        Column, or columns, of numbers or booleans.
    kfold
        Number of folds of the training data; 1 encodes training rows by all of them.
    fold_by
        Columns that tell rows apart, such as user, item and time: a row's fold is a stable hash of
        them, so that it does not depend on files or order. Needed for more than one fold. It must
        not hold the target.
    fold_seed
        Another number gives other folds.
    p_smooth
        How many rows of the mean are added to each category.
    leave_one_out
        Encode each training row from all rows but itself, instead of by folds.
    out_dtype
        ``"float32"`` or ``"float64"``.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or `fold_by` is missing or holds the target.
    SchemaError
        If a target is no number, or a column holds lists.

    Notes
    -----
    The output is ``TE_{column}_{target}``; for a group of columns, ``[["user", "item"]]``, the
    names are joined by ``_``. Null and NaN are a category. A category that was not seen, or only in
    the row's own fold, gets the mean. Rows whose target is null or NaN do not count.

    Out-of-fold values are used by `Workflow.fit_transform`, ``transform(..., training=True)`` and
    the training part of ``merlinkit run``; all other rows are encoded by the statistics of all
    training rows and need no target (Micci-Barreca, "A preprocessing scheme for high-cardinality
    categorical attributes", 2001). In NVTabular folds depend on the partition, and a workflow that
    is applied needs the target.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"city": ["a", "a", "b"], "click": [1, 0, 1]})
    >>> workflow = mk.Workflow(["city"] >> TargetEncoding("click", kfold=1, p_smooth=0))
    >>> workflow.fit(frame).transform(pl.DataFrame({"city": ["b", "a"]})).collect()[
    ...     "TE_city_click"
    ... ].to_list()
    Traceback (most recent call last):
        ...
    merlinkit.errors.SchemaError: column 'click' is missing; the workflow was fitted with it.
    >>> serving = workflow.remove_inputs("click")
    >>> serving.transform(pl.DataFrame({"city": ["b", "a"]})).collect()["TE_city_click"].to_list()
    [1.0, 0.5]
    """

    takes_groups = True

    def __init__(
        self,
        target: str | Sequence[str],
        kfold: int = 3,
        fold_by: str | Sequence[str] | None = None,
        fold_seed: int = 42,
        p_smooth: float = 20,
        leave_one_out: bool = False,
        out_dtype: str = "float32",
    ) -> None:
        name = "TargetEncoding"
        self.target = text_list(name, "target", target)
        require_int(name, "kfold", kfold, minimum=1, maximum=1000)
        require_int(name, "fold_seed", fold_seed, minimum=0)
        require_bool(name, "leave_one_out", leave_one_out)
        if not is_finite_number(p_smooth) or p_smooth < 0:
            raise ParameterError(f"{name}: p_smooth is {p_smooth!r}, a number from 0 expected")
        self.fold_by = [] if not fold_by else text_list(name, "fold_by", fold_by)
        if kfold > 1 and not leave_one_out and not self.fold_by:
            raise ParameterError(
                f"{name}: fold_by is missing; name columns that tell rows apart, for example "
                "fold_by: [user_id, item_id, timestamp], so that the fold of a row is known "
                "wherever it is. Or set leave_one_out=True, or kfold=1 to encode training rows by "
                "their own target as well"
            )
        for column in self.target:
            if column in self.fold_by:
                raise ParameterError(
                    f"{name}: fold_by names the target '{column}', so that folds would tell it"
                )
        self.kfold = kfold
        self.fold_seed = fold_seed
        self.p_smooth = p_smooth
        self.leave_one_out = leave_one_out
        self.out_dtype = require_choice(name, "out_dtype", out_dtype, ("float32", "float64"))

    def parameters(self) -> dict[str, JSONValue]:
        """Return the parameters as JSON values."""
        return {**super().parameters(), "fold_by": self.fold_by or None}

    def dependencies(self) -> list[str]:
        """Return targets and what tells rows apart."""
        return list(dict.fromkeys([*self.target, *self.fold_by]))

    @property
    def _by_folds(self) -> bool:
        return self.kfold > 1 and not self.leave_one_out

    # -- schema -------------------------------------------------------------------------------

    def _keys(self, inputs: Schema) -> dict[str, GroupKey]:
        return {
            "_".join(unit): GroupKey(self.name, tuple(inputs[name] for name in unit))
            for unit in self.units(inputs)
        }

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return a continuous column for each group and target."""
        for name in self.target:
            column = inputs[name]
            number = column.dtype.is_numeric() or isinstance(column.dtype, pl.Boolean | pl.Null)
            if column.is_list or not number:
                raise SchemaError(
                    f"TargetEncoding: target '{name}' is {column.polars_dtype}, a number expected"
                )
        for name in self.fold_by:
            require_hashable(self.name, inputs[name])
            if inputs[name].is_list:
                raise SchemaError(f"TargetEncoding: fold_by names '{name}', which holds lists")
        dtype = dtype_from_name(self.out_dtype)
        return Schema(
            Column(f"TE_{group}_{target}", dtype, tags=[Tags.CONTINUOUS])
            for group in self._keys(inputs)
            for target in self.target
        )

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return the columns of the group; the target is not among what a row needs."""
        return {
            f"TE_{group}_{target}": [column.name for column in key.columns]
            for group, key in self._keys(inputs).items()
            for target in self.target
        }

    # -- fit ----------------------------------------------------------------------------------

    def needs_fit(self, inputs: Schema) -> bool:
        """Return true."""
        del inputs
        return True

    def _fold(self, inputs: Schema, dialect: Dialect) -> pl.Expr:
        """Return the fold of a row."""
        hashes = [
            # Null tells rows apart like any value.
            dialect.hash64(*hashable(pl.col(name), inputs[name])).fill_null(0)
            for name in self.fold_by
        ]
        seed = pl.lit(self.fold_seed, dtype=pl.UInt64)
        mixed = dialect.hash64(cross_hash([seed, *hashes]), pl.UInt64())
        return (mixed % self.kfold).cast(pl.Int64).alias("fold")

    def _values(self, inputs: Schema) -> list[pl.Expr]:
        return [
            without_nan(pl.col(name).cast(pl.Float64), pl.Float64()).alias(f"y_{index}")
            for index, name in enumerate(self.target)
        ]

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Sum and count the targets of each category, in each fold."""
        fold = self._fold(inputs, dialect) if self._by_folds else pl.lit(0, dtype=pl.Int64)
        sums = [
            expression
            for index in range(len(self.target))
            for expression in (
                pl.col(f"y_{index}").sum().alias(f"sum_{index}"),
                pl.col(f"y_{index}").count().cast(pl.Int64).alias(f"count_{index}"),
            )
        ]
        return {
            group: frame.select(*key.expressions(), fold.alias("fold"), *self._values(inputs))
            .group_by([*key.names, "fold"])
            .agg(sums)
            for group, key in self._keys(inputs).items()
        }

    @property
    def _numbers(self) -> list[str]:
        return [f"{kind}_{index}" for index in range(len(self.target)) for kind in ("sum", "count")]

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Add up sums and counts."""
        merged = {}
        for group in left:
            both = pl.concat([left[group], right[group]])
            keys = [name for name in both.collect_schema() if name not in self._numbers]
            merged[group] = both.group_by(keys).agg(pl.col(self._numbers).sum())
        return merged

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Keep sums and counts of each category and fold, and those of everything by fold."""
        first = next(iter(statistics.values()))
        totals = first.group_by("fold").agg(pl.col(self._numbers).sum()).sort("fold")
        tables: Statistics = {}
        for group, key in self._keys(inputs).items():
            gathered = statistics[group].sort([*key.names, "fold"])
            if self._by_folds:
                tables[f"{group}/folds"] = gathered
            tables[group] = (
                gathered.group_by(key.names).agg(pl.col(self._numbers).sum()).sort(key.names)
            )
        return Finalized({"totals": totals}, tables)

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return sums and counts of each category and fold."""
        out = {}
        for group, key in self._keys(inputs).items():
            if self._by_folds:
                out[group] = state.tables[f"{group}/folds"].frame
            else:
                table = state.tables[group].frame
                fold = pl.lit(0, dtype=pl.Int64).alias("fold")
                out[group] = table.select(*key.names, fold, *self._numbers)
        return out

    # -- apply --------------------------------------------------------------------------------

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Encode by the statistics of all training rows."""
        for group, key in self._keys(inputs).items():
            frame = self._with_sums(frame, group, key, state, dialect)
            encoded = [
                self._encoded(
                    pl.col(scratch(f"sum_{index}")).fill_null(0.0),
                    pl.col(scratch(f"count_{index}")).fill_null(0),
                    *self._total(index, state),
                ).alias(f"TE_{group}_{target}")
                for index, target in enumerate(self.target)
            ]
            frame = frame.with_columns(encoded).drop([scratch(name) for name in self._numbers])
        return frame

    def transform_training(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Encode by the statistics of other training rows."""
        if self.leave_one_out:
            return self._all_but_one(frame, inputs, state, dialect)
        if not self._by_folds:
            return self.transform(frame, inputs, state, dialect)
        fold = scratch("own_fold")
        frame = frame.with_columns(self._fold(inputs, dialect).alias(fold))
        for group, key in self._keys(inputs).items():
            frame = self._with_sums(frame, group, key, state, dialect)
            own = {name: scratch(f"own_{name}") for name in self._numbers}
            table = state.tables[f"{group}/folds"].frame.rename(own)
            frame = key.join(frame, table, dialect, [("fold", pl.col(fold))])
            encoded = []
            for index, target in enumerate(self.target):
                others = [
                    pl.col(scratch(name)).fill_null(0) - pl.col(own[name]).fill_null(0)
                    for name in (f"sum_{index}", f"count_{index}")
                ]
                total = [
                    self._of_other_folds(pl.col(fold), name, state)
                    for name in (f"sum_{index}", f"count_{index}")
                ]
                encoded.append(self._encoded(*others, *total).alias(f"TE_{group}_{target}"))
            dropped = [*(scratch(name) for name in self._numbers), *own.values()]
            frame = frame.with_columns(encoded).drop(dropped)
        return frame.drop(fold)

    def _all_but_one(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        values = [scratch(f"y_{index}") for index in range(len(self.target))]
        frame = frame.with_columns(
            value.alias(place) for value, place in zip(self._values(inputs), values, strict=True)
        )
        for group, key in self._keys(inputs).items():
            frame = self._with_sums(frame, group, key, state, dialect)
            encoded = []
            for index, target in enumerate(self.target):
                own = pl.col(values[index])
                total, rows = self._total(index, state)
                known = own.is_not_null().cast(pl.Int64)
                encoded.append(
                    self._encoded(
                        pl.col(scratch(f"sum_{index}")).fill_null(0.0) - own.fill_null(0.0),
                        pl.col(scratch(f"count_{index}")).fill_null(0) - known,
                        total - own.fill_null(0.0),
                        rows - known,
                    ).alias(f"TE_{group}_{target}")
                )
            frame = frame.with_columns(encoded).drop([scratch(name) for name in self._numbers])
        return frame.drop(values)

    def _with_sums(
        self, frame: pl.LazyFrame, group: str, key: GroupKey, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        table = state.tables[group].frame.rename({name: scratch(name) for name in self._numbers})
        return key.join(frame, table, dialect)

    def _encoded(self, total: pl.Expr, count: pl.Expr, sums: pl.Expr, rows: pl.Expr) -> pl.Expr:
        """Return the smoothed mean; null where there is nothing to take a mean of."""
        everywhere = pl.when(rows > 0).then(sums / rows.cast(pl.Float64))
        weight = count.cast(pl.Float64) + float(self.p_smooth)
        smoothed = (total + everywhere * float(self.p_smooth)) / weight
        value = pl.when(count > 0).then(smoothed).otherwise(everywhere)
        return value.cast(dtype_from_name(self.out_dtype))

    def _total(self, index: int, state: State) -> tuple[pl.Expr, pl.Expr]:
        """Return sum and count of a target over all training rows."""
        rows = state.values["totals"]
        total = sum(float(row[f"sum_{index}"] or 0.0) for row in rows)
        count = sum(int(row[f"count_{index}"] or 0) for row in rows)
        return pl.lit(total, dtype=pl.Float64), pl.lit(count, dtype=pl.Int64)

    def _of_other_folds(self, fold: pl.Expr, name: str, state: State) -> pl.Expr:
        """Return a sum or count over the training rows of all folds but a row's own."""
        rows = {row["fold"]: row[name] or 0 for row in state.values["totals"]}
        dtype = pl.Float64() if name.startswith("sum") else pl.Int64()
        value = pl.lit(sum(rows.values()), dtype=dtype)
        others = value
        for number, own in rows.items():
            others = (
                pl.when(fold == number).then(value - pl.lit(own, dtype=dtype)).otherwise(others)
            )
        return others
