"""The list of all operators, by the name under which YAML and saved workflows know them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from merlinkit.errors import ParameterError, did_you_mean
from merlinkit.ops.base import Operator
from merlinkit.ops.bucketize import Bucketize
from merlinkit.ops.categorify import Categorify
from merlinkit.ops.clip import Clip
from merlinkit.ops.data_stats import DataStats
from merlinkit.ops.datetime import DateTime
from merlinkit.ops.drop_low_cardinality import DropLowCardinality
from merlinkit.ops.expression import Expression
from merlinkit.ops.groupby import Groupby
from merlinkit.ops.hash_bucket import HashBucket
from merlinkit.ops.hashed_cross import HashedCross
from merlinkit.ops.join_external import JoinExternal
from merlinkit.ops.join_groupby import JoinGroupby
from merlinkit.ops.kcore import KCore
from merlinkit.ops.lag import DifferenceLag, Lag
from merlinkit.ops.list_slice import ListSlice
from merlinkit.ops.log import LogOp
from merlinkit.ops.median import FillMedian
from merlinkit.ops.metadata import (
    AddMetadata,
    AddProperties,
    AddTags,
    TagAsItemFeatures,
    TagAsItemID,
    TagAsUserFeatures,
    TagAsUserID,
)
from merlinkit.ops.min_max import NormalizeMinMax
from merlinkit.ops.missing import FillMissing
from merlinkit.ops.negative_sampling import NegativeSampling
from merlinkit.ops.normalize import Normalize
from merlinkit.ops.reduce_dtype import ReduceDtypeSize
from merlinkit.ops.rename import Rename
from merlinkit.ops.rows import Dropna, Filter
from merlinkit.ops.sessionize import Sessionize
from merlinkit.ops.split import Split
from merlinkit.ops.target_encoding import TargetEncoding
from merlinkit.ops.value_count import ValueCount
from merlinkit.schema import JSONValue

__all__ = ["OPERATORS", "make_operator"]

OPERATORS: Mapping[str, type[Operator]] = {
    operator.__name__: operator
    for operator in (
        AddMetadata,
        AddProperties,
        AddTags,
        Bucketize,
        Categorify,
        Clip,
        DataStats,
        DateTime,
        DifferenceLag,
        DropLowCardinality,
        Dropna,
        Expression,
        FillMedian,
        FillMissing,
        Filter,
        Groupby,
        HashBucket,
        HashedCross,
        JoinExternal,
        JoinGroupby,
        KCore,
        Lag,
        ListSlice,
        LogOp,
        NegativeSampling,
        Normalize,
        NormalizeMinMax,
        ReduceDtypeSize,
        Rename,
        Sessionize,
        Split,
        TagAsItemFeatures,
        TagAsItemID,
        TagAsUserFeatures,
        TagAsUserID,
        TargetEncoding,
        ValueCount,
    )
}


def make_operator(name: str, parameters: Mapping[str, JSONValue]) -> Operator:
    """Return the operator of a name with parameters that are JSON values.

    Raises
    ------
    ParameterError
        If there is no such operator, a parameter is unknown, missing or out of range.

    Examples
    --------
    >>> make_operator("Clip", {"min_value": 0})
    Clip(min_value=0)
    >>> make_operator("Clipp", {})
    Traceback (most recent call last):
        ...
    merlinkit.errors.ParameterError: no operator 'Clipp'. Did you mean 'Clip'?
    """
    if name not in OPERATORS:
        hint = did_you_mean(name, OPERATORS) or f" There are: {', '.join(OPERATORS)}."
        raise ParameterError(f"no operator '{name}'.{hint}")
    operator = OPERATORS[name]
    signature = operator.signature()
    for parameter in parameters:
        if parameter not in signature:
            takes = f"It takes {', '.join(signature)}." if signature else "It takes none."
            raise ParameterError(
                f"{name}: no parameter '{parameter}'.{did_you_mean(parameter, signature)} {takes}"
            )
    for parameter, described in signature.items():
        if described.default is inspect.Parameter.empty and parameter not in parameters:
            raise ParameterError(f"{name}: parameter '{parameter}' is missing")
    return operator(**parameters)
