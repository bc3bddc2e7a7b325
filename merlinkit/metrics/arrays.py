"""What metrics accept: equally long one-dimensional arrays, checked once."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from merlinkit.errors import DataError, ParameterError

__all__ = ["Floats", "Values", "as_floats", "as_labels", "as_weights", "check_lengths"]

Floats: TypeAlias = npt.NDArray[np.float64]


@runtime_checkable
class _TensorLike(Protocol):
    """A PyTorch tensor, described so that metrics need no PyTorch."""

    def detach(self) -> Any: ...


Values: TypeAlias = npt.ArrayLike | _TensorLike
"""An array, a sequence of numbers, or a PyTorch tensor on any device."""


def _to_numpy(values: Values) -> npt.NDArray[Any]:
    if isinstance(values, _TensorLike):
        tensor = values.detach().cpu()
        # NumPy has no bfloat16; every other type is taken as it is.
        values = tensor.float() if "bfloat16" in str(tensor.dtype) else tensor
    return np.asarray(values)


def as_floats(values: Values, what: str, *, keep_single: bool = False) -> npt.NDArray[Any]:
    """Return values as a float64 array of shape ``[rows]``.

    Parameters
    ----------
    values
        Numbers; shape ``[rows]``.
    what
        What they are, for messages.
    keep_single
        Leave float32 as it is.

    Raises
    ------
    ParameterError
        If they are not one-dimensional.
    DataError
        If they are not numbers, or some are NaN.
    """
    array = _to_numpy(values)
    if array.ndim != 1:
        raise ParameterError(f"{what} must have one dimension, got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise DataError(f"{what} must be numbers, got {array.dtype}")
    if not (keep_single and array.dtype == np.float32):
        array = array.astype(np.float64, copy=False)
    if np.isnan(array).any():
        raise DataError(f"{what} hold {int(np.isnan(array).sum())} NaN of {array.size} values")
    return array


def as_labels(labels: Values) -> npt.NDArray[np.bool_]:
    """Return binary labels as a boolean array of shape ``[rows]``.

    Raises
    ------
    ParameterError
        If they are not one-dimensional.
    DataError
        If a label is neither 0 nor 1.
    """
    array = as_floats(labels, "labels", keep_single=True)
    positive: npt.NDArray[np.bool_] = array == 1
    other = ~(positive | (array == 0))
    if other.any():
        row = int(np.flatnonzero(other)[0])
        raise DataError(
            f"binary labels must be 0 or 1, got {array[row]:g} in row {row} "
            f"({int(other.sum())} of {array.size} rows are neither)"
        )
    return positive


def as_weights(weights: Values | None) -> Floats | None:
    """Return row weights as a float64 array of shape ``[rows]``, None when there are none.

    Raises
    ------
    DataError
        If one is negative or infinite, or all are zero.
    """
    if weights is None:
        return None
    array: Floats = as_floats(weights, "weights")
    if (array < 0).any() or np.isinf(array).any():
        raise DataError("weights must be finite and not negative")
    if array.size and not array.any():
        raise DataError("weights are all zero")
    return array


def check_lengths(**arrays: npt.NDArray[Any] | None) -> None:
    """Refuse arrays of different lengths.

    Raises
    ------
    ParameterError
        Naming the arrays and their lengths.
    """
    lengths = {name: array.size for name, array in arrays.items() if array is not None}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in lengths.items())
        raise ParameterError(f"arrays of different lengths: {listed}")
