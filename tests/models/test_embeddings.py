"""Embedding tables: sizes, padding, lists, sharing and ids that cannot be."""

from __future__ import annotations

import math

import pytest
import torch

from merlinkit.errors import DataError, ParameterError, SchemaError
from merlinkit.loader import Ragged
from merlinkit.models import Embeddings
from merlinkit.schema import Column, Domain, Schema

PADDED = {"padding_id": 0}
USER = Column("user", "Int64", domain=Domain(0, 6), tags=["categorical"], properties=PADDED)
GENRES = Column(
    "genres", "List(Int64)", domain=Domain(0, 4), tags=["categorical"], properties=PADDED
)


def table(embeddings: Embeddings, name: str) -> torch.nn.Parameter:
    weight = embeddings.tables[name]
    assert isinstance(weight, torch.nn.Parameter)
    return weight


def test_a_table_has_as_many_rows_as_there_are_ids() -> None:
    # Pain: cardinality off by one. The highest id of the domain has a row, the next has none.
    embeddings = Embeddings(Schema([USER]), dim=3)
    assert table(embeddings, "column:user").shape == (7, 3)
    vectors = embeddings({"user": torch.tensor([6])})["user"]
    assert torch.equal(vectors[0], table(embeddings, "column:user")[6])


def test_sizes_come_from_the_schema() -> None:
    # Pain: embedding sizes of the schema ignored by the model.
    given = Column("item", "Int64", domain=Domain(0, 9), tags=["categorical"], embedding_size=5)
    large = Column("city", "Int64", domain=Domain(0, 999), tags=["categorical"])
    embeddings = Embeddings(Schema([given, large]))
    assert embeddings.dims == {"item": 5, "city": 77}
    assert Embeddings(Schema([given, large]), dim=8).dims == {"item": 8, "city": 8}


def test_initial_weights() -> None:
    torch.manual_seed(0)
    column = Column("c", "Int64", domain=Domain(0, 9999), tags=["categorical"])
    weight = table(Embeddings(Schema([column]), dim=16), "column:c").detach()
    bound = 1 / math.sqrt(10_000)
    assert float(weight.abs().max()) <= bound
    assert float(weight.min()) < -0.99 * bound and float(weight.max()) > 0.99 * bound
    # Standard deviation of a uniform distribution of width 2b is b / sqrt(3).
    assert float(weight.std()) == pytest.approx(bound / math.sqrt(3), rel=0.01)
    assert weight[0].any()


def test_reserved_ids_of_categorify_add_nothing_until_they_are_learned() -> None:
    encoded = Column(
        "c",
        "Int64",
        domain=Domain(0, 9),
        tags=["categorical"],
        properties={"padding_id": 0, "num_buckets": 3},
    )
    weight = table(Embeddings(Schema([encoded]), dim=4), "column:c").detach()
    # Padding, null and three buckets; the first value has id 5.
    assert not weight[:5].any()
    assert weight[5:].any(dim=1).all()


def test_zero_is_a_value_where_nothing_is_padding() -> None:
    # Pain: midnight, and the lowest bucket, were taken for padding and never learned.
    hour = Column("hour", "Int32", domain=Domain(0, 23), tags=["categorical"])
    hours = Column("hours", "List(Int32)", domain=Domain(0, 23), tags=["categorical"])
    embeddings = Embeddings(Schema([hour, hours]), dim=2)
    batch = {
        "hour": torch.tensor([0, 0]),
        "hours": Ragged.from_lists([[0, 1], [0]]),
    }
    vectors = embeddings(batch)
    assert vectors["hour"].abs().min() > 0
    weight = table(embeddings, "column:hours")
    assert torch.allclose(vectors["hours"][0], weight[:2].mean(dim=0))
    (vectors["hour"].sum() + vectors["hours"].sum()).backward()
    for name, count in (("column:hour", 2.0), ("column:hours", 1.5)):
        gradient = table(embeddings, name).grad
        assert gradient is not None
        assert torch.equal(gradient.to_dense()[0], torch.full((2,), count))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.int16, torch.uint8])
