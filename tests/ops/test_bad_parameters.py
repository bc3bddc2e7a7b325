"""Fifth proof: bad parameters are refused with a message that says what is wrong."""

from __future__ import annotations

import re

import pytest

from merlinkit.errors import ParameterError
from merlinkit.ops import make_operator
from tests.ops.examples import BAD_PARAMETERS


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    BAD_PARAMETERS,
    ids=lambda value: str(value)[:40].replace("\n", " "),
)
def test_bad_parameters_are_refused(name, parameters, message):
    with pytest.raises(ParameterError, match=re.escape(message)) as caught:
        make_operator(name, parameters)
    assert str(caught.value).startswith((f"{name}:", f"no operator '{name}'"))
