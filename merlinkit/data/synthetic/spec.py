"""What a synthetic log should look like."""

from __future__ import annotations

import datetime
import math
from dataclasses import asdict, dataclass, fields
from numbers import Integral, Real

from merlinkit.errors import ParameterError

__all__ = ["SyntheticSpec"]

_ROWS_PER_FILE = 4_000_000
# Ids are shuffled by a product of two of them, which has to fit into 63 bits.
_MAX_IDS = 1_000_000_000

# Field -> (smallest, largest) value, both allowed.
_WHOLE: dict[str, tuple[int, int]] = {
    "rows": (1, 10**15),
    "users": (1, _MAX_IDS),
    "items": (1, _MAX_IDS),
    "days": (1, 36_500),
    "latent_dim": (1, 128),
    "seed": (0, 2**64 - 1),
    "files": (1, 99_999),
}
_REAL: dict[str, tuple[float, float]] = {
    "null_fraction": (0.0, 0.9),
    "duplicate_fraction": (0.0, 0.5),
    "user_zipf": (0.0, 5.0),
    "item_zipf": (0.0, 5.0),
    "drift": (0.0, 1.0),
    "label_noise": (0.0, 0.5),
    "bias": (-20.0, 20.0),
}
_START_YEARS = (1971, 2200)
_OPTIONAL = frozenset({"users", "items", "files"})


@dataclass(frozen=True, slots=True)
class SyntheticSpec:
    """Size, shape and seed of a synthetic log of clicks.

    Parameters
    ----------
    rows
        Number of rows, duplicates included.
    users, items
        How many there are to draw from; None scales with the rows: 1 user for 50 rows, and
        ``2 * rows ** 0.55`` items (3,991 for a million rows).
    days, start
        The log covers `days` days from `start` (ISO date, UTC).
    latent_dim
        Dimensions of the taste of users and the character of items.
    seed
        The same seed gives the same log, another seed gives other people and other items.
    null_fraction
        Share of nulls in each of ``age``, ``brand``, ``price``, ``tags`` and ``dwell_time``, and
        among all but the first tag of each list. Half as many brands are empty strings.
    duplicate_fraction
        Share of rows that repeat one of the 64 rows before them exactly.
    user_zipf, item_zipf
        Exponent s of the popularity, ``P(rank k) ~ k ** -s``; 0 makes all equally popular.
    drift
        0: nobody changes. 1: at the end, the taste of each user has nothing in common with
        that at the start. It also makes clicks more frequent from day to day.
    label_noise
        Share of labels that are turned around; 0.5 leaves nothing to learn.
    bias
        Added to the logit; lower means fewer clicks.
    files
        Number of files `write` makes; None makes one for each four million rows. It does not
        change the rows nor their order.
    true_probability
        Add the column ``true_probability``, P(click = 1) with label noise: what the best
        possible model would predict.

    Raises
    ------
    ParameterError
        If a value is of the wrong type or out of range; all such values in one message.

    Examples
    --------
    >>> spec = SyntheticSpec(rows=1_000_000)
    >>> spec.num_users, spec.num_items, spec.num_files
    (20000, 3991, 1)
    >>> SyntheticSpec(rows=0, drift=2)
    Traceback (most recent call last):
        ...
    merlinkit.errors.ParameterError: rows=0 is not within 1 and 1000000000000000; drift=2 is not \
within 0.0 and 1.0
    """

    rows: int = 100_000
    users: int | None = None
    items: int | None = None
    days: int = 14
    start: str = "2026-01-01"
    latent_dim: int = 8
    seed: int = 0
    null_fraction: float = 0.05
    duplicate_fraction: float = 0.01
    user_zipf: float = 0.6
    item_zipf: float = 1.0
    drift: float = 0.3
    label_noise: float = 0.0
    bias: float = -1.5
    files: int | None = None
    true_probability: bool = False

    def __post_init__(self) -> None:
        problems = [
            problem
            for field in fields(self)
            if (problem := self._problem(field.name, getattr(self, field.name)))
        ]
        if not problems and self.files is not None and self.files > self.rows:
            problems.append(f"files={self.files} is more than rows={self.rows}")
        if problems:
            raise ParameterError("; ".join(problems))
        # One spelling for equal values (1 and 1.0), so that specs and files compare well.
        for name in _REAL:
            object.__setattr__(self, name, float(getattr(self, name)))
        for name in _WHOLE:
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, int(value))

    @staticmethod
    def _problem(name: str, value: object) -> str | None:
        """Return what is wrong with the value of a field."""
        if name == "true_probability":
            return None if isinstance(value, bool) else f"{name}={value!r} is not true or false"
        if name == "start":
            return _start_problem(value)
        if value is None and name in _OPTIONAL:
            return None
        return _whole_problem(name, value) if name in _WHOLE else _real_problem(name, value)

    @property
    def num_users(self) -> int:
        """Number of users to draw from."""
        if self.users is not None:
            return self.users
        return min(max(self.rows // 50, 10), _MAX_IDS)

    @property
    def num_items(self) -> int:
        """Number of items to draw from."""
        if self.items is not None:
            return self.items
        return min(max(round(2 * math.pow(self.rows, 0.55)), 10), _MAX_IDS)

    @property
    def num_files(self) -> int:
        """Number of files to write."""
        return -(-self.rows // _ROWS_PER_FILE) if self.files is None else self.files

    def to_dict(self) -> dict[str, bool | int | float | str]:
        """Return all values, with the numbers of users, items and files spelled out."""
        sizes = {"users": self.num_users, "items": self.num_items, "files": self.num_files}
        return {**asdict(self), **sizes}


def _whole_problem(name: str, value: object) -> str | None:
    low, high = _WHOLE[name]
    if isinstance(value, bool) or not isinstance(value, Integral):
        return f"{name}={value!r} is not a whole number"
    return None if low <= int(value) <= high else f"{name}={value} is not within {low} and {high}"


def _real_problem(name: str, value: object) -> str | None:
    low, high = _REAL[name]
    if isinstance(value, bool) or not isinstance(value, Real):
        return f"{name}={value!r} is not a number"
    # Written so that NaN fails too.
    return None if low <= float(value) <= high else f"{name}={value} is not within {low} and {high}"


def _start_problem(value: object) -> str | None:
    first, last = _START_YEARS
    try:
        if isinstance(value, str) and first <= datetime.date.fromisoformat(value).year <= last:
            return None
    except ValueError:
        pass
    return f"start={value!r} is not a date such as 2026-01-31 in the years {first} to {last}"
