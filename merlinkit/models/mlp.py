"""A stack of linear layers with ReLU between them."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.functional import relu

__all__ = ["MLP"]


class MLP(nn.Module):
    """Applies ``relu(W x + b)`` layer after layer.

    Parameters
    ----------
    in_features
        Width of the input.
    widths
        Width of each layer's output; none returns the input unchanged.
    dropout
        Share of each hidden output set to zero while training.
    linear_output
        Leave out ReLU and dropout after the last layer.

    Attributes
    ----------
    out_features : int
        Width of the output.

    Notes
    -----
    Weights start as normal with variance ``2 / (in + out)`` (Glorot and Bengio, 2010) and biases
    as zero.

    Examples
    --------
    >>> import torch
    >>> MLP(3, [8, 4])(torch.zeros(2, 3)).shape
    torch.Size([2, 4])
    """

    def __init__(
        self,
        in_features: int,
        widths: Sequence[int],
        *,
        dropout: float = 0.0,
        linear_output: bool = False,
    ) -> None:
        super().__init__()
        # Only layers with weights are counted, so that dropout does not change their names and
        # weights that were trained with it can be used without.
        self.layers = nn.ModuleList()
        width = in_features
        for next_width in widths:
            linear = nn.Linear(width, next_width)
            nn.init.xavier_normal_(linear.weight)
            nn.init.zeros_(linear.bias)
            self.layers.append(linear)
            width = next_width
        self.dropout = nn.Dropout(dropout)
        self.linear_output = linear_output
        self.out_features = width

    def forward(self, inputs: Tensor) -> Tensor:
        """Map ``[batch_size, in_features]`` to ``[batch_size, out_features]``."""
        values = inputs
        last = len(self.layers) - 1
        for position, layer in enumerate(self.layers):
            values = layer(values)
            if position < last or not self.linear_output:
                values = self.dropout(relu(values))
        return values
