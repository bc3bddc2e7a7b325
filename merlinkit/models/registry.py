"""Models by name, for configurations. Listing and checking them needs no PyTorch."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from merlinkit.errors import ParameterError, did_you_mean
from merlinkit.models.ranking.dlrm_parameters import DLRMParameters
from merlinkit.schema import Schema

if TYPE_CHECKING:
    from torch import nn

__all__ = ["ModelParameter", "build_model", "check_model", "model_names", "model_parameters"]


@dataclass(frozen=True, slots=True)
class ModelParameter:
    """One parameter of a model.

    Parameters
    ----------
    name
        Its name in a configuration.
    default
        Its value when it is not given.
    help
        What it does, in a few words.
    """

    name: str
    default: Any
    help: str


@dataclass(frozen=True, slots=True)
class _Entry:
    parameters: type[Any]
    """A dataclass whose construction checks the parameters."""
    module: str
    """Where the model class is; imported when a model is built."""
    class_name: str


_MODELS: Mapping[str, _Entry] = MappingProxyType(
    {"dlrm": _Entry(DLRMParameters, "merlinkit.models.ranking.dlrm", "DLRM")}
)


def model_names() -> list[str]:
    """Return the names of all models.

    Examples
    --------
    >>> model_names()
    ['dlrm']
    """
    return sorted(_MODELS)


def model_parameters(name: str) -> dict[str, ModelParameter]:
    """Return the parameters that a model accepts, by name.

    Raises
    ------
    ParameterError
        If there is no model of that name.

    Examples
    --------
    >>> {name: item.default for name, item in model_parameters("dlrm").items()}["embedding_dim"]
    16
    """
    described = {}
    for item in fields(_entry(name).parameters):
        default = item.default_factory() if item.default_factory is not MISSING else item.default
        described[item.name] = ModelParameter(item.name, default, item.metadata.get("help", ""))
    return described


def check_model(name: str, params: Mapping[str, Any]) -> None:
    """Refuse a model or parameters that `build_model` would refuse, before any work.

    Raises
    ------
    ParameterError
        If the model or a parameter is unknown, or a value is not allowed.
    """
    _checked(name, params)


def build_model(
    name: str, params: Mapping[str, Any], schema: Schema, *, seed: int | None = None
) -> nn.Module:
    """Return a new model with random weights.

    Parameters
    ----------
    name
        Which model; see `model_names`.
    params
        Its parameters; see `model_parameters`. Those left out take their defaults.
    schema
        Columns of the processed data; cardinalities and embedding sizes come from it.
    seed
        The same seed gives the same weights, and PyTorch's random state is left as it was. None
        draws from that state.

    Raises
    ------
    ParameterError
        If the model or a parameter is unknown, or a value is not allowed.
    SchemaError
        If the schema has no feature columns or some that the model cannot use.

    Examples
    --------
    >>> build_model("dlmr", {}, Schema())
    Traceback (most recent call last):
        ...
    merlinkit.errors.ParameterError: unknown model 'dlmr'. Did you mean 'dlrm'? There are: dlrm.
    """
    checked = _checked(name, params)
    import torch

    entry = _entry(name)
    build = getattr(importlib.import_module(entry.module), entry.class_name)
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        model: nn.Module = build(schema, checked)
    return model


def _entry(name: str) -> _Entry:
    try:
        return _MODELS[name]
    except KeyError:
        raise ParameterError(
            f"unknown model '{name}'.{did_you_mean(name, _MODELS)} "
            f"There are: {', '.join(model_names())}."
        ) from None


def _checked(name: str, params: Mapping[str, Any]) -> Any:
    entry = _entry(name)
    known = [item.name for item in fields(entry.parameters)]
    unknown = [key for key in params if key not in known]
    if unknown:
        sentences = [
            f"model '{name}' has no parameter '{key}'.{did_you_mean(str(key), known)}"
            for key in unknown
        ]
        raise ParameterError(f"{' '.join(sentences)} It has: {', '.join(known)}.")
    try:
        return entry.parameters(**params)
    except ParameterError as error:
        raise ParameterError(f"model '{name}': {error}") from None
