"""Embedding tables for the categorical columns of a schema."""

from __future__ import annotations

import math
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import nn

from merlinkit.errors import DataError, ParameterError, SchemaError, did_you_mean
from merlinkit.loader import Batch, Ragged
from merlinkit.models.inputs import model_inputs
from merlinkit.schema import Column, Schema

__all__ = ["Embeddings", "Pooling"]

Pooling = Literal["sum", "mean"]


class Embeddings(nn.Module):
    """Looks up a vector for each categorical column of a batch.

    Parameters
    ----------
    schema
        Columns tagged ``categorical`` get a table of ``cardinality`` rows. Columns whose domains
        have the same name share one.
    dim
        Width of every table; None takes each column's ``resolved_embedding_size``.
    pooling
        How a list column becomes one vector: ``"sum"`` or ``"mean"`` of its elements.

    Attributes
    ----------
    columns : tuple of Column
        The categorical columns, in the order of the schema.
    dims : dict of str to int
        Width of each column's vectors.
    tables : torch.nn.ParameterDict
        The weights ``[cardinality, width]`` by table name: the name of the domain, or of the
        column where the domain has none.

    Raises
    ------
    SchemaError
        If a categorical column has no domain of whole ids, or columns that share a domain name
        differ in cardinality or width.
    ParameterError
        If ``dim`` or ``pooling`` is not allowed, or a table does not fit into memory.

    Notes
    -----
    *Padding.* Where the property ``padding_id`` of a column names an id, as it does for columns of
    `Categorify`, that id gives zeros and gets no gradient. Means are over the other elements; an
    empty list, or one of padding alone, gives zeros. Ids of buckets and of parts of a date are all
    values, 0 among them.

    *Gradients are sparse*: they hold the rows that a batch looked up and nothing else, so with
    an optimizer that understands them (`merlinkit.training.optimizers`) the time of a step does
    not grow with the size of the tables.

    *Initial weights* are uniform in ±1/sqrt(cardinality), as in DLRM (Naumov et al., 2019), but
    zero for null and out-of-vocabulary ids of `Categorify`. Training data need not hold any of
    these, and then an id that was never learned adds nothing, instead of noise.

    *One table a column.* Joining 26 tables of one width into one and looking all ids up at once
    saved 2 to 11 % of the CPU time of a step (batch 4096, width 16, one core), too little to
    give up weights that can be read, saved and compared by the name of a column.

    Examples
    --------
    >>> from merlinkit.schema import Domain
    >>> user = Column("user", "Int64", domain=Domain(0, 9), tags=["categorical"])
    >>> genres = Column("genres", "List(Int64)", domain=Domain(0, 4), tags=["categorical"])
    >>> embeddings = Embeddings(Schema([user, genres]), dim=8)
    >>> vectors = embeddings(
    ...     {"user": torch.tensor([3, 0]), "genres": Ragged.from_lists([[1, 2], []])}
    ... )
    >>> vectors["user"].shape, vectors["genres"].shape
    (torch.Size([2, 8]), torch.Size([2, 8]))
    """

    def __init__(
        self, schema: Schema, *, dim: int | None = None, pooling: Pooling = "mean"
    ) -> None:
        super().__init__()
        if dim is not None and dim < 1:
            raise ParameterError(f"embedding dim must be at least 1, got {dim}")
        if pooling not in get_args(Pooling):
            hint = did_you_mean(pooling, get_args(Pooling))
            raise ParameterError(f"unknown pooling '{pooling}'.{hint} There are 'sum' and 'mean'.")
        self.pooling = pooling
        self.columns = model_inputs(schema).categorical
        self.dims = {column.name: _width(column, dim) for column in self.columns}
        self._table_of = {column.name: _table_name(column) for column in self.columns}
        self.tables = nn.ParameterDict()
        first: dict[str, Column] = {}
        for column in self.columns:
            table = self._table_of[column.name]
            if table not in first:
                first[table] = column
                self.tables[table] = _new_table(column, self.dims[column.name])
            elif problem := self._clash(first[table], column):
                raise SchemaError(problem)

    def forward(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Look up the vectors of a batch.

        Parameters
        ----------
        batch
            Holds every categorical column: whole numbers of shape ``[batch_size]`` for a scalar
            column, `Ragged` for a list column. Other columns are ignored.

        Returns
        -------
        dict of str to torch.Tensor
            float32 ``[batch_size, width]`` for each column, in the order of the schema.

        Raises
        ------
        SchemaError
            If a column is missing, or a list where a scalar is expected or the reverse.
        DataError
            If an id is negative or not below the cardinality, naming column and id. On a GPU
            this cannot be seen here without waiting for it: call `check` before the batch is
            copied there.
        """
        try:
            return {column.name: self._look_up(column, batch) for column in self.columns}
        except (IndexError, RuntimeError):
            # PyTorch has seen an id without a row; say which. Anything else goes on as it is.
            self.check(batch)
            raise

    def check(self, batch: Batch) -> None:
        """Refuse ids that have no row in their table.

        Raises
        ------
        DataError
            Naming column, id and cardinality.
        """
        for column in self.columns:
            value = batch.get(column.name)
            ids = value.values if isinstance(value, Ragged) else value
            if ids is None or not ids.numel():
                continue
            low, high = (int(end) for end in torch.aminmax(ids))
            rows = self.tables[self._table_of[column.name]].shape[0]
            if low < 0 or high >= rows:
                wrong = low if low < 0 else high
                raise DataError(
                    f"column '{column.name}' holds id {wrong}, but its cardinality in the schema "
                    f"is {rows} (ids 0 to {rows - 1}); was the data written with another "
                    "workflow than the schema?"
                )

    def _look_up(self, column: Column, batch: Batch) -> torch.Tensor:
        value = batch.get(column.name)
        if value is None:
            raise SchemaError(f"the batch has no column '{column.name}'")
        table = self.tables[self._table_of[column.name]]
        if column.is_list != isinstance(value, Ragged):
            expected, found = ("lists", "scalars") if column.is_list else ("scalars", "lists")
            raise SchemaError(
                f"column '{column.name}' holds {expected} in the schema, but {found} in the batch"
            )
        if isinstance(value, Ragged):
            return F.embedding_bag(
                value.values.long(),
                table,
                value.offsets.long(),
                mode=self.pooling,
                sparse=True,
                include_last_offset=True,
                padding_idx=_padding_id(column),
            )
        return F.embedding(value.long(), table, padding_idx=_padding_id(column), sparse=True)

    def _clash(self, first: Column, second: Column) -> str | None:
        """Say why two columns of one domain name cannot share a table, None when they can."""
        for what, left, right in (
            ("cardinality", first.cardinality, second.cardinality),
            ("embedding size", self.dims[first.name], self.dims[second.name]),
        ):
            if left != right:
                return (
                    f"columns '{first.name}' and '{second.name}' share the domain "
                    f"'{self._table_of[first.name]}' and so an embedding table, but differ in "
                    f"{what}: {left} and {right}; make them equal or give the domains two names"
                )
        return None

    def extra_repr(self) -> str:
        """Return the pooling, for ``repr``."""
        return f"pooling={self.pooling!r}"


def _width(column: Column, dim: int | None) -> int:
    width = dim if dim is not None else column.resolved_embedding_size
    if width is None:
        raise SchemaError(f"column '{column.name}' has no embedding size")
    return width


def _table_name(column: Column) -> str:
    shared = None if column.domain is None else column.domain.name
    # A module cannot hold names with dots, and a domain must not meet a column of its name.
    name = f"column:{column.name}" if shared is None else f"domain:{shared}"
    return name.replace(".", "\N{ONE DOT LEADER}")


def _new_table(column: Column, width: int) -> nn.Parameter:
    rows = column.cardinality
    if rows is None:
        raise SchemaError(f"column '{column.name}' has no cardinality")
    try:
        weight = torch.empty(rows, width)
    except RuntimeError as error:
        raise ParameterError(
            f"the embedding table of column '{column.name}' needs {rows * width * 4 / 2**30:.1f} "
            f"GiB ({rows} ids of width {width}) and does not fit into memory; lower its embedding "
            "size, or its cardinality with Categorify(max_size=...)"
        ) from error
    bound = 1 / math.sqrt(rows)
    nn.init.uniform_(weight, -bound, bound)
    padding = _padding_id(column)
    if padding is not None:
        buckets = column.properties.get("num_buckets", 0)
        # Padding, null and out-of-vocabulary ids stand in a row.
        with torch.no_grad():
            weight[padding : padding + 2 + buckets].zero_()
    return nn.Parameter(weight)


def _padding_id(column: Column) -> int | None:
    """Return the id that stands for no value, None where each id is one."""
    padding: int | None = column.properties.get("padding_id")
    return padding
