"""Batches of tensors from parquet files, shuffled, prefetched and resumable."""

from merlinkit.loader.batch import Batch
from merlinkit.loader.loader import Loader
from merlinkit.loader.ragged import Ragged

__all__ = ["Batch", "Loader", "Ragged"]
