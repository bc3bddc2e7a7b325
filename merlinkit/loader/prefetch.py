"""Runs an iterator ahead of its consumer in a background thread."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["Prefetch"]

T = TypeVar("T")

# Python acts on Ctrl-C when a wait is broken off by it. One that is pressed just before the wait
# begins is seen after it only, so no wait of the main thread is longer than this.
_INTERRUPT_SECONDS = 0.5


class Prefetch(Generic[T]):
    """An iterator over the items of another one, made ahead of time in a thread.

    Parameters
    ----------
    source
        Where the items come from. From here on only the thread uses it; it is closed at the end
        if it has a ``close`` method.
    depth
        Items that may be ready and not yet taken. The next one is begun only when there is room
        for it, so at most `depth` items exist beside the one that the consumer holds.
    on_close
        Called when the thread is to end early, from whichever thread finds that out: a way to
        make a long step of the source give up.

    Notes
    -----
    An exception of the source reaches the consumer after the items before it, with the traceback
    of the thread. The thread ends after the last item, on `close`, when the object is garbage
    collected and when the interpreter exits.
    """

    def __init__(
        self, source: Iterator[T], depth: int, on_close: Callable[[], None] | None = None
    ) -> None:
        self._channel: _Channel[T] = _Channel(depth)
        thread = _Worker(source, self._channel)
        owner = threading.current_thread()
        self._end = weakref.finalize(self, _end, self._channel, thread, owner, on_close)
        thread.start()

    def __iter__(self) -> Iterator[T]:
        """Return the iterator itself."""
        return self

    def __next__(self) -> T:
        """Return the next item, waiting for it where need be."""
        return self._channel.get()

    def close(self) -> None:
        """End the thread and wait for it; items that are ready are dropped."""
        self._end()


class _Channel(Generic[T]):
    """A bounded queue that either side can end."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._changed = threading.Condition()
        self._items: deque[T] = deque()
        self._error: BaseException | None = None
        self._finished = False
        self._closed = False

    def wait_for_room(self) -> bool:
        """Return True once an item may be made, False when nobody wants one any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._depth)
            return not self._closed

    def put(self, item: T) -> None:
        with self._changed:
            if not self._closed:
                self._items.append(item)
                self._changed.notify_all()

    def finish(self, error: BaseException | None = None) -> None:
        with self._changed:
            self._finished = True
            self._error = None if self._closed else error
            self._changed.notify_all()

    def get(self) -> T:
        with self._changed:
            while not self._changed.wait_for(self._has_news, _INTERRUPT_SECONDS):
                pass
            if self._items:
                item = self._items.popleft()
                self._changed.notify_all()
                return item
            error, self._error = self._error, None
        if error is None:
            raise StopIteration
        try:
            raise error
        finally:
            # The traceback of the error holds this frame; a frame that holds the error in turn
            # would keep both, and all that they hold, until the next garbage collection.
            del error

    def _has_news(self) -> bool:
        return bool(self._items) or self._finished or self._closed

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._items.clear()
            self._error = None
            self._changed.notify_all()


class _Worker(threading.Thread, Generic[T]):
    """Fills a channel. It must not know the Prefetch, which could never be collected then."""

    def __init__(self, source: Iterator[T], channel: _Channel[T]) -> None:
        super().__init__(name="merlinkit-prefetch", daemon=True)
        self._source = source
        self._channel = channel

    def run(self) -> None:
        source, channel = self._source, self._channel
        del self._source, self._channel
        try:
            while channel.wait_for_room():
                try:
                    item = next(source)
                except StopIteration:
                    channel.finish()
                    return
                channel.put(item)
                del item
        except BaseException as error:
            channel.finish(error)
        finally:
            close = getattr(source, "close", None)
            if close is not None:
                close()


def _end(
    channel: _Channel[Any],
    thread: threading.Thread,
    owner: threading.Thread,
    on_close: Callable[[], None] | None,
) -> None:
    channel.close()
    if on_close is not None:
        on_close()
    # A loader left in a reference cycle is collected by whichever thread triggers the collection.
    # If that is one of its own workers, waiting here would be waiting for itself.
    current = threading.current_thread()
    may_wait = current is owner or not isinstance(current, _Worker)
    # An interrupt can come before the thread has begun; it will find its channel closed.
    if may_wait and thread.ident is not None:
        thread.join()
