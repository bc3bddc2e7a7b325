"""Worked examples of all operators, a file for each family: the proofs are made from these.

Every expected value was worked out by hand from the definition in the operator's docstring.
"""

from tests.ops.examples import core, groups, hashing, lists, negatives, numbers, sequences
from tests.ops.examples.example import Example

__all__ = ["BAD_PARAMETERS", "EXAMPLES", "Example"]

FAMILIES = (core, groups, hashing, lists, negatives, numbers, sequences)

EXAMPLES: tuple[Example, ...] = tuple(example for family in FAMILIES for example in family.EXAMPLES)

BAD_PARAMETERS = tuple(bad for family in FAMILIES for bad in family.BAD_PARAMETERS)
"""Operator, parameters that it must refuse, and a part of what it must say."""
