"""What a worked example of an operator is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from merlinkit.ops import Operator


@dataclass(frozen=True)
class Example:
    """An operator on a frame, and what must come out."""

    id: str
    operator: Operator
    columns: Sequence[str | Sequence[str]]
    """Names of columns; a list of names is a group."""
    frame: pl.DataFrame
    expected: Mapping[str, Sequence[Any]]
    dtypes: Mapping[str, pl.DataType]
    unseen: pl.DataFrame | None = None
    """Rows that were not there at fit."""
    unseen_expected: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    engine_step: str | None = None
    """Why a part of the operator does not run as a cuDF plan."""
    nulls_count: bool = False
    """Whether rows of nulls alone change what is learned of other rows."""
    ordered: bool = True
    """Whether rows come out in an order that no cut into files changes."""
