"""Optimizers: sparse tables, dense rest, a state that can be moved."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from merlinkit.errors import ArtifactError, ParameterError
from merlinkit.training.optimizers import Optimizers

TABLE = "embeddings.tables.column:user"


def learn(model: torch.nn.Module, optimizers: Any, batches: list[Any]) -> None:
    for batch in batches:
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            model(batch), batch["click"].float()
        )
        optimizers.zero_grad()
        loss.backward()
        optimizers.step()


class ByFormula:
    """Dense steps written down from the papers, as a reference."""

    def __init__(self, weights: list[torch.nn.Parameter], name: str, rate: float) -> None:
        self.weights, self.name, self.rate, self.count = weights, name, rate, 0
        self.first = [torch.zeros_like(weight) for weight in weights]
        self.second = [torch.zeros_like(weight) for weight in weights]

    def zero_grad(self) -> None:
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        self.count += 1
        for weight, first, second in zip(self.weights, self.first, self.second, strict=True):
            assert weight.grad is not None
            table = weight.grad.is_sparse
            gradient = weight.grad.to_dense()
            if self.name == "sgd":
                weight.sub_(self.rate * gradient)
            elif self.name == "adagrad":
                second.add_(gradient**2)
                weight.sub_(self.rate * gradient / (second.sqrt() + 1e-10))
            else:
                first.mul_(0.9).add_(0.1 * gradient)
                second.mul_(0.999).add_(0.001 * gradient**2)
                unbiased = math.sqrt(1 - 0.999**self.count)
                # Tables take the form at the end of section 2 of Kingma and Ba, whose epsilon
                # is added before the bias is taken out.
                epsilon = 1e-8 if table else 1e-8 * unbiased
                size = self.rate * unbiased / (1 - 0.9**self.count)
                weight.sub_(size * first / (second.sqrt() + epsilon))


@pytest.mark.parametrize("name", ["adam", "adamw", "adagrad", "sgd"])
def test_equals_the_formula_when_every_row_is_looked_up(toy: Any, name: str) -> None:
    # 400 rows hold every id, so there is no row that only a dense optimizer would move.
    rows = toy.rows(400)
    model, reference = toy.model(), toy.model()
    learn(model, Optimizers(model, toy.config(optimizer=name, learning_rate=0.05)), [rows] * 3)
    learn(reference, ByFormula(list(reference.parameters()), name, 0.05), [rows] * 3)
    start = toy.model().state_dict()
    for (key, found), expected in zip(
        model.state_dict().items(), reference.state_dict().values(), strict=True
    ):
        assert torch.allclose(found, expected, atol=1e-5), key
        assert not torch.equal(found, start[key])


def test_weight_decay_shrinks_dense_weights_only(toy: Any) -> None:
    model = toy.model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizers = Optimizers(model, toy.config(optimizer="sgd", learning_rate=1, weight_decay=0.5))
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizers.step()
    after = model.state_dict()
    assert torch.allclose(after["top.layers.0.weight"], before["top.layers.0.weight"] / 2)
    assert torch.equal(after[TABLE], before[TABLE])


def test_step_sizes_scale(toy: Any) -> None:
    optimizers = Optimizers(toy.model(), toy.config(learning_rate=0.1, embedding_learning_rate=0.4))
    assert optimizers.set_scale(0.5) == 0.05
    rates = {kind: o.param_groups[0]["lr"] for kind, o in optimizers._optimizers.items()}
    assert rates == {"dense": 0.05, "sparse": 0.2}


def test_sparse_layers_of_pytorch_are_tables_too(toy: Any) -> None:
    model = torch.nn.ModuleDict(
        {
            "sparse": torch.nn.Embedding(5, 2, sparse=True),
            "dense": torch.nn.Embedding(5, 2),
            "bag": torch.nn.EmbeddingBag(5, 2, sparse=True),
        }
    )
    kinds = {
        name: kind
        for kind, weights in Optimizers(model, toy.config())._weights.items()
        for name in weights
    }
    assert kinds == {"sparse.weight": "sparse", "bag.weight": "sparse", "dense.weight": "dense"}


@pytest.mark.parametrize("name", ["adam", "adamw", "adagrad", "sgd"])
def test_state_moves_to_another_optimizer(toy: Any, name: str) -> None:
    rows = toy.rows(64)
    model, copy = toy.model(), toy.model(seed=5)
    config = toy.config(optimizer=name)
    first = Optimizers(model, config)
    learn(model, first, [rows, rows])
    copy.load_state_dict(model.state_dict())
    second = Optimizers(copy, config)
    tensors, numbers = first.state()
    second.load_state({key: value.clone() for key, value in tensors.items()}, numbers)
    learn(model, first, [rows])
    learn(copy, second, [rows])
    for left, right in zip(model.parameters(), copy.parameters(), strict=True):
        assert torch.equal(left, right)


def test_state_that_does_not_fit_is_named(toy: Any) -> None:
    optimizers = Optimizers(toy.model(), toy.config())
    with pytest.raises(ArtifactError, match="'dense/nothing/exp_avg' belongs to no weight"):
        optimizers.load_state({"dense/nothing/exp_avg": torch.zeros(1)}, {})
    key = f"sparse/{TABLE}/exp_avg"
    with pytest.raises(ArtifactError, match=r"has shape \[3\], expected \[21, 4\]"):
        optimizers.load_state({key: torch.zeros(3)}, {})


def test_nothing_to_learn(toy: Any) -> None:
    with pytest.raises(ParameterError, match="no weights to learn"):
        Optimizers(torch.nn.ReLU(), toy.config())
    frozen = torch.nn.Linear(1, 1).requires_grad_(False)
    with pytest.raises(ParameterError, match="no weights to learn"):
        Optimizers(frozen, toy.config())
