"""The optimizer of a model: one for its dense weights, one for its embedding tables.

An embedding table can have a hundred million rows of which a batch looks up a few thousand. Its
gradient is therefore sparse, a list of rows and their values, and the optimizer of the tables
works on these rows alone: `torch.optim.SparseAdam` for Adam, and Adagrad and SGD, which
understand sparse gradients themselves. The time of a step then depends on the batch and not on
the table. (Dense Adam would read and write every row of three arrays of the table's size at
every step.) The price: SparseAdam's averages of a row decay only when the row is looked up, and
weight decay, which is about every row, is left to the dense weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.sparse import check_sparse_tensor_invariants

from merlinkit.errors import ArtifactError, ParameterError
from merlinkit.models.embeddings import Embeddings
from merlinkit.training.config import TrainerConfig

__all__ = ["Optimizers"]

_DENSE, _SPARSE = "dense", "sparse"


class Optimizers:
    """Steps all weights of a model.

    Parameters
    ----------
    model
        Tables of `Embeddings`, and of ``nn.Embedding`` and ``nn.EmbeddingBag`` made with
        ``sparse=True``, are stepped sparsely, all other weights densely.
    config
        Which optimizer, and its step sizes.

    Raises
    ------
    ParameterError
        If the model has nothing to learn.
    """

    def __init__(self, model: nn.Module, config: TrainerConfig) -> None:
        sparse_ids = {id(weight) for weight in _sparse_weights(model)}
        named = [
            (name, weight) for name, weight in model.named_parameters() if weight.requires_grad
        ]
        if not named:
            raise ParameterError("the model has no weights to learn")
        groups = {
            _DENSE: {name: weight for name, weight in named if id(weight) not in sparse_ids},
            _SPARSE: {name: weight for name, weight in named if id(weight) in sparse_ids},
        }
        self._weights = {kind: weights for kind, weights in groups.items() if weights}
        self._rates = {
            _DENSE: config.learning_rate,
            _SPARSE: config.embedding_learning_rate or config.learning_rate,
        }
        self._clip = config.gradient_clip
        self._optimizers = {
            kind: _optimizer(list(weights.values()), kind, self._rates[kind], config)
            for kind, weights in self._weights.items()
        }

    def set_scale(self, scale: float) -> float:
        """Set the step sizes to a share of their full value and return that of dense weights."""
        for kind, optimizer in self._optimizers.items():
            for group in optimizer.param_groups:
                group["lr"] = self._rates[kind] * scale
        return self._rates[_DENSE] * scale

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for optimizer in self._optimizers.values():
            optimizer.zero_grad(set_to_none=True)

    def step(self) -> None:
        """Step all weights along their gradients."""
        if self._clip is not None and _DENSE in self._weights:
            nn.utils.clip_grad_norm_(self._weights[_DENSE].values(), self._clip)
        # Adagrad builds sparse tensors from indices that are valid by construction; saying so
        # keeps PyTorch from warning that it does not check them.
        with check_sparse_tensor_invariants(enable=False):  # type: ignore[no-untyped-call]
            for optimizer in self._optimizers.values():
                optimizer.step()

    # -- saved form ---------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, int | float]]:
        """Return the state as tensors and numbers by name: ``kind/weight/entry``."""
        tensors: dict[str, torch.Tensor] = {}
        numbers: dict[str, int | float] = {}
        for kind, optimizer in self._optimizers.items():
            for name, weight in self._weights[kind].items():
                for entry, value in optimizer.state.get(weight, {}).items():
                    key = f"{kind}/{name}/{entry}"
                    if isinstance(value, torch.Tensor):
                        tensors[key] = value
                    else:
                        numbers[key] = value
        return tensors, numbers

    def load_state(
        self, tensors: Mapping[str, torch.Tensor], numbers: Mapping[str, int | float]
    ) -> None:
        """Take over the state that `state` returned.

        Raises
        ------
        ArtifactError
            If it is of another model or optimizer, naming what does not fit.
        """
        found: dict[str, dict[str, dict[str, Any]]] = {kind: {} for kind in self._optimizers}
        for key, value in [*tensors.items(), *numbers.items()]:
            kind, _, rest = key.partition("/")
            name, _, entry = rest.rpartition("/")
            weight = self._weights.get(kind, {}).get(name)
            if weight is None:
                raise ArtifactError(f"optimizer state '{key}' belongs to no weight of this model")
            if isinstance(value, torch.Tensor) and value.ndim and value.shape != weight.shape:
                raise ArtifactError(
                    f"optimizer state '{key}' has shape {list(value.shape)}, "
                    f"expected {list(weight.shape)}"
                )
            found[kind].setdefault(name, {})[entry] = value
        for kind, optimizer in self._optimizers.items():
            saved = optimizer.state_dict()
            saved["state"] = {
                position: found[kind][name]
                for position, name in enumerate(self._weights[kind])
                if name in found[kind]
            }
            optimizer.load_state_dict(saved)


def _sparse_weights(model: nn.Module) -> Iterator[nn.Parameter]:
    for module in model.modules():
        is_sparse_layer = isinstance(module, nn.Embedding | nn.EmbeddingBag) and module.sparse
        if isinstance(module, Embeddings) or is_sparse_layer:
            yield from module.parameters()


def _optimizer(
    weights: list[nn.Parameter], kind: str, rate: float, config: TrainerConfig
) -> torch.optim.Optimizer:
    decay = config.weight_decay if kind == _DENSE else 0.0
    match config.optimizer:
        case "adam" | "adamw" if kind == _SPARSE:
            return torch.optim.SparseAdam(weights, lr=rate)
        case "adam":
            return torch.optim.Adam(weights, lr=rate, weight_decay=decay)
        case "adamw":
            return torch.optim.AdamW(weights, lr=rate, weight_decay=decay)
        case "adagrad":
            return torch.optim.Adagrad(weights, lr=rate, weight_decay=decay)
        case "sgd":
            return torch.optim.SGD(weights, lr=rate, weight_decay=decay)
