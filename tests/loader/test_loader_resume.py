"""A pass continues in the middle of an epoch, exactly, or not at all."""

import json

import pytest

from merlinkit.errors import ArtifactError, ParameterError
from merlinkit.loader.decode import Decoder
from merlinkit.loader.reader import PieceReader


def ids(batches):
    return [batch["id"].tolist() for batch in batches]


def part_of(loader, count):
    """Receive some batches of a pass and leave it."""
    batches = iter(loader)
    return [next(batches) for _ in range(count)]


@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize(
    ("row_group_rows", "buffer_rows"), [(10, 1_000), (10, 30), (100, 30), (3, 8)]
)
def test_restart_in_the_middle_of_an_epoch(
    write_parts, make_loader, row_group_rows, buffer_rows, shuffle, prefetch
):
    write_parts([25, 0, 10, 28], row_group_rows)
    settings = {
        "buffer_rows": buffer_rows,
        "batch_size": 9,
        "shuffle": shuffle,
        "prefetch": prefetch,
    }
    reference = make_loader(**settings)
    reference.set_epoch(3)
    epoch = ids(reference)
    following = ids(reference)
    for received in range(len(epoch) + 1):
        first = make_loader(**settings)
        first.set_epoch(3)
        part_of(first, received)
        state = json.loads(json.dumps(first.state_dict()))

        second = make_loader(**settings)
        second.load_state_dict(state)
        assert second.epoch == 3
        assert ids(second) == epoch[received:]
        assert second.epoch == 4
        assert ids(second) == following


def test_state_counts_what_was_received_and_not_what_was_prefetched(write_parts, make_loader):
    write_parts([100], 10)
    loader = make_loader(batch_size=10, prefetch=5)
    batches = iter(loader)
    assert loader.state_dict()["batches"] == 0
    for received in range(1, 4):
        next(batches)
        assert loader.state_dict()["batches"] == received
    assert loader.state_dict()["epoch"] == 0
    for _ in batches:
        pass
    assert (loader.state_dict()["epoch"], loader.state_dict()["batches"]) == (1, 0)


def test_finished_windows_are_not_decoded(write_parts, make_loader, monkeypatch):
    write_parts([100] * 4, 5)
    loader = make_loader(buffer_rows=80, batch_size=10)
    part_of(loader, 35)
    state = loader.state_dict()
    decoded = []
    plain = Decoder.decode

    def counted(self, window):
        decoded.append(window.number)
        return plain(self, window)

    monkeypatch.setattr(Decoder, "decode", counted)
    loader.load_state_dict(state)
    assert len(list(loader)) == 5
    # Row groups of 5 rows are cut into pieces of 2 and 3, so windows of at most 40 rows may hold
    # 38; 350 rows are gone, so nine windows are and the tenth is begun or untouched.
    assert min(decoded) >= 8
    assert decoded == sorted(decoded)


def test_state_survives_that_the_folder_moves(tmp_path, write_parts, make_loader):
    write_parts([50], 10)
    loader = make_loader()
    part_of(loader, 2)
    state = loader.state_dict()
    rest = ids(iter_rest(make_loader(), state))
    moved = tmp_path / "moved"
    moved.mkdir()
    for file in tmp_path.glob("part-*"):
        file.rename(moved / file.name)
    assert ids(iter_rest(make_loader(path=moved), state)) == rest


def iter_rest(loader, state):
    loader.load_state_dict(state)
    return loader


def test_set_epoch_keeps_the_place_in_the_epoch_that_was_loaded(write_parts, make_loader):
    """A training loop sets the epoch at the head of each epoch, also of the resumed one."""
    write_parts([50], 10)
    loader = make_loader()
    loader.set_epoch(2)
    received = ids(part_of(loader, 3))
    state = loader.state_dict()
    loader = make_loader()
    loader.load_state_dict(state)
    loader.set_epoch(2)
    rest = ids(loader)
    whole = make_loader()
    whole.set_epoch(2)
    assert received + rest == ids(whole)


def test_set_epoch_after_leaving_a_pass_starts_the_epoch_anew(write_parts, make_loader):
    write_parts([50], 10)
    loader = make_loader()
    part_of(loader, 3)
    loader.set_epoch(0)
    assert ids(loader) == ids(make_loader())


