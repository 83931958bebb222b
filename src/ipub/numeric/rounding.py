"""Outward rounding: how a float result becomes a bound on the exact one.

Everything a certificate computes goes through the few functions of this file. Each constant cites
the lemma of ``docs/theory/rounding.md`` that proves it. Two facts carry everything:

- one operation ``+ - * / sqrt`` is correctly rounded, so a step to the next float or beyond bounds it (fp-operation);
- a sum of products, in any order and with or without fused multiply-add, is off by at most
  ``roundings * EPS`` times the sum of the absolute terms (fp-sums), which is all that a matrix product is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ipub.numeric.compiled import loops

Array = NDArray[np.float64]
T = TypeVar("T", float, Array)
F = TypeVar("F", bound=Callable[..., Any])

EPS = 2.0**-52
"""Twice the unit roundoff: at least one unit in the last place, relatively (fp-operation, fp-sums)."""

TINY = 2.0**-1074
"""The least positive float (fp-operation)."""

UNDERFLOW = 1e-160
"""More than all underflows of one sum can add: 10^10 terms with factors up to 10^150 (fp-underflow)."""

ELEMENTARY_ULPS = 4
"""Assumed accuracy of exp, log and log1p in units of EPS (fp-elementary); tests compare with ball arithmetic."""

LARGEST = 1e150
"""Larger inputs are refused: their squares would overflow (fp-underflow)."""


overflow_means_unbounded = partial(np.errstate, over="ignore", invalid="ignore", under="ignore")
"""A context in which what overflows becomes an infinite bound, or NaN and so no bound (fp-underflow)."""


def check_arithmetic(like: Any = None) -> None:
    """Refuse to certify where floats are not rounded to nearest with gradual underflow (fp-underflow).

    A library compiled for speed over correctness can switch a whole process to flushing small numbers to 0. With an
    array to be `like`, the floats of its device are checked.
    """
    one, tiny = np.ones(1, like=like), np.full(1, TINY, like=like)
    half_unit = np.full(1, EPS / 2.0, like=like)
    to_nearest = one + half_unit == one and one - half_unit / 2.0 == one and one + 1.5 * half_unit > one
    if not (to_nearest and tiny * one > 0.0 and np.full(1, 2.0**-1022, like=like) * 0.5 > 0.0):
        raise FloatingPointError(
            "Floating point on this machine flushes small numbers to zero or does not round to nearest, so nothing can "
            "be certified. A library loaded into this process, compiled with -ffast-math, may have switched it."
        )


def _in_one_loop(function: F) -> F:
    """Let a loop in C do what a function does, where there is one: NumPy passes over an array for each operation."""
    kernels = loops()
    return function if kernels is None else cast(F, wraps(function)(kernels.OutwardLoop(function)))


@_in_one_loop
def up(value: T) -> T:
    """Return at least the next float above: an upper bound after one correctly rounded operation (fp-operation)."""
    if hasattr(value, "rounded_up"):
        above: T = value.rounded_up()
        return above
    step = _step(value)
    step += value
    return step


@_in_one_loop
def down(value: T) -> T:
    """Return at most the next float below: a lower bound after one correctly rounded operation (fp-operation)."""
    if hasattr(value, "rounded_down"):
        below: T = value.rounded_down()
        return below
    step = _step(value)
    return np.subtract(value, step, out=step) if isinstance(step, np.ndarray) else value - step


def _step(value: T) -> T:
    """Return ``|value| EPS + TINY``, of an array in one new array: there are so many of these that it counts."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64:
        return abs(value) * EPS + TINY
    step = np.abs(value)
    step *= EPS
    step += TINY
    return step


def midpoint_and_radius(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return floats whose exact ``midpoint ± radius`` encloses [lower, upper] (fp-operation)."""
    midpoint = np.where(lower == upper, lower, 0.5 * lower + 0.5 * upper)
    radius = np.maximum(up(upper - midpoint), up(midpoint - lower))
    return midpoint, np.where(lower == upper, 0.0, radius)


@_in_one_loop
def sum_error(magnitude: T, roundings: int) -> T:
    """Bound abs(computed - exact) of a signed sum of products (fp-sums).

    Parameters
    ----------
    magnitude : array or float
        The *computed* sum of the absolute values of the same products.
    roundings : int
        Height of the summation tree plus the multiplications inside a term, plus one.
    """
    return up(up((roundings * EPS) * magnitude) + UNDERFLOW)


@_in_one_loop
def sum_upper(total: T, roundings: int) -> T:
    """Bound from above the exact value of a sum of non-negative products computed as `total` (fp-sums)."""
    return up(total + sum_error(total, roundings))


def floats(values: Any) -> Array:
    """Return numbers as an array of floats; an array on a device, which NumPy's functions take, as it is."""
    if hasattr(values, "__array_function__") and not isinstance(values, np.ndarray):
        array: Array = values
        return array
    return np.asarray(values, dtype=float)


def norm_upper(vectors: Array) -> Array:
    """Bound the Euclidean norms along the last axis from above (fp-sums, fp-underflow)."""
    vectors = floats(vectors)
    squares: Array = np.einsum("...j,...j->...", vectors, vectors)
    return up(np.sqrt(sum_upper(squares, vectors.shape[-1] + 1)))


def dot_bounds(rows: Array, vectors: Array) -> tuple[Array, Array]:
    """Bound every entry of ``rows @ vectors`` from below and from above (fp-sums)."""
    rows, vectors = floats(rows), floats(vectors)
    product = rows @ vectors
    error = sum_error(np.abs(rows) @ np.abs(vectors), len(vectors) + 1)
    return down(product - error), up(product + error)
