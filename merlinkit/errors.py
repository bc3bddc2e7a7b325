"""The exceptions a user of merlinkit can meet.

Every one of them is about something the user can fix, so the command line prints the message
alone and ends with exit code 2. Anything else that escapes is a bug of ours and keeps its
traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = [
    "ArtifactError",
    "ConfigError",
    "DataError",
    "EngineError",
    "MerlinkitError",
    "ParameterError",
    "PlanError",
    "RunDirError",
    "SchemaError",
    "did_you_mean",
]


class MerlinkitError(Exception):
    """Base of all errors that a user can fix; the message says what, where and how."""


class ConfigError(MerlinkitError):
    """One or more problems of the configuration, all reported at once.

    Parameters
    ----------
    problems
        One sentence each, starting with the config key it is about.
    """

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: tuple[str, ...] = (
            (problems,) if isinstance(problems, str) else tuple(problems)
        )
        if len(self.problems) == 1:
            message = self.problems[0]
        else:
            listed = "\n".join(f"  - {problem}" for problem in self.problems)
            message = f"{len(self.problems)} problems in the configuration:\n{listed}"
        super().__init__(message)


class ParameterError(MerlinkitError):
    """An operator, model or split was given a parameter that it cannot work with."""


class SchemaError(MerlinkitError):
    """A column is missing, has another dtype than expected, or two columns clash."""


class DataError(MerlinkitError):
    """A data file is missing, unreadable, empty or malformed."""


class EngineError(MerlinkitError):
    """The place where plans should run is not there, or was lost while they ran."""


class PlanError(MerlinkitError):
    """A plan cannot run on the engine that was asked for."""


class ArtifactError(MerlinkitError):
    """A saved workflow, checkpoint or manifest is damaged, altered or of another version."""


class RunDirError(MerlinkitError):
    """A run directory cannot be used: not writable, in use, or holding another run."""


def did_you_mean(name: str, candidates: Iterable[str], *, limit: int = 3) -> str:
    """Return ``" Did you mean 'x'?"``, or an empty string when nothing is near.

    Parameters
    ----------
    name
        What the user wrote.
    candidates
        What would have been accepted.
    limit
        At most so many suggestions.

    Examples
    --------
    >>> did_you_mean("user", ["user_id", "item_id"])
    " Did you mean 'user_id'?"
    >>> did_you_mean("zzz", ["user_id", "item_id"])
    ''
    """
    pool = sorted(set(candidates))
    by_folded = {candidate.casefold(): candidate for candidate in pool}
    near = difflib.get_close_matches(name.casefold(), list(by_folded), n=limit, cutoff=0.6)
    if not near:
        return ""
    quoted = [f"'{by_folded[match]}'" for match in near]
    listed = quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + f" or {quoted[-1]}"
    return f" Did you mean {listed}?"
