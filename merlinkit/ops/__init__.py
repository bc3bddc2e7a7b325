"""Operators: feature engineering as pure functions over plans."""

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
from merlinkit.ops.registry import OPERATORS, make_operator
from merlinkit.ops.rename import Rename
from merlinkit.ops.rows import Dropna, Filter
from merlinkit.ops.sessionize import Sessionize
from merlinkit.ops.split import Split
from merlinkit.ops.target_encoding import TargetEncoding
from merlinkit.ops.value_count import ValueCount

__all__ = [
    "OPERATORS",
    "AddMetadata",
    "AddProperties",
    "AddTags",
    "Bucketize",
    "Categorify",
    "Clip",
    "DataStats",
    "DateTime",
    "DifferenceLag",
    "DropLowCardinality",
    "Dropna",
    "Expression",
    "FillMedian",
    "FillMissing",
    "Filter",
    "Groupby",
    "HashBucket",
    "HashedCross",
    "JoinExternal",
    "JoinGroupby",
    "KCore",
    "Lag",
    "ListSlice",
    "LogOp",
    "NegativeSampling",
    "Normalize",
    "NormalizeMinMax",
    "Operator",
    "ReduceDtypeSize",
    "Rename",
    "Sessionize",
    "Split",
    "TagAsItemFeatures",
    "TagAsItemID",
    "TagAsUserFeatures",
    "TagAsUserID",
    "TargetEncoding",
    "ValueCount",
    "make_operator",
]
