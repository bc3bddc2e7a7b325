"""DLRM: embeddings and numbers, compared pair by pair."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from merlinkit.errors import SchemaError
from merlinkit.loader import Batch, Ragged
from merlinkit.models.embeddings import Embeddings, Pooling
from merlinkit.models.inputs import model_inputs
from merlinkit.models.mlp import MLP
from merlinkit.models.ranking.dlrm_parameters import DLRMParameters
from merlinkit.schema import Schema

__all__ = ["DLRM"]


class DLRM(nn.Module):
    r"""Deep learning recommendation model of Naumov et al. (2019).

    Parameters
    ----------
    schema
        Columns tagged ``categorical`` are embedded, columns tagged ``continuous`` go through
        the bottom MLP, all others are ignored.
    parameters
        Sizes and the like; see `DLRMParameters`.

    Raises
    ------
    SchemaError
        If the schema has neither categorical nor continuous columns, or one that cannot be
        used.
    ParameterError
        If a parameter is not allowed, or a table does not fit into memory.

    Notes
    -----
    With :math:`x` the continuous columns ``[batch_size, continuous]`` and :math:`e_1 \dots e_C`
    the embeddings of the categorical columns, all of width ``d``:

    .. math::

        z_0 &= \mathrm{bottom}(x), \qquad z_c = P_c e_c \\
        p &= (z_i \cdot z_j)_{0 \le j < i \le C} \\
        \mathrm{logit} &= \mathrm{top}([z_0, p])

    The shapes: ``z`` is ``[batch_size, C + 1, d]``, ``p`` is ``[batch_size, C (C + 1) / 2]`` in
    the order (1,0), (2,0), (2,1), (3,0)…; ``P_c`` is a matrix without bias for columns whose
    embedding is not ``d`` wide, and the identity otherwise.

    Without continuous columns a learned vector stands for :math:`z_0`, so that the effect of a
    single id can still be expressed and a single categorical column has something to meet.
    Without categorical columns there are no pairs, and the model is the two MLPs.

    Numbers are used as they come: normalise them before.

    References
    ----------
    Naumov et al., "Deep Learning Recommendation Model for Personalization and Recommendation
    Systems", arXiv:1906.00091.

    Examples
    --------
    >>> from merlinkit.schema import Column, Domain
    >>> user = Column("user", "Int64", domain=Domain(0, 9), tags=["categorical"])
    >>> price = Column("price", "Float32", tags=["continuous"])
    >>> model = DLRM(Schema([user, price]))
    >>> model({"user": torch.tensor([3, 1]), "price": torch.tensor([0.5, -1.0])}).shape
    torch.Size([2])
    """

    def __init__(self, schema: Schema, parameters: DLRMParameters | None = None) -> None:
        super().__init__()
        chosen = DLRMParameters() if parameters is None else parameters
        inputs = model_inputs(schema)
        if not inputs.names:
            raise SchemaError(
                "the schema has no column tagged 'categorical' or 'continuous', so the model has "
                f"nothing to learn from; its columns are: {', '.join(schema.names) or 'none'}"
            )
        dim = chosen.interaction_dim
        self.continuous = tuple(column.name for column in inputs.continuous)
        self.embeddings = Embeddings(
            schema, dim=chosen.embedding_dim, pooling=cast(Pooling, chosen.pooling)
        )
        # Keyed by position: names of columns may hold dots, which modules cannot.
        self.projections = nn.ModuleDict(
            {
                str(position): _projection(width, dim)
                for position, width in enumerate(self.embeddings.dims.values())
                if width != dim
            }
        )
        self.bottom: MLP | None = None
        self.origin: nn.Parameter | None = None
        if self.continuous:
            widths = [*chosen.bottom_mlp]
            if not widths or widths[-1] != dim:
                widths.append(dim)
            self.bottom = MLP(len(self.continuous), widths, dropout=chosen.dropout)
        else:
            self.origin = nn.Parameter(torch.empty(dim).uniform_(-1, 1) / math.sqrt(dim))
        vectors = 1 + len(inputs.categorical)
        rows, columns = torch.tril_indices(vectors, vectors, offset=-1)
        self.register_buffer("_pairs", rows * vectors + columns, persistent=False)
        self.top = MLP(
            dim + vectors * (vectors - 1) // 2,
            [*chosen.top_mlp, 1],
            dropout=chosen.dropout,
            linear_output=True,
        )

    def forward(self, batch: Batch) -> Tensor:
        """Return the logit of each row, float32 ``[batch_size]``.

        Parameters
        ----------
        batch
            Holds every feature column: ``[batch_size]`` for scalars, `Ragged` for lists.

        Raises
        ------
        SchemaError
            If a column is missing or has lists where scalars are expected or the reverse.
        DataError
            If an id has no row in its table (on the CPU; see `check`).
        """
        embedded = [
            self.projections[str(position)](vector) if str(position) in self.projections else vector
            for position, vector in enumerate(self.embeddings(batch).values())
        ]
        first = self._first_vector(batch, embedded)
        if not embedded:
            logits: Tensor = self.top(first)
            return logits.squeeze(1)
        stacked = torch.stack([first, *embedded], dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2)).flatten(1)
        # gather is a third faster than index_select here, forward and backward.
        pairs = cast(Tensor, self._pairs).expand(products.shape[0], -1)
        logits = self.top(torch.cat([first, products.gather(1, pairs)], dim=1))
        return logits.squeeze(1)

    def check(self, batch: Batch) -> None:
        """Refuse ids that have no row in their table; see `Embeddings.check`."""
        self.embeddings.check(batch)

    def _first_vector(self, batch: Batch, embedded: list[Tensor]) -> Tensor:
        if self.origin is not None:
            return self.origin.expand(embedded[0].shape[0], -1)
        values = [_numbers(name, batch) for name in self.continuous]
        assert self.bottom is not None
        output: Tensor = self.bottom(torch.stack(values, dim=1))
        return output


def _projection(width: int, dim: int) -> nn.Linear:
    linear = nn.Linear(width, dim, bias=False)
    nn.init.xavier_normal_(linear.weight)
    return linear


def _numbers(name: str, batch: Batch) -> Tensor:
    value = batch.get(name)
    if value is None:
        raise SchemaError(f"the batch has no column '{name}'")
    if isinstance(value, Ragged):
        raise SchemaError(f"column '{name}' holds scalars in the schema, but lists in the batch")
    return value.float()
