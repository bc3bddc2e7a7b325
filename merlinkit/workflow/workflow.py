"""Workflow: a graph of operators, fitted on data and applied to data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import polars as pl

from merlinkit.data.coerce import DatasetLike, RowSource, as_rows
from merlinkit.data.failures import POLARS_ERRORS, data_error
from merlinkit.dtypes import dtype_name
from merlinkit.engine.base import Engine
from merlinkit.engine.select import dialect_of, opened
from merlinkit.errors import MerlinkitError, SchemaError, did_you_mean
from merlinkit.ops.base import State
from merlinkit.schema import Schema
from merlinkit.workflow.backward import Backward
from merlinkit.workflow.compile import NO_STATE, Graph, resolve
from merlinkit.workflow.fit import fit_states
from merlinkit.workflow.graph import (
    Applied,
    Node,
    Selectable,
    Subset,
    as_node,
    selected_names,
)
from merlinkit.workflow.program import Program
from merlinkit.workflow.saving import load_workflow, save_workflow
from merlinkit.workflow.temporary_folder import TemporaryFolder
from merlinkit.workflow.transformed import Transformed

__all__ = ["Workflow"]


class Workflow:
    """A graph of operators that is fitted on data and applied to data.

    Parameters
    ----------
    output
        The node whose columns come out: ``["a", "b"] >> Op() >> Op2() + ["c"]``.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> from merlinkit import ops
    >>> logs = pl.DataFrame({"user": ["u1", "u2", "u1"], "price": [1.0, 2.0, 3.0]})
    >>> features = (["user"] >> ops.Categorify()) + (["price"] >> ops.Normalize())
    >>> workflow = mk.Workflow(features)
    >>> workflow.fit_transform(logs).collect().to_dict(as_series=False)
    {'user': [3, 4, 3], 'price': [-1.0, 0.0, 1.0]}
    """

    def __init__(self, output: Selectable) -> None:
        self.output = as_node(output)
        self._data: Schema | None = None
        self._states: dict[Node, State] = {}
        self._removed: frozenset[str] = frozenset()

    @classmethod
    def _restored(
        cls, output: Node, data: Schema, states: Mapping[Node, State], removed: Iterable[str]
    ) -> Workflow:
        workflow = cls(output)
        workflow._removed = frozenset(removed)
        workflow._data = data
        workflow._states = dict(states)
        return workflow

    # -- what it is ---------------------------------------------------------------------------

    @property
    def is_fitted(self) -> bool:
        """Whether `fit` was called, or the workflow was loaded."""
        return self._data is not None

    def _require_fit(self) -> Schema:
        if self._data is None:
            raise MerlinkitError("the workflow is not fitted; call fit first, or load a saved one")
        return self._data

    def graph(self) -> Graph:
        """Return the graph with the columns of every node, over the data that was fitted on."""
        return resolve(self.output, self._require_fit(), self._states, self._removed)

    @property
    def input_schema(self) -> Schema:
        """Columns of the data that the workflow reads, as they were at fit."""
        read = self.graph().data_columns() - self._removed
        return Schema(column for column in self._require_fit() if column.name in read)

    @property
    def output_schema(self) -> Schema:
        """Columns that come out, with their domains."""
        return self.graph().output_schema

    @property
    def states(self) -> Mapping[Node, State]:
        """What each operator learned, by node."""
        self._require_fit()
        return self._states

    def state(self, node: Applied) -> State:
        """Return what an operator of the graph learned."""
        self._require_fit()
        return self._states.get(node, NO_STATE)

    # -- fit ----------------------------------------------------------------------------------

    def fit_schema(self, data: Schema) -> Schema:
        """Check the graph against columns without data; return the columns that would come out.

        Domains of what is learned from data are unknown. Raises `SchemaError` for a missing
        column or a wrong data type.
        """
        return resolve(self.output, data, {}).output_schema

    def fit(
        self,
        data: DatasetLike,
        engine: str | Engine = "cpu",
        *,
        work_dir: str | Path | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Workflow:
        """Learn what the operators need to know of the data.

        Parameters
        ----------
        data
            A `Dataset`, or anything that one can be made of.
        engine
            Name of an engine, or an engine.
        work_dir
            Folder for statistics and vocabularies; with None they are kept in memory.
        progress
            Called with a line before each operator.

        Returns
        -------
        Workflow
            Itself. Fitting again forgets what was learned before.
        """
        dataset = as_rows(data, needed=selected_names(self.output))
        with opened(engine) as chosen:
            states = self._fitted(dataset.schema, dataset, chosen, work_dir, progress)
        self._states = states
        self._data = dataset.schema
        self._removed = frozenset()
        return self

    def _fitted(
        self,
        schema: Schema,
        rows: RowSource,
        engine: Engine,
        work_dir: str | Path | None,
        progress: Callable[[str], None] | None,
        inputs: tuple[pl.Expr, ...] | None = None,
        known: Mapping[Node, State] | None = None,
    ) -> dict[Node, State]:
        """Return what the operators learn; see `fit_states`."""
        temporary = None
        if work_dir is None and engine.name != "cpu":
            # What several processes learn has to be where each of them finds it.
            temporary = TemporaryFolder()
            work_dir = temporary.path
        folder = None if work_dir is None else Path(work_dir)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            engine.require_visible([folder])
        try:
            states = fit_states(
                self.output,
                schema,
                rows,
                engine,
                folder,
                progress,
                inputs=inputs,
                known=known,
            )
        except POLARS_ERRORS as error:
            raise data_error(f"{rows.name} cannot be fitted on", error) from error
        for state in states.values():
            for table in state.tables.values():
                table.kept_by = temporary
        return states

    # -- apply --------------------------------------------------------------------------------

    def plan(
        self, frame: pl.LazyFrame, engine: str | Engine = "cpu", *, training: bool = False
    ) -> pl.LazyFrame:
        """Return the plan that transforms a frame; its columns are checked against the fit."""
        data = Schema.from_polars(frame.collect_schema())
        return self._program(data, training).plan(frame, dialect_of(engine))

    def _program(self, data: Schema, training: bool) -> Program:
        """Return what transforms data of a schema, which is checked against the fit."""
        graph = self.graph()
        # What was removed flows through as null; nothing that is made from it comes out.
        removed = [
            pl.lit(None, dtype=self._require_fit()[name].polars_dtype).alias(name)
            for name in sorted(self._removed & graph.data_columns())
        ]
        inputs = (*self._casts(data), *removed)
        return Program(graph, graph.route(), self._states, training, inputs)

    def _casts(self, data: Schema) -> list[pl.Expr]:
        """Return the columns that are read, in the data types that they had at fit."""
        casts = []
        any_width = self.graph().columns_of_any_width()
        for column in self.input_schema:
            if column.name not in data:
                raise SchemaError(
                    f"column '{column.name}' is missing; the workflow was fitted with it."
                    f"{did_you_mean(column.name, data.names)}"
                )
            found = data[column.name]
            value = pl.col(column.name)
            if found.polars_dtype != column.polars_dtype:
                same_shape = found.is_list == column.is_list
                if found.dtype.is_integer() and same_shape and column.name in any_width:
                    casts.append(value)
                    continue
                both_integers = found.dtype.is_integer() and column.dtype.is_integer()
                both_floats = found.dtype.is_float() and column.dtype.is_float()
                harmless = both_integers or both_floats or isinstance(found.dtype, pl.Null)
                if not harmless or not (same_shape or isinstance(found.dtype, pl.Null)):
                    raise SchemaError(
                        f"column '{column.name}' is {dtype_name(found.polars_dtype)}, but the "
                        f"workflow was fitted with {dtype_name(column.polars_dtype)}; cast it, or "
                        "read it with that data type (dtypes=...)"
                    )
                value = value.cast(column.polars_dtype)
            casts.append(value)
        return casts

    def transform(
        self, data: DatasetLike, engine: str | Engine = "cpu", *, training: bool = False
    ) -> Transformed:
        """Return the transformed data, to be collected or written to parquet.

        Parameters
        ----------
        data
            A `Dataset`, or anything that one can be made of. Columns that the workflow does not
            read may be missing or added; integers of another width are cast.
        engine
            Name of an engine, or an engine.
        training
            Whether these are the rows that the workflow was fitted on and a model is trained on:
            operators that learn from the target then leave a row's own target out.

        Raises
        ------
        SchemaError
            If a column is missing or has another data type than at fit.
        """
        dataset = as_rows(data, self.input_schema)
        program = self._program(dataset.schema, training)
        return Transformed(self.output_schema, dataset, program, engine)

    def fit_transform(self, data: DatasetLike, engine: str | Engine = "cpu") -> Transformed:
        """Fit on data and return the same data transformed, as rows to train a model on."""
        dataset = as_rows(data, needed=selected_names(self.output))
        return self.fit(dataset, engine).transform(dataset, engine, training=True)

    def update(
        self,
        data: DatasetLike,
        engine: str | Engine = "cpu",
        *,
        work_dir: str | Path | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Workflow:
        """Learn from new data in addition to the data that the workflow was fitted on.

        Parameters
        ----------
        data, engine, work_dir, progress
            As for `fit`. The data has the columns of the fit.

        Returns
        -------
        Workflow
            Itself.

        Raises
        ------
        MerlinkitError
            If an operator cannot be updated, or the workflow is not fitted. What was learned
            before is then as it was.

        Notes
        -----
        Statistics are merged exactly: the result is that of a fit on all data, except for
        vocabularies, which keep every id and append new values, and for operators that follow one
        which changed: what they learned of the old data came through its old state.
        """
        schema = self._require_fit()
        dataset = as_rows(data, self.input_schema)
        if self._removed:
            raise MerlinkitError(
                f"the workflow was made without {', '.join(sorted(self._removed))}; update the "
                "one that it was made from"
            )
        inputs = tuple(self._casts(dataset.schema))
        with opened(engine) as chosen:
            self._states = self._fitted(
                schema, dataset, chosen, work_dir, progress, inputs, self._states
            )
        return self

    # -- back ---------------------------------------------------------------------------------

    def inverse_transform(self, data: DatasetLike, engine: str | Engine = "cpu") -> Transformed:
        """Turn output columns back into the columns of the data they were made from.

        Parameters
        ----------
        data
            Holds some of the output columns, and any others, which pass through: predictions with
            item ids, for example.

        Notes
        -----
        A column comes back if every operator on its way has an inverse and made it from one
        column, or is a Categorify that combined columns of the data; other output columns pass
        through as they are.
        """
        dataset = as_rows(data)
        back = Backward(self.graph(), self._states)
        plan = back.plan(dataset.scan(), dialect_of(engine))
        schema = Schema.from_polars(plan.collect_schema())
        return Transformed(schema, dataset, back, engine)

    # -- change -------------------------------------------------------------------------------

    def remove_inputs(self, names: str | Iterable[str]) -> Workflow:
        """Return a workflow that does not read some columns of the data.

        Outputs that are made from them, through any operator, are left out: the workflow for
        serving, which has no target, is the one for training without the target.

        Raises
        ------
        SchemaError
            If a column is not read, or nothing would come out.
        """
        removed = {names} if isinstance(names, str) else set(names)
        graph = self.graph()
        read = self.input_schema.names
        for name in sorted(removed):
            if name not in read:
                raise SchemaError(
                    f"the workflow does not read column '{name}'.{did_you_mean(name, read)}"
                )
        kept = [
            name for name, source in graph.outputs().items() if not graph.origins(source) & removed
        ]
        if not kept:
            raise SchemaError(
                f"without {', '.join(sorted(removed))} nothing comes out of the workflow"
            )
        return Workflow._restored(
            Subset(self.output, kept), self._require_fit(), self._states, self._removed | removed
        )

    # -- disk ---------------------------------------------------------------------------------

    def save(self, folder: str | Path, engine: str | Engine = "cpu") -> None:
        """Write the workflow into a folder: JSON and parquet, nothing that runs when loaded."""
        save_workflow(
            Path(folder),
            self.output,
            self._require_fit(),
            self._states,
            self._removed,
            engine,
        )

    @classmethod
    def load(cls, folder: str | Path) -> Workflow:
        """Read a workflow that `save` wrote; see `ArtifactError` for what is refused."""
        return load_workflow(Path(folder))

    def __repr__(self) -> str:
        return f"Workflow({self.output!r})"
