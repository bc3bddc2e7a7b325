"""A stack of linear layers with ReLU between them."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

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
        layers: list[nn.Module] = []
        width = in_features
        for position, next_width in enumerate(widths, start=1):
            linear = nn.Linear(width, next_width)
            nn.init.xavier_normal_(linear.weight)
            nn.init.zeros_(linear.bias)
            layers.append(linear)
            if not (linear_output and position == len(widths)):
                layers.append(nn.ReLU())
                if dropout > 0:
                    layers.append(nn.Dropout(dropout))
            width = next_width
        self.layers = nn.Sequential(*layers)
        self.out_features = width

    def forward(self, inputs: Tensor) -> Tensor:
        """Map ``[batch_size, in_features]`` to ``[batch_size, out_features]``."""
        output: Tensor = self.layers(inputs)
        return output
