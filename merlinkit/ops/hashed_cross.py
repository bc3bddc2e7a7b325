"""HashedCross: one id for the values of several columns."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import Operator, State, require_known
from merlinkit.ops.cross_hash import cross_hash
from merlinkit.ops.hash_bucket import MAX_BUCKETS, hashable, require_hashable
from merlinkit.ops.parameters import per_column, require_int
from merlinkit.schema import Column, Domain, Schema, Tags

__all__ = ["HashedCross"]


class HashedCross(Operator):
    """Cross columns: replace the values of a group by one hash modulo a number.

    Parameters
    ----------
    num_buckets
        Number of ids. One number, or one for each output column.

    Raises
    ------
    ParameterError
        If a number is out of range.
    SchemaError
        If a group has one column only, or a column that holds lists.

    Notes
    -----
    ``[["user", "item"], ["city", "hour"]] >> HashedCross(1000)`` makes ``user_X_item`` and
    ``city_X_hour``; a list without groups is one group. Ids are Int32, 0 … num_buckets - 1, the
    same on every engine and machine. The order of the columns counts, and a column crossed with an
    equal one does not collapse, as it does where hashes are combined by exclusive or. A null or
    NaN in any of the columns makes the cross null.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"user": ["u", "u", None], "city": ["c", "d", "c"]})
    >>> crossed = mk.Workflow([["user", "city"]] >> HashedCross(100)).fit_transform(frame)
    >>> crossed.schema.names, crossed.collect()["user_X_city"].null_count()
    (['user_X_city'], 1)
    """

    takes_groups = True
    widens_integers = True

    def __init__(self, num_buckets: int | Mapping[str, int]) -> None:
        self.num_buckets = per_column("HashedCross", "num_buckets", num_buckets)
        require_int("HashedCross", "num_buckets", self.num_buckets, minimum=1, maximum=MAX_BUCKETS)
        if isinstance(self.num_buckets, dict) and not self.num_buckets:
            raise ParameterError("HashedCross: num_buckets is empty; give a number for each cross")

    def _crosses(self, inputs: Schema) -> dict[str, tuple[str, ...]]:
        """Return the columns of each output column."""
        units = self.units(inputs)
        if self._units is None:
            units = [tuple(self.applied_to(inputs))]
        for unit in units:
            if len(unit) < 2:
                raise SchemaError(
                    f"HashedCross: column '{unit[0]}' stands alone; a cross takes a group of two "
                    'or more, [["a", "b"]], and HashBucket takes one'
                )
        return {"_X_".join(unit): unit for unit in units}

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return a column of ids for each group."""
        crosses = self._crosses(inputs)
        if isinstance(self.num_buckets, dict):
            require_known(self, "num_buckets", self.num_buckets, crosses)
        out = []
        for name, members in crosses.items():
            for member in members:
                require_hashable("HashedCross", inputs[member])
                if inputs[member].is_list:
                    raise SchemaError(
                        f"HashedCross: column '{member}' holds lists, scalars expected"
                    )
            domain = Domain(0, self._buckets(name) - 1)
            tags = frozenset.intersection(*(inputs[member].tags for member in members))
            out.append(Column(name, pl.Int32(), domain=domain, tags=tags | {Tags.CATEGORICAL}))
        return Schema(out)

    def _buckets(self, name: str) -> int:
        if not isinstance(self.num_buckets, dict):
            return self.num_buckets
        if name not in self.num_buckets:
            raise SchemaError(f"HashedCross: num_buckets has no number for '{name}'")
        return self.num_buckets[name]

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return the members of each group."""
        return {name: list(members) for name, members in self._crosses(inputs).items()}

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Combine the hashes of the members."""
        crossed = []
        for name, members in self._crosses(inputs).items():
            hashes = [
                dialect.hash64(*hashable(pl.col(member), inputs[member])) for member in members
            ]
            ids = (cross_hash(hashes) % self._buckets(name)).cast(pl.Int32)
            crossed.append(ids.alias(name))
        return frame.with_columns(crossed)
