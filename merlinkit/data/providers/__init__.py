"""Public data sets, fetched once and kept as tidy parquet in the user's cache folder."""

from __future__ import annotations

from merlinkit.data.providers.cache import cache_root
from merlinkit.data.providers.movielens import (
    MOVIELENS_TERMS,
    movielens_100k,
    movielens_100k_schema,
)

__all__ = ["MOVIELENS_TERMS", "cache_root", "movielens_100k", "movielens_100k_schema"]
