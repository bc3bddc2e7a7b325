"""How well, and how reproducibly, rows are mixed."""

import logging

import numpy as np
import pytest

from merlinkit.loader.order import SPREAD, shuffled, windows


def ids(loader):
    return [batch["id"].tolist() for batch in loader]


@pytest.mark.parametrize("buffer_rows", [10_000, 200])
def test_shuffle_was_silently_ignored(write_parts, make_loader, buffer_rows):
    write_parts([100, 150, 50, 200], 10)
    loader = make_loader(buffer_rows=buffer_rows)
    first, second = ids(loader), ids(loader)
    assert first != second
    assert ids(make_loader(buffer_rows=buffer_rows)) == first
    assert ids(make_loader(buffer_rows=buffer_rows, seed=2)) != first


@pytest.mark.parametrize("buffer_rows", [10_000, 200])
@pytest.mark.parametrize("prefetch", [0, 1, 5])
def test_order_is_independent_of_prefetch(write_parts, make_loader, buffer_rows, prefetch):
    write_parts([100, 150, 50, 200], 10)
    reference = ids(make_loader(buffer_rows=buffer_rows, prefetch=2))
    assert ids(make_loader(buffer_rows=buffer_rows, prefetch=prefetch)) == reference


@pytest.mark.parametrize("buffer_rows", [10_000, 200])
def test_epoch_alone_decides_the_order(write_parts, make_loader, buffer_rows):
    write_parts([100, 150, 50, 200], 10)
    loader = make_loader(buffer_rows=buffer_rows)
    epochs = [ids(loader) for _ in range(3)]
    assert len({str(epoch) for epoch in epochs}) == 3
    other = make_loader(buffer_rows=buffer_rows)
    other.set_epoch(2)
    assert ids(other) == epochs[2]
    other.set_epoch(1)
    assert ids(other) == epochs[1]


@pytest.mark.parametrize("buffer_rows", [100_000, 4_000])
def test_shuffle_was_only_within_a_partition(write_parts, make_loader, buffer_rows):
    files = 20
    write_parts([1_000] * files, 50)
    loader = make_loader(buffer_rows=buffer_rows, batch_size=100)
    batches = [batch["file"].numpy() for batch in loader]
    # A perfect shuffle of 20 files has some 19.9 of them in a batch of 100 rows. A window of
    # 2,000 rows is of 40 row groups, so of some 17.4 files: 20 * (1 - 0.95 ** 40).
    assert len(np.unique(batches[0])) >= 12
    assert np.mean([len(np.unique(batch)) for batch in batches]) > 14
    file = np.concatenate(batches)
    position = np.arange(len(file))
    # Windows are whole row groups, so there are 400 independent draws: standard error 1 / 20.
    assert abs(np.corrcoef(position, file)[0, 1]) < 0.15


def test_rows_of_a_large_row_group_are_mixed_with_those_of_others(write_parts, make_loader):
    """Four row groups of 500 rows and windows of 200: each window has rows of all four."""
    write_parts([500] * 4, 500)
    loader = make_loader(buffer_rows=400, batch_size=200)
    for batch in loader:
        counts = np.bincount(batch["file"].numpy(), minlength=4)
        assert counts.min() > 20


def test_each_window_has_a_permutation_of_its_own(write_parts, make_loader):
    """One row group in ten windows of 40 rows, one after the other."""
    write_parts([400], 400)
    orders = set()
    loader = make_loader(buffer_rows=80, batch_size=40)
    for _ in range(2):
        for batch in loader:
            ids = batch["id"] - batch["id"].min()
            assert sorted(ids.tolist()) == list(range(40))
            orders.add(tuple(ids.tolist()))
    assert len(orders) == 20


def test_a_row_group_larger_than_the_buffer_is_warned_of(write_parts, make_loader, caplog):
    write_parts([30, 500], 500)
    with caplog.at_level(logging.WARNING, "merlinkit"):
        make_loader(buffer_rows=600)
        make_loader(buffer_rows=400, shuffle=False)
        assert not caplog.records
        make_loader(buffer_rows=400)
    (record,) = caplog.records
    message = record.getMessage()
    assert "part-001.parquet has a row group of 500 rows, more than the 200" in message
    assert f"row_group_size={200 // SPREAD})" in message