def test_a_pass_after_one_left_early_is_the_next_epoch(write_parts, make_loader):
    write_parts([50], 10)
    reference = make_loader()
    reference.set_epoch(1)
    loader = make_loader()
    part_of(loader, 3)
    assert loader.epoch == 0
    assert ids(loader) == ids(reference)


def test_a_pass_beside_another_one_is_refused(write_parts, make_loader):
    write_parts([50], 10)
    loader = make_loader()
    first = iter(loader)
    next(first)
    second = iter(loader)
    next(second)
    with pytest.raises(RuntimeError, match="another one was begun"):
        next(first)
    assert len(list(second)) == len(loader) - 1


def test_moving_the_loader_ends_the_pass(write_parts, make_loader):
    write_parts([50], 10)
    loader = make_loader()
    batches = iter(loader)
    next(batches)
    loader.set_epoch(5)
    with pytest.raises(RuntimeError, match="set_epoch"):
        next(batches)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 2}, "seed 1 then, 2 now"),
        ({"batch_size": 4}, "batch_size 8 then, 4 now"),
        ({"shuffle": False}, "shuffle True then, False now"),
        ({"buffer_rows": 30}, r"half of buffer_rows\) 10 then, 15 now"),
    ],
)
def test_state_of_another_setting_is_refused(write_parts, make_loader, change, message):
    write_parts([50], 10)
    state = make_loader(buffer_rows=20).state_dict()
    other = make_loader(**{"buffer_rows": 20, **change})
    with pytest.raises(ArtifactError, match=message):
        other.load_state_dict(state)


def test_settings_without_influence_on_the_order_may_change(write_parts, make_loader):
    write_parts([50], 10)
    state = make_loader(buffer_rows=50, prefetch=0, columns=["id"]).state_dict()
    make_loader(buffer_rows=100, prefetch=4).load_state_dict(state)
    state = make_loader(buffer_rows=20, shuffle=False).state_dict()
    make_loader(buffer_rows=40, shuffle=False).load_state_dict(state)


@pytest.mark.parametrize(
    ("files", "row_group_rows", "message"),
    [
        ([30, 21], 10, "number of rows 50 then, 51 now"),
        ([30, 10, 10], 10, "number of files 2 then, 3 now"),
        ([20, 30], 10, "divided among them in another way"),
        ([30, 20], 7, "divided among them in another way"),
    ],
)
def test_state_of_other_data_is_refused(
    tmp_path, write_parts, make_loader, files, row_group_rows, message
):
    write_parts([30, 20], 10)
    state = make_loader().state_dict()
    write_parts(files, row_group_rows)
    with pytest.raises(ArtifactError, match=message):
        make_loader().load_state_dict(state)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"format": 2}, "of format 2, 1 expected"),
        ({"batches": 8}, "after batch 8, an epoch has only 7"),
        ({"batches": -1}, "batches of a loader state is -1"),
        ({"epoch": "one"}, "epoch of a loader state is 'one'"),
        ({"order": {"seed": 1}}, "not the state of a loader"),
        ({"order": None}, "not the state of a loader"),
    ],
)
def test_damaged_state_is_refused(write_parts, make_loader, damage, message):
    write_parts([50], 10)
    loader = make_loader()
    with pytest.raises(ArtifactError, match=message):
        loader.load_state_dict({**loader.state_dict(), **damage})
    with pytest.raises(ArtifactError, match="not the state of a loader"):
        loader.load_state_dict({})


def test_a_refused_state_leaves_the_loader_as_it_was(write_parts, make_loader):
    write_parts([50], 10)
    loader = make_loader()
    with pytest.raises(ArtifactError):
        loader.load_state_dict({**loader.state_dict(), "epoch": -1})
    assert ids(loader) == ids(make_loader())


@pytest.mark.parametrize("epoch", [-1, 1.0, True, None])
def test_set_epoch_takes_counts_only(write_parts, make_loader, epoch):
    write_parts([50], 10)
    with pytest.raises(ParameterError, match="epoch is"):
        make_loader().set_epoch(epoch)


def test_rows_that_fit_are_read_once(write_parts, make_loader, monkeypatch):
    write_parts([20, 30], 10)
    loader = make_loader(buffer_rows=50)
    pieces = []
    plain = PieceReader.read

    def counted(self, piece):
        pieces.append(piece)
        return plain(self, piece)

    monkeypatch.setattr(PieceReader, "read", counted)
    list(loader)
    read = len(pieces)
    assert read > 0
    list(loader)
    assert len(pieces) == read