def test_any_integer_type_looks_up(dtype: torch.dtype) -> None:
    embeddings = Embeddings(Schema([USER, GENRES]), dim=2)
    batch = {
        "user": torch.tensor([3, 1], dtype=dtype),
        "genres": Ragged(torch.tensor([2, 4], dtype=dtype), torch.tensor([0, 1, 2])),
    }
    vectors = embeddings(batch)
    assert torch.equal(vectors["user"], table(embeddings, "column:user")[[3, 1]])
    assert torch.equal(vectors["genres"], table(embeddings, "column:genres")[[2, 4]])


def test_strided_columns_look_up() -> None:
    # The loader hands out columns of one matrix.
    matrix = torch.tensor([[1, 9], [2, 9], [3, 9]])
    embeddings = Embeddings(Schema([USER]), dim=2)
    assert torch.equal(
        embeddings({"user": matrix[:, 0]})["user"], table(embeddings, "column:user")[1:4]
    )


def hand_set() -> Embeddings:
    embeddings = Embeddings(Schema([GENRES]), dim=2)
    with torch.no_grad():
        table(embeddings, "column:genres").copy_(
            torch.tensor([[0.0, 0.0], [1.0, 10.0], [2.0, 20.0], [4.0, 40.0], [8.0, 80.0]])
        )
    return embeddings


LISTS = Ragged.from_lists([[1, 2], [], [3], [0, 0], [4, 0, 2, 2]])


def test_mean_is_over_what_is_not_padding() -> None:
    # Pain: ragged lists surprised. (8 + 2 + 2) / 3 = 4, the padding does not count.
    found = hand_set()({"genres": LISTS})["genres"]
    assert found.tolist() == [[1.5, 15.0], [0.0, 0.0], [4.0, 40.0], [0.0, 0.0], [4.0, 40.0]]


def test_sum() -> None:
    embeddings = hand_set()
    embeddings.pooling = "sum"
    found = embeddings({"genres": LISTS})["genres"]
    assert found.tolist() == [[3.0, 30.0], [0.0, 0.0], [4.0, 40.0], [0.0, 0.0], [12.0, 120.0]]


def test_a_batch_of_empty_lists_is_zero_and_can_be_learned_from() -> None:
    embeddings = hand_set()
    found = embeddings({"genres": Ragged.from_lists([[], [], []])})["genres"]
    assert found.tolist() == [[0.0, 0.0]] * 3
    found.sum().backward()
    gradient = table(embeddings, "column:genres").grad
    assert gradient is not None and not gradient.to_dense().any()


@pytest.mark.parametrize(
    ("pooling", "expected"),
    # Each list contributes 1 (sum) or 1 / (its length without padding) (mean) per element.
    [("sum", [0.0, 1.0, 3.0, 1.0, 1.0]), ("mean", [0.0, 1 / 2, 1 / 2 + 2 / 3, 1.0, 1 / 3])],
)
def test_gradients_are_sparse_and_leave_padding_out(pooling: str, expected: list[float]) -> None:
    embeddings = hand_set()
    embeddings.pooling = pooling  # type: ignore[assignment]
    embeddings({"genres": LISTS})["genres"].sum().backward()
    gradient = table(embeddings, "column:genres").grad
    assert gradient is not None and gradient.is_sparse
    assert 0 not in gradient.coalesce().indices()
    assert gradient.to_dense()[:, 0].tolist() == pytest.approx(expected)


def test_scalar_padding_is_zero_and_gets_no_gradient() -> None:
    embeddings = Embeddings(Schema([USER]), dim=2)
    vectors = embeddings({"user": torch.tensor([0, 5, 5, 0])})["user"]
    assert not vectors[[0, 3]].any() and vectors[1].any()
    vectors.sum().backward()
    gradient = table(embeddings, "column:user").grad
    assert gradient is not None and gradient.is_sparse
    assert gradient.to_dense()[:, 0].tolist() == [0, 0, 0, 0, 0, 2, 0]


