"""Models by name: defaults, refusals, seeds."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch

from merlinkit.errors import ParameterError
from merlinkit.models import DLRM, build_model, check_model, model_names, model_parameters
from merlinkit.schema import Column, Domain, Schema

SCHEMA = Schema(
    [
        Column("user", "Int64", domain=Domain(0, 9), tags=["categorical"]),
        Column("price", "Float32", tags=["continuous"]),
    ]
)


def test_described_parameters() -> None:
    assert model_names() == ["dlrm"]
    described = model_parameters("dlrm")
    assert {name: item.default for name, item in described.items()} == {
        "embedding_dim": 16,
        "bottom_mlp": (64, 32),
        "top_mlp": (128, 64),
        "dropout": 0.0,
        "pooling": "mean",
    }
    assert all(item.help for item in described.values())


def test_builds_with_defaults_and_with_values() -> None:
    model = build_model("dlrm", {}, SCHEMA)
    assert isinstance(model, DLRM)
    assert model.embeddings.dims == {"user": 16}
    small = build_model("dlrm", {"embedding_dim": 4, "top_mlp": [8], "pooling": "sum"}, SCHEMA)
    assert isinstance(small, DLRM)
    assert small.embeddings.dims == {"user": 4} and small.embeddings.pooling == "sum"


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("dlmr", {}, "unknown model 'dlmr'. Did you mean 'dlrm'"),
        ("dlrm", {"embeding_dim": 4}, "no parameter 'embeding_dim'. Did you mean 'embedding_dim'"),
        ("dlrm", {"a1": 1, "b2": 2}, "'a1'.* 'b2'.*It has: embedding_dim, bottom_mlp"),
        ("dlrm", {"embedding_dim": 0}, "'dlrm': embedding_dim must be .* got 0"),
        ("dlrm", {"embedding_dim": True}, "embedding_dim .* got True"),
        ("dlrm", {"top_mlp": "64"}, "top_mlp must be a list .* got '64'"),
        ("dlrm", {"top_mlp": [64, 0.5]}, "top_mlp must be a list"),
        ("dlrm", {"bottom_mlp": 64}, "bottom_mlp must be a list .* got 64"),
        ("dlrm", {"dropout": 1}, "dropout must be .* got 1"),
        ("dlrm", {"pooling": "max"}, "pooling must be 'sum' or 'mean', got 'max'"),
        ("dlrm", {"embedding_dim": None, "bottom_mlp": []}, "cannot both be empty"),
        ("dlrm", {"dropout": -1, "pooling": 3}, "dropout .*; pooling "),
    ],
)
def test_refusals(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_model(name, params)
    with pytest.raises(ParameterError, match=message):
        build_model(name, params, SCHEMA)


def test_a_seed_gives_the_same_weights_and_leaves_the_random_state() -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    one = build_model("dlrm", {}, SCHEMA, seed=1).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    same = build_model("dlrm", {}, SCHEMA, seed=1).state_dict()
    other = build_model("dlrm", {}, SCHEMA, seed=2).state_dict()
    name = "embeddings.tables.column:user"
    assert torch.equal(one[name], same[name]) and not torch.equal(one[name], other[name])


def test_listing_and_checking_need_no_torch() -> None:
    code = (
        "import sys, merlinkit.models as m, merlinkit.training as t\n"
        "m.check_model('dlrm', {'dropout': 0.1}); m.model_parameters('dlrm')\n"
        "t.TrainerConfig(epochs=2); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
