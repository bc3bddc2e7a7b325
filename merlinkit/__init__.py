"""merlinkit: from raw interaction logs to a trained recommender.

>>> import polars as pl
>>> import merlinkit as mk
>>> from merlinkit import ops
>>> logs = pl.DataFrame({"item": ["a", "b", "a"], "price": [1.0, None, 3.0]})
>>> items = ["item"] >> ops.Categorify()
>>> prices = ["price"] >> ops.FillMissing(0) >> ops.LogOp()
>>> mk.Workflow(items + prices).fit_transform(logs).collect()["item"].to_list()
[3, 4, 3]
"""

from merlinkit._version import __version__
from merlinkit.data.dataset import Dataset
from merlinkit.errors import MerlinkitError
from merlinkit.schema import Column, Domain, Schema, Tags
from merlinkit.workflow import Workflow, by_tags

__all__ = [
    "Column",
    "Dataset",
    "Domain",
    "MerlinkitError",
    "Schema",
    "Tags",
    "Workflow",
    "__version__",
    "by_tags",
]
