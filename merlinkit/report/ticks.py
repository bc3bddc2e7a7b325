"""Round numbers for axes, and how they are written."""

from __future__ import annotations

import math

from merlinkit.report.formats import large

__all__ = ["Span", "nice_ticks", "tick_label", "widened"]

Span = tuple[float, float]


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round numbers, the first at or below `low`, the last at or above `high`.

    Steps are 1, 2, 2.5 or 5 times a power of ten.

    Examples
    --------
    >>> nice_ticks(0.13, 0.87), nice_ticks(0, 1000, 4)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 250.0, 500.0, 750.0, 1000.0])
    """
    low, high = widened(low, high)
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((m * power for m in (1, 2, 2.5, 5) if m * power >= rough * 0.999), 10 * power)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = max(0, 2 - math.floor(math.log10(step)))
    return [round(index * step, digits) for index in range(first, last + 1)]


def widened(low: float, high: float) -> Span:
    """Give room around values that are (nearly) all the same."""
    size = max(abs(low), abs(high))
    if high - low > 1e-9 * size and high - low > 1e-100:
        return low, high
    room = size * 0.05 if size > 1e-90 else 0.5
    return low - room, high + room


def tick_label(value: float, step: float) -> str:
    """Return a tick's number with as many decimals as the step between ticks needs.

    Examples
    --------
    >>> tick_label(0.5, 0.25), tick_label(2000, 500), tick_label(2.5e6, 5e5), tick_label(1e-5, 1e-5)
    ('0.50', '2,000', '2.5 M', '1e-05')
    """
    if value == 0:
        return "0"
    if abs(value) >= 1e15 or step < 1e-4:
        return f"{value:.3g}"
    if abs(value) >= 1e6 and step >= 1e4:
        return large(value)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if step * 10**decimals % 1 > 0.01:  # 0.25 needs one more than 0.1
        decimals += 1
    return f"{value:,.{decimals}f}"
