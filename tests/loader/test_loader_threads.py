"""Background threads end when nobody wants their batches, and pass on what went wrong."""

import gc
import signal
import subprocess
import sys
import textwrap
import threading
import weakref

import pytest

from merlinkit.loader.decode import Cancelled, Decoder
from merlinkit.loader.prefetch import Prefetch


def workers():
    return [thread for thread in threading.enumerate() if "prefetch" in thread.name]


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    assert not workers()
    yield
    assert not workers()


# Rows that fit need one thread, windows a second one.
BUFFERS = pytest.mark.parametrize("buffer_rows", [1_000, 40])


@BUFFERS
def test_threads_end_with_the_pass(write_parts, make_loader, buffer_rows):
    write_parts([200], 10)
    loader = make_loader(buffer_rows=buffer_rows)
    batches = iter(loader)
    next(batches)
    assert workers()
    for _ in batches:
        pass
    assert not workers()


@BUFFERS
def test_threads_end_at_break(write_parts, make_loader, buffer_rows):
    write_parts([200], 10)
    for _ in make_loader(buffer_rows=buffer_rows):
        assert workers()
        break
    assert not workers()


@BUFFERS
def test_threads_end_at_an_exception_of_the_consumer(write_parts, make_loader, buffer_rows):
    write_parts([200], 10)

    def train():
        for _ in make_loader(buffer_rows=buffer_rows):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train()
    gc.collect()
    assert not workers()


@BUFFERS
def test_threads_end_when_the_iterator_is_closed(write_parts, make_loader, buffer_rows):
    write_parts([200], 10)
    batches = iter(make_loader(buffer_rows=buffer_rows))
    next(batches)
    assert workers()
    batches.close()
    assert not workers()


@BUFFERS
def test_threads_end_when_the_iterator_is_collected_in_a_cycle(
    write_parts, make_loader, buffer_rows
):
    write_parts([200], 10)
    cycle = {"batches": iter(make_loader(buffer_rows=buffer_rows))}
    cycle["self"] = cycle
    next(cycle["batches"])
    assert workers()
    del cycle
    gc.collect()
    assert not workers()


@BUFFERS
def test_no_thread_without_prefetch(write_parts, make_loader, buffer_rows):
    write_parts([200], 10)
    batches = iter(make_loader(buffer_rows=buffer_rows, prefetch=0))
    next(batches)
    assert not workers()


@pytest.mark.parametrize("prefetch", [0, 2])
@BUFFERS
def test_an_exception_keeps_its_traceback(
    write_parts, make_loader, monkeypatch, buffer_rows, prefetch
):
    write_parts([200], 10)
    loader = make_loader(buffer_rows=buffer_rows, prefetch=prefetch)

    def break_down(self, window):
        raise OSError("the disk is gone")

    monkeypatch.setattr(Decoder, "decode", break_down)
    with pytest.raises(OSError, match="the disk is gone") as caught:
        list(loader)
    assert caught.traceback[-1].name == "break_down"
    assert not workers()


def test_batches_before_an_exception_arrive(write_parts, make_loader, monkeypatch):
    write_parts([200], 10)
    loader = make_loader(buffer_rows=80, batch_size=20)
    plain = Decoder.decode

    def fail_late(self, window):
        if window.number == 2:
            raise OSError("the disk is gone")
        return plain(self, window)

    monkeypatch.setattr(Decoder, "decode", fail_late)
    batches = iter(loader)
    # Two windows of 40 rows each.
    assert [len(next(batches)["id"]) for _ in range(4)] == [20] * 4
    with pytest.raises(OSError, match="the disk is gone"):
        next(batches)


@pytest.mark.skipif(sys.platform == "win32", reason="needs pthread_kill")
@BUFFERS
def test_interrupt_while_waiting_for_a_batch(write_parts, make_loader, monkeypatch, buffer_rows):
    """Ctrl-C comes while the first window is being decoded, which it makes stop."""
    write_parts([200], 10)
    stopped = threading.Event()

    def interrupted(self, window):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        if self._cancelled.wait(30):
            stopped.set()
        raise Cancelled

    monkeypatch.setattr(Decoder, "decode", interrupted)

    def train():
        for _ in make_loader(buffer_rows=buffer_rows):
            pass

    with pytest.raises(KeyboardInterrupt):
        train()
    gc.collect()
    assert stopped.is_set()
    assert not workers()


def test_interpreter_exits_in_the_middle_of_a_pass(tmp_path, write_parts):
    write_parts([200], 10)
    script = textwrap.dedent(
        f"""
        from merlinkit.loader import Loader
        from merlinkit.schema import Column, Schema
        loader = Loader({str(tmp_path)!r}, Schema([Column("id", "Int64")]), batch_size=4,
                        shuffle=True, seed=0, buffer_rows=40)
        batches = iter(loader)
        next(batches)
        print("left")
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")


def test_prefetch_makes_no_more_than_it_may():
    """The item after the last that there is room for is not begun."""
    begun = []
    room = threading.Event()

    def source():
        for number in range(10):
            begun.append(number)
            if number == 2:
                room.set()
            yield number

    items = Prefetch(source(), 3)
    assert room.wait(30)
    assert begun == [0, 1, 2]
    assert list(items) == list(range(10))


class Item:
    """Something that can be asked whether it is still there."""


def test_prefetch_lets_go_of_items():
    """Also while the next one is being made, which may take long."""
    asked_again = threading.Event()
    go_on = threading.Event()

    def source():
        yield Item()
        asked_again.set()
        go_on.wait(30)

    items = Prefetch(source(), 2)
    taken = weakref.ref(next(items))
    assert asked_again.wait(30)
    assert taken() is None
    go_on.set()
    items.close()


def test_prefetch_closes_its_source():
    def source():
        while True:
            yield 1

    given = source()
    items = Prefetch(given, 2)
    next(items)
    items.close()
    assert list(given) == []


def test_prefetch_that_is_let_go_of_ends():
    def source():
        while True:
            yield 1

    items = Prefetch(source(), 2)
    held = weakref.ref(items)
    next(items)
    del items
    assert held() is None
    assert not workers()


def test_an_exception_keeps_nothing_alive_once_it_is_handled():
    """No cycle of traceback and frame that would hold a window until the next collection."""
    seen = []

    def source():
        item = Item()
        seen.append(weakref.ref(item))
        yield 1
        raise OSError("the disk is gone")

    gc.collect()
    gc.disable()
    try:
        items = Prefetch(source(), 2)
        next(items)
        try:
            next(items)
        except OSError:
            assert seen[0]() is not None
        items.close()
        assert seen[0]() is None
    finally:
        gc.enable()


def test_prefetch_is_over_after_close_and_after_the_end():
    items = Prefetch(iter([1]), 2)
    assert list(items) == [1]
    assert list(items) == []
    items.close()
    items.close()
    endless = Prefetch(iter(int, 1), 2)
    endless.close()
    assert list(endless) == []


def test_collection_inside_a_worker_does_not_wait_for_itself():
    """The worker drops the last reference to the Prefetch whose thread it is."""
    box: list[Prefetch[int]] = []
    filled = threading.Event()
    dropped = threading.Event()

    def source():
        filled.wait(30)
        box.clear()
        dropped.set()
        yield 1

    box.append(Prefetch(source(), 1))
    (thread,) = workers()
    filled.set()
    assert dropped.wait(30)
    thread.join(30)
    assert not thread.is_alive()