def test_the_command_of_the_warning_works(tmp_path, write_parts, make_loader, caplog):
    """The command is run as it is printed, with the interpreter of the tests."""
    import shlex
    import subprocess
    import sys

    import pyarrow.parquet as pq

    write_parts([500], 500)
    with caplog.at_level(logging.WARNING, "merlinkit"):
        make_loader(buffer_rows=400)
    command = shlex.split(caplog.records[0].getMessage().partition("old one: ")[2])
    assert command[0] == "python"
    subprocess.run([sys.executable, *command[1:]], check=True, timeout=60)
    footer = pq.read_metadata(tmp_path / "part-000.parquet.smaller")
    assert footer.num_rows == 500
    assert max(footer.row_group(k).num_rows for k in range(footer.num_row_groups)) <= 12


def test_permutations_are_uniform():
    """Chi-square over the 6 orders of 3 rows; 20.5 is exceeded once in 1,000 (5 degrees)."""
    draws = 6_000
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(draws):
        order = tuple(shuffled(3, seed).tolist())
        counts[order] = counts.get(order, 0) + 1
    expected = draws / 6
    assert len(counts) == 6
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 20.5


def _philox_words(n: int, key: tuple[int, int]) -> list[int]:
    """Philox 4x64 with 10 rounds, from the paper; NumPy starts at counter 1."""
    mask = 2**64 - 1
    words: list[int] = []
    counter = 1
    while len(words) < n:
        x = [counter, 0, 0, 0]
        k0, k1 = key
        for _ in range(10):
            low, high = x[0] * 0xD2E7470EE14C6C93, x[2] * 0xCA5A826395121157
            x = [(high >> 64) ^ x[1] ^ k0, high & mask, (low >> 64) ^ x[3] ^ k1, low & mask]
            k0, k1 = (k0 + 0x9E3779B97F4A7C15) & mask, (k1 + 0xBB67AE8584CAA73B) & mask
        words += x
        counter += 1
    return words[:n]


@pytest.mark.parametrize("n", [1, 2, 7, 100, 1025])
def test_permutation_by_an_implementation_in_whole_numbers(n):
    """The order must survive new releases of NumPy, or runs could not be resumed after one."""
    seeds = np.random.SeedSequence(42, spawn_key=(3, 1)).generate_state(2, np.uint64).tolist()
    words = _philox_words(n, (seeds[0], seeds[1]))
    bits = (n - 1).bit_length()
    expected = sorted(range(n), key=lambda number: (words[number] >> bits, number))
    assert shuffled(n, 42, 3, 1).tolist() == expected


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("window_rows", [1, 7, 64, 1_000])
def test_windows_hold_each_row_once_and_read_row_groups_front_to_back(seed, window_rows):
    group_rows = [1, 300, 5, 64, 2, 2, 2, 90]
    cut = list(windows(group_rows, window_rows, seed=seed, epoch=0))
    assert [window.number for window in cut] == list(range(len(cut)))
    ends = [0] * len(group_rows)
    order = []
    for window in cut:
        assert window.rows == sum(p.stop - p.start for p in window.pieces) <= window_rows
        for piece in window.pieces:
            assert piece.start == ends[piece.group] < piece.stop
            ends[piece.group] = piece.stop
            order.append(piece.group)
    assert ends == group_rows
    assert (order == sorted(order)) == (seed is None)


def test_half_read_row_groups_are_few():
    """100 row groups, each of several windows, and never more than SPREAD of them open."""
    group_rows = [1_000] * 100
    read = [0] * 100
    for window in windows(group_rows, 200, seed=1, epoch=0):
        for piece in window.pieces:
            read[piece.group] = piece.stop
        assert sum(0 < stop < 1_000 for stop in read) <= SPREAD
