"""Lay out the axis of a chart: its range, its round ticks and their labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass
class Axis:
    """The axis of a chart. low, high: its range, as exponents of ten if `log`. ticks: pairs (value, label)."""

    low: float
    high: float
    ticks: list[tuple[float, str]]
    log: bool

    def at(self, value: float) -> float:
        """Return the position of `value` between the ends: 0 at `low`, 1 at `high`."""
        return ((math.log10(value) if self.log else value) - self.low) / (self.high - self.low)


def axis(values: Sequence[float], log: bool, most: int, tight: bool = False, whole: bool = False) -> Axis:
    """Make an axis for finite `values` (positive if `log`) with about `most` ticks.

    tight: whether the axis ends at the last value, not at a tick. whole: whether ticks are whole numbers.
    """
    low, high = (math.log10(f(values)) if log else f(values) for f in (min, max))
    if high - low < 1e-12 * max(1.0, abs(high)):
        room = 0.5 if log else abs(high) / 2 or 0.5
        low, high = low - room, high + room
    if log and high - low >= 1.5:
        step = math.ceil((high - low) / most)
        powers = range(math.ceil(low - 1e-9) if tight else math.floor(low), math.floor(high + 1e-9) + 1, step)
        low, high = (low, high) if tight else (math.floor(low), max(high, powers[-1]))
        plain = all(-3 <= p <= 4 for p in powers)
        return Axis(low, high, [(10.0**p, f"{10.0**p:,.{max(0, -p)}f}" if plain else _power(p)) for p in powers], True)
    start, end = (10.0**low, 10.0**high) if log else (low, high)
    step = max(_round_step((end - start) / most), float(whole))
    first = math.ceil(start / step - 1e-9) if tight or log else math.floor(start / step + 1e-9)
    last = math.floor(end / step + 1e-9) if tight else math.ceil(end / step - 1e-9)
    at = [i * step for i in range(first, last + 1)]
    if not tight:
        low, high = (math.log10(v) if log else v for v in (min(start, at[0]), max(end, at[-1])))
    return Axis(low, high, [(v, _plain(v, step)) for v in at], log)


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))


def _plain(value: float, step: float) -> str:
    """Format a number with as many decimals as the step; very large and very small ones as `2×10⁻⁷`."""
    exponent = math.floor(math.log10(step) + 1e-9)
    if value and not -5 < exponent < 7:
        power = math.floor(math.log10(abs(value)) + 1e-9)
        return _minus(f"{value / 10.0**power:g}×{_power(power)}")
    return _minus(f"{value:,.{max(0, -exponent) if value else 0}f}")


def _power(exponent: int) -> str:
    return f"10{str(exponent).translate(_SUPERSCRIPT)}"


def _minus(text: str) -> str:
    return text.replace("-", "−")
