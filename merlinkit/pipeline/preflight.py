"""What can be known of a run before it starts: configuration against the columns of the data."""

from __future__ import annotations

from merlinkit.data.dataset import Dataset
from merlinkit.data.synthetic import preset_of
from merlinkit.errors import ConfigError, MerlinkitError
from merlinkit.models.inputs import model_inputs, target_column
from merlinkit.pipeline.config import RunConfig
from merlinkit.pipeline.source import open_dataset
from merlinkit.schema import Domain, Schema, Tags
from merlinkit.training.config import Device
from merlinkit.training.target_kind import check_monitor, target_kind
from merlinkit.workflow.compile import Graph, resolve
from merlinkit.workflow.graph import Concat, Node

__all__ = ["check_against_data", "check_model_columns", "preflight"]


def preflight(config: RunConfig, *, needs_target: bool) -> Dataset | None:
    """Open the data set and hold the configuration against it, before anything is written.

    Returns
    -------
    Dataset or None
        The data set; None for one that the run itself will generate.

    Raises
    ------
    DataError
        If the data is missing or damaged.
    ConfigError
        With everything in the configuration that does not fit the data.
    """
    if config.dataset.synthetic is not None:
        check_against_data(
            config,
            preset_of(config.dataset.synthetic).schema(config.dataset.synthetic),
            needs_target=needs_target,
        )
        return None
    dataset = open_dataset(config.dataset, config.run_dir)
    check_against_data(config, dataset.schema, needs_target=needs_target)
    return dataset


def check_against_data(config: RunConfig, data: Schema, *, needs_target: bool) -> None:
    """Raise `ConfigError` with everything in the configuration that does not fit the data.

    Parameters
    ----------
    config
        The configuration.
    data
        Columns of the data.
    needs_target
        Whether a model will be trained.
    """
    problems: list[str] = []
    try:
        config.split.columns(data)
    except MerlinkitError as error:
        problems.append(f"split: {error}")
    branches = _branches(config.features)
    for index, branch in enumerate(branches):
        try:
            resolve(branch, data, {})
        except MerlinkitError as error:
            problems.append(f"features[{index}]: {error}")
    if not problems:
        try:
            graph = resolve(config.features, data, {})
        except MerlinkitError as error:
            problems.append(f"features: {error}")
        else:
            if needs_target:
                problems += _problems_of_training(config, graph)
    if problems:
        raise ConfigError(problems)


def _problems_of_training(config: RunConfig, graph: Graph) -> list[str]:
    """Return what would stop the training, as far as it can be known before fit."""
    # Ids that are learned have a domain once they are: any will do for now.
    output = Schema(
        column.with_domain(Domain(0, 1))
        if column.domain is None and column.dtype.is_integer() and _is_learned(graph, column.name)
        else column
        for column in graph.output_schema
    )
    problems = []
    try:
        check_model_columns(output)
    except MerlinkitError as error:
        problems.append(f"features: {error}")
    else:
        try:
            check_monitor(config.trainer.monitor, target_column(output))
        except ConfigError as error:
            problems += error.problems
        except MerlinkitError as error:
            problems.append(f"features: {error}")
    return problems + _problems_of_device(config.trainer.device)


def _problems_of_device(device: Device) -> list[str]:
    """Return what is wrong with the device of a training."""
    if device != "cuda":
        return []
    # PyTorch takes seconds to import, so it is asked only about what it must know.
    from merlinkit.training.trainer import resolve_device

    try:
        resolve_device(device)
    except ConfigError as error:
        return list(error.problems)
    return []


def _is_learned(graph: Graph, name: str) -> bool:
    """Tell whether an operator that learns stands between the data and an output column."""
    waiting = [graph.outputs()[name]]
    while waiting:
        node, made = waiting.pop()
        if node is None:
            continue
        if node.operator.needs_fit(graph.inputs(node)):
            return True
        sources = graph.sources(node)
        waiting += [sources[origin] for origin in node.operator.origins(graph.inputs(node))[made]]
    return False


def _branches(features: Node) -> list[Node]:
    """Return the entries of the features section, so that each can be checked by itself."""
    return list(features.parents) if isinstance(features, Concat) else [features]


def check_model_columns(output: Schema) -> None:
    """Raise `ConfigError` unless there is something to learn and something to learn it from."""
    if not len(output.by_tag(Tags.TARGET)):
        raise ConfigError(
            "no column is tagged target, so there is nothing to learn; add an entry such as "
            "{columns: [click], ops: [{op: AddTags, tags: [target, binary_classification]}]}"
        )
    target_kind(target_column(output))
    model_inputs(output)
    features = output.without_tag(Tags.TARGET).by_tag(Tags.CATEGORICAL, Tags.CONTINUOUS)
    if not len(features):
        raise ConfigError(
            "no column is tagged categorical or continuous, so a model has nothing to read; "
            "Categorify, Bucketize, Normalize and LogOp tag what they make"
        )
