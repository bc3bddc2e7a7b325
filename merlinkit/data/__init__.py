"""Data sets, readers of files, and splits into training, validation and test parts."""

from merlinkit.data.convert import convert
from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.dataset import Dataset
from merlinkit.data.splits import (
    PART_COLUMN,
    GivenSplit,
    LeaveLastSplit,
    RandomSplit,
    Split,
    TemporalSplit,
    split_from_dict,
)

__all__ = [
    "PART_COLUMN",
    "CsvOptions",
    "Dataset",
    "GivenSplit",
    "LeaveLastSplit",
    "RandomSplit",
    "Split",
    "TemporalSplit",
    "convert",
    "split_from_dict",
]