def test_columns_of_one_domain_share_a_table() -> None:
    shared = Domain(0, 6, name="item")
    clicked = Column("clicked", "Int64", domain=shared, tags=["categorical"])
    seen = Column("seen", "List(Int64)", domain=shared, tags=["categorical"])
    embeddings = Embeddings(Schema([clicked, seen, USER]), dim=2)
    assert list(embeddings.tables) == ["domain:item", "column:user"]
    vectors = embeddings(
        {
            "clicked": torch.tensor([4]),
            "seen": Ragged.from_lists([[4]]),
            "user": torch.tensor([4]),
        }
    )
    assert torch.equal(vectors["clicked"], vectors["seen"])
    assert not torch.equal(vectors["clicked"], vectors["user"])
    (vectors["clicked"] + vectors["seen"]).sum().backward()
    gradient = table(embeddings, "domain:item").grad
    assert gradient is not None and gradient.to_dense()[4].tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Column("b", "Int64", domain=Domain(0, 7, "d"), tags=["categorical"]), "cardinality: 7 an"),
        (
            Column("b", "Int64", domain=Domain(0, 6, "d"), tags=["categorical"], embedding_size=4),
            "embedding size: 16 and 4",
        ),
    ],
)
def test_columns_that_cannot_share_a_table(other: Column, message: str) -> None:
    first = Column("a", "Int64", domain=Domain(0, 6, "d"), tags=["categorical"])
    with pytest.raises(SchemaError, match=f"'a' and 'b' share the domain.*'.*{message}"):
        Embeddings(Schema([first, other]))


def test_a_column_named_as_a_domain_keeps_its_own_table() -> None:
    shared = Column("a", "Int64", domain=Domain(0, 6, "user"), tags=["categorical"])
    assert len(Embeddings(Schema([shared, USER]), dim=2).tables) == 2


@pytest.mark.parametrize("name", ["a.b", "keys", "training", "a b", "é"])
def test_names_of_columns_are_free(name: str) -> None:
    column = Column(name, "Int64", domain=Domain(0, 6), tags=["categorical"])
    embeddings = Embeddings(Schema([column]), dim=2)
    assert embeddings({name: torch.tensor([1])})[name].shape == (1, 2)
    assert len(embeddings.state_dict()) == 1


@pytest.mark.parametrize(("wrong", "listed"), [(7, False), (-1, False), (5, True), (-3, True)])
def test_an_id_without_a_row_is_named(wrong: int, listed: bool) -> None:
    embeddings = Embeddings(Schema([USER, GENRES]), dim=2)
    batch = {"user": torch.tensor([1, 2]), "genres": Ragged.from_lists([[1], [2]])}
    name, rows = ("genres", 5) if listed else ("user", 7)
    if listed:
        batch["genres"] = Ragged.from_lists([[1], [2, wrong]])
    else:
        batch["user"] = torch.tensor([1, wrong])
    message = f"column '{name}' holds id {wrong}, but its cardinality in the schema is {rows} "
    with pytest.raises(DataError, match=message):
        embeddings(batch)
    with pytest.raises(DataError, match=message):
        embeddings.check(batch)


def test_missing_column_and_wrong_kind() -> None:
    embeddings = Embeddings(Schema([USER, GENRES]), dim=2)
    with pytest.raises(SchemaError, match="no column 'genres'"):
        embeddings({"user": torch.tensor([1])})
    with pytest.raises(SchemaError, match="'genres' holds lists in the schema, but scalars"):
        embeddings({"user": torch.tensor([1]), "genres": torch.tensor([1])})
    with pytest.raises(SchemaError, match="'user' holds scalars in the schema, but lists"):
        embeddings({"user": LISTS, "genres": LISTS})


def test_parameters_that_cannot_be() -> None:
    with pytest.raises(ParameterError, match="at least 1, got 0"):
        Embeddings(Schema([USER]), dim=0)
    with pytest.raises(ParameterError, match="Did you mean 'mean'"):
        Embeddings(Schema([USER]), pooling="meen")  # type: ignore[arg-type]


def test_a_table_that_does_not_fit_is_named() -> None:
    huge = Column("url", "Int64", domain=Domain(0, 10**13), tags=["categorical"])
    with pytest.raises(ParameterError, match=r"column 'url' needs 596046\.4 GiB .*max_size"):
        Embeddings(Schema([huge]), dim=16)
