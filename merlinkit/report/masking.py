"""Keeping passwords and keys out of a page that people pass on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["HIDDEN", "masked", "masked_text"]

HIDDEN = "(hidden)"

_NAMES = (
    r"passwords?|passwd|secrets?|credentials?|"
    r"(?:auth|access|bearer|session|sas|api)[_-]?token|"
    r"(?:api|access|account|private|secret|subscription|signing|encryption)[_-]?key(?:[_-]?id)?|"
    r"connection[_-]?string"
)
_WHOLE_WORDS = r"token|pwd|sas"  # "tokenizer" and "canvas" are none
_KEY = rf"[\w.\-]*(?:{_NAMES})|(?:[\w.\-]*[_.\-])?(?:{_WHOLE_WORDS})"
_SECRET = re.compile(rf"(?:{_KEY})$", re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"((?:^|(?<=[\s+~,{{'\"]))(?:{_KEY})['\"]?\s*[=:]\s*)"
    r"(\"[^\"]*\"|'[^']*'|[^\s,}'\"]+)",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.\-]*://)[^\s/@]+@", re.IGNORECASE)


def masked(value: Any) -> Any:
    """Return a configuration without the values of keys that are named like secrets.

    Examples
    --------
    >>> masked({"storage": {"aws_secret_access_key": "abc", "region": "eu"}, "max_tokens": 5})
    {'storage': {'aws_secret_access_key': '(hidden)', 'region': 'eu'}, 'max_tokens': 5}
    >>> masked({"url": "s3://user:pass@host/data"})
    {'url': 's3://(hidden)@host/data'}
    """
    if isinstance(value, Mapping):
        return {
            key: HIDDEN if _SECRET.match(str(key)) and not _is_empty(inner) else masked(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [masked(inner) for inner in value]
    if isinstance(value, str):
        return _IN_URL.sub(rf"\1{HIDDEN}@", value)
    return value


def _is_empty(value: Any) -> bool:
    return value is None or value == "" or isinstance(value, bool)


def masked_text(command: str) -> str:
    """Return a command line without the values assigned to names of secrets.

    Examples
    --------
    >>> masked_text("merlinkit run storage.secret_key=abc dataset=criteo")
    'merlinkit run storage.secret_key=(hidden) dataset=criteo'
    """
    return _IN_URL.sub(rf"\1{HIDDEN}@", _ASSIGNED.sub(rf"\1{HIDDEN}", command))
