"""DLRM: numbers worked out by hand, shapes, and what it can learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from merlinkit.errors import SchemaError
from merlinkit.loader import Ragged
from merlinkit.metrics import auc
from merlinkit.models import DLRM, DLRMParameters
from merlinkit.schema import Column, Domain, Schema

USER = Column("user", "Int64", domain=Domain(0, 2), tags=["categorical"])
ITEM = Column("item", "Int64", domain=Domain(0, 2), tags=["categorical"])
GENRES = Column("genres", "List(Int64)", domain=Domain(0, 4), tags=["categorical"])
PRICE = Column("price", "Float32", tags=["continuous"])
AGE = Column("age", "Float64", tags=["continuous"])


def set_weights(model: DLRM, values: dict[str, list[object]]) -> None:
    own = dict(model.named_parameters())
    assert set(own) == set(values)
    with torch.no_grad():
        for name, value in values.items():
            own[name].copy_(torch.tensor(value))


def test_forward_worked_by_hand() -> None:
    model = DLRM(
        Schema([USER, PRICE, ITEM]),
        DLRMParameters(embedding_dim=2, bottom_mlp=[2], top_mlp=[2]),
    )
    set_weights(
        model,
        {
            "embeddings.tables.column:user": [[0, 0], [1, 2], [3, -1]],
            "embeddings.tables.column:item": [[0, 0], [2, 1], [-1, 4]],
            "bottom.layers.0.weight": [[2], [-1]],
            "bottom.layers.0.bias": [1, 1],
            # Inputs: z0 (2), then z1.z0, z2.z0, z2.z1.
            "top.layers.0.weight": [[1, 0, 1, 0, 2], [0, 1, 0, -1, 1]],
            "top.layers.0.bias": [0, 1],
            "top.layers.1.weight": [[1, 10]],
            "top.layers.1.bias": [-3],
        },
    )
    logits = model(
        {
            "user": torch.tensor([1, 2]),
            "item": torch.tensor([2, 0]),
            "price": torch.tensor([1.0, -2.0]),
        }
    )
    # Row 1: z0 = relu([3, 0]) = [3, 0]; user [1, 2], item [-1, 4].
    #   products: 3, -3, -1 + 8 = 7; hidden: 3 + 3 + 14 = 20, 0 + 3 + 7 + 1 = 11; 20 + 110 - 3.
    # Row 2: z0 = relu([-3, 3]) = [0, 3]; user [3, -1], item is padding [0, 0].
    #   products: -3, 0, 0; hidden: relu(0 - 3) = 0, 3 + 1 = 4; 0 + 40 - 3.
    assert logits.tolist() == [127.0, 37.0]


def test_sizes_of_the_schema_are_projected_worked_by_hand() -> None:
    wide = Column("user", "Int64", domain=Domain(0, 1), tags=["categorical"], embedding_size=3)
    fits = Column("item", "Int64", domain=Domain(0, 1), tags=["categorical"], embedding_size=2)
    model = DLRM(
        Schema([wide, fits]), DLRMParameters(embedding_dim=None, bottom_mlp=[2], top_mlp=[])
    )
    set_weights(
        model,
        {
            "origin": [1, -1],
            "embeddings.tables.column:user": [[0, 0, 0], [1, 2, 3]],
            "embeddings.tables.column:item": [[0, 0], [5, 7]],
            "projections.0.weight": [[1, 1, 0], [0, 0, 2]],
            "top.layers.0.weight": [[1, 10, 100, 1000, 10000]],
            "top.layers.0.bias": [0.5],
        },
    )
    # The user becomes [3, 6]: products 3 - 6 = -3, 5 - 7 = -2 and 15 + 42 = 57.
    logits = model({"user": torch.tensor([1]), "item": torch.tensor([1])})
    assert logits.tolist() == [1 - 10 - 300 - 2000 + 570_000 + 0.5]


@pytest.mark.parametrize(
    "columns",
    [
        [USER],
        [GENRES],
        [PRICE],
        [PRICE, AGE],
        [USER, PRICE],
        [USER, ITEM, GENRES],
        [USER, GENRES, PRICE, AGE],
    ],
    ids=lambda columns: "+".join(column.name for column in columns),
)
@pytest.mark.parametrize("embedding_dim", [4, None])
def test_any_mix_of_columns(columns: list[Column], embedding_dim: int | None) -> None:
    torch.manual_seed(0)
    model = DLRM(Schema(columns), DLRMParameters(embedding_dim=embedding_dim))
    batch = {
        "user": torch.tensor([1, 2, 0]),
        "item": torch.tensor([2, 1, 1]),
        "genres": Ragged.from_lists([[1, 2], [], [4]]),
        "price": torch.tensor([0.1, 0.2, 0.3]),
        "age": torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64),
        "other": torch.tensor([9, 9, 9]),
    }
    logits = model(batch)
    assert logits.shape == (3,) and logits.dtype == torch.float32
    logits.sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())
    # Each input column has a say.
    for column in columns:
        changed = {**batch}
        changed[column.name] = (
            Ragged.from_lists([[3], [3], [3]])
            if column.is_list
            else torch.tensor([2, 1, 2], dtype=batch[column.name].dtype)  # type: ignore[union-attr]
        )
        assert not torch.equal(model(changed), logits)


def test_no_feature_columns_is_a_clear_error() -> None:
    with pytest.raises(SchemaError, match=r"no column tagged 'categorical' or 'continuous'.*click"):
        DLRM(Schema([Column("click", "Int8", tags=["target"])]))


def test_missing_column_and_lists_for_numbers() -> None:
    model = DLRM(Schema([PRICE]))
    with pytest.raises(SchemaError, match="no column 'price'"):
        model({"age": torch.tensor([1.0])})
    with pytest.raises(SchemaError, match="'price' holds scalars in the schema, but lists"):
        model({"price": Ragged.from_lists([[1.0]], torch.float32)})


def test_weights_trained_with_dropout_fit_a_model_without() -> None:
    schema = Schema([USER, PRICE])
    trained = DLRM(schema, DLRMParameters(dropout=0.5))
    DLRM(schema, DLRMParameters()).load_state_dict(trained.state_dict())


def test_dropout_acts_in_training_only() -> None:
    torch.manual_seed(0)
    model = DLRM(Schema([USER, PRICE]), DLRMParameters(dropout=0.5))
    batch = {"user": torch.tensor([1] * 8), "price": torch.full((8,), 0.5)}
    assert len(set(model(batch).tolist())) > 1
    model.eval()
    assert torch.allclose(model(batch), model(batch)[0].expand(8))


def test_learns_an_interaction_that_logistic_regression_cannot() -> None:
    # The label is whether the two ids differ; neither id alone says anything.
    rng = np.random.default_rng(0)
    ids = rng.integers(1, 3, size=(2000, 2))
    labels = ids[:, 0] != ids[:, 1]
    train, test = slice(0, 1500), slice(1500, None)
    one_hot = OneHotEncoder(sparse_output=False).fit_transform(ids)
    linear = LogisticRegression().fit(one_hot[train], labels[train])
    assert auc(labels[test], linear.decision_function(one_hot[test])) < 0.6

    torch.manual_seed(0)
    model = DLRM(Schema([USER, ITEM]), DLRMParameters(embedding_dim=4, top_mlp=[8]))
    optimizer = torch.optim.SparseAdam([*model.embeddings.parameters()], lr=0.05)
    dense = torch.optim.Adam(
        [weight for name, weight in model.named_parameters() if "tables" not in name], lr=0.05
    )
    batch = {"user": torch.from_numpy(ids[:, 0]), "item": torch.from_numpy(ids[:, 1])}
    target = torch.from_numpy(labels).float()
    for _ in range(60):
        rows = {name: value[train] for name, value in batch.items()}
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(rows), target[train])
        model.zero_grad()
        loss.backward()
        optimizer.step()
        dense.step()
    logits = model({name: value[test] for name, value in batch.items()})
    assert auc(labels[test], logits) > 0.99
