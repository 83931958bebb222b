"""Floats as the exact rationals they are, and ball arithmetic as rational enclosures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flint import arb, fmpq

Rational = fmpq
Enclosure = tuple[fmpq, fmpq]


def rational(value: float | int | fmpq) -> fmpq:
    """Return a finite float as the exact rational that it is."""
    if isinstance(value, fmpq):
        return value
    numerator, denominator = float(value).as_integer_ratio()
    return fmpq(numerator, denominator)


def rationals(values: Iterable[float]) -> list[fmpq]:
    return [rational(value) for value in values]


def rational_rows(table: Iterable[Iterable[float]]) -> list[list[fmpq]]:
    return [rationals(row) for row in table]


def exact_dot(left: Sequence[fmpq], right: Sequence[fmpq]) -> fmpq:
    total = fmpq(0)
    for a, b in zip(left, right, strict=True):
        total += a * b
    return total


def as_arb(value: float | fmpq) -> arb:
    """Return a ball around the value: exact for a float, an enclosure at the working precision for a rational."""
    return arb(value) if isinstance(value, fmpq) else arb(float(value))


def ball_ends(ball: arb) -> Enclosure:
    """Return exact rationals below and above everything in the ball."""
    return _exact_point(ball.lower()), _exact_point(ball.upper())


def as_float(value: fmpq | arb) -> float:
    """Return the float next to a rational, or to the middle of a ball."""
    return int(value.p) / int(value.q) if isinstance(value, fmpq) else float(value)


def _exact_point(point: arb) -> fmpq:
    mantissa, exponent = point.man_exp()
    power = fmpq(2) ** int(exponent) if int(exponent) >= 0 else 1 / (fmpq(2) ** (-int(exponent)))
    return fmpq(mantissa) * power


def holds(bounds: Sequence[float], exact: Enclosure) -> bool:
    """Say whether ``lower <= exact value <= upper`` is proven; infinite bounds hold."""
    low, high = (float(bound) for bound in bounds)
    below = low == float("-inf") or (low == low and rational(low) <= exact[0])
    above = high == float("inf") or (high == high and high != float("-inf") and rational(high) >= exact[1])
    return bool(below and above and low != float("inf"))
