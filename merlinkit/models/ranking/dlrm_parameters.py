"""The parameters of DLRM, checked without PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from merlinkit.errors import ParameterError

__all__ = ["DLRMParameters"]


@dataclass(frozen=True, kw_only=True)
class DLRMParameters:
    """What a `merlinkit.models.DLRM` can be told.

    Parameters
    ----------
    embedding_dim
        Width of every embedding table and of the interaction. None takes each column's own
        embedding size from the schema; the interaction then has the width of the last layer of
        ``bottom_mlp``, and narrower or wider vectors are projected to it.
    bottom_mlp
        Widths of the layers on the continuous columns. A layer to the width of the interaction
        follows where the last one differs from it.
    top_mlp
        Widths of the layers between the interaction and the logit.
    dropout
        Share of each hidden output set to zero while training.
    pooling
        How list columns become one vector: ``"sum"`` or ``"mean"``.

    Raises
    ------
    ParameterError
        Naming every parameter that is not allowed.

    Examples
    --------
    >>> DLRMParameters(embedding_dim=8).top_mlp
    (128, 64)
    >>> DLRMParameters(dropout=1.5)
    Traceback (most recent call last):
        ...
    merlinkit.errors.ParameterError: dropout must be a number from 0 to below 1, got 1.5
    """

    embedding_dim: int | None = field(
        default=16, metadata={"help": "width of all embeddings; null takes the schema's sizes"}
    )
    bottom_mlp: Sequence[int] = field(
        default=(64, 32), metadata={"help": "widths of the layers on the continuous columns"}
    )
    top_mlp: Sequence[int] = field(
        default=(128, 64), metadata={"help": "widths of the layers before the logit"}
    )
    dropout: float = field(
        default=0.0, metadata={"help": "share of hidden outputs set to zero while training"}
    )
    pooling: str = field(
        default="mean", metadata={"help": "how list columns become one vector: sum or mean"}
    )

    def __post_init__(self) -> None:
        problems: list[str] = []
        if self.embedding_dim is not None and not _is_width(self.embedding_dim):
            problems.append(
                f"embedding_dim must be a whole number above 0 or null, got {self.embedding_dim!r}"
            )
        for name in ("bottom_mlp", "top_mlp"):
            widths = getattr(self, name)
            if (
                isinstance(widths, str)
                or not isinstance(widths, Sequence)
                or not all(_is_width(width) for width in widths)
            ):
                problems.append(f"{name} must be a list of whole numbers above 0, got {widths!r}")
            else:
                object.__setattr__(self, name, tuple(widths))
        if self.embedding_dim is None and not self.bottom_mlp:
            problems.append(
                "embedding_dim and bottom_mlp cannot both be empty: one of them gives the "
                "interaction its width"
            )
        if (
            isinstance(self.dropout, bool)
            or not isinstance(self.dropout, int | float)
            or not 0 <= self.dropout < 1
        ):
            problems.append(f"dropout must be a number from 0 to below 1, got {self.dropout!r}")
        if self.pooling not in ("sum", "mean"):
            problems.append(f"pooling must be 'sum' or 'mean', got {self.pooling!r}")
        if problems:
            raise ParameterError("; ".join(problems))

    @property
    def interaction_dim(self) -> int:
        """Width of the vectors whose products are taken."""
        return self.embedding_dim if self.embedding_dim is not None else self.bottom_mlp[-1]


def _is_width(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
