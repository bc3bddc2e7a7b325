"""Something that many tasks share, which a worker unpacks once and then keeps."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from threading import Lock
from typing import Any, Generic, TypeVar

__all__ = ["Shared"]

_KEPT = 4
"""How many a process keeps: those of the operators that are fitted, and of the workflow."""

Value = TypeVar("Value")

_unpacked: OrderedDict[str, Shared[Any]] = OrderedDict()
_lock = Lock()


class Shared(Generic[Value]):
    """A value that travels with each task, but is one object for all tasks of a worker.

    What is derived from it, such as a vocabulary's hash table, is so made once a worker, not once
    a task.

    Parameters
    ----------
    value
        The value; it is not changed any more.

    Examples
    --------
    >>> import pickle
    >>> shared = Shared({"a": 1})
    >>> pickle.loads(pickle.dumps(shared)).value is pickle.loads(pickle.dumps(shared)).value
    True
    """

    def __init__(self, value: Value) -> None:
        self.value = value
        self._token = secrets.token_hex(8)
        self._packed: bytes | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._packed is None:
            # Imported here: it comes with Dask, and without it nothing is ever packed.
            import cloudpickle

            self._packed = cloudpickle.dumps(self.value)
        return _unpack, (self._token, self._packed)


def _unpack(token: str, packed: bytes) -> Shared[Any]:
    with _lock:
        known = _unpacked.get(token)
        if known is None:
            # From the client of the cluster, over Dask's own pickled messages; never from a file.
            import cloudpickle

            known = Shared(cloudpickle.loads(packed))
            known._token, known._packed = token, packed
            _unpacked[token] = known
            while len(_unpacked) > _KEPT:
                _unpacked.popitem(last=False)
        else:
            _unpacked.move_to_end(token)
        return known
