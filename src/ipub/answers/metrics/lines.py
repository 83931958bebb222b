"""Lines above and below what rows count for in a metric: a sum of lines is one linear form of the scores (lem-lines).

The score of row i is between its bounds. There a line ``a_i + c_i t`` is above what the row counts for, so the sum over
all rows is at most ``sum_i a_i + sum_i c_i t_i``; and ``sum_i c_i t_i = (sum_i c_i x_i).w''`` is the score of one
made-up row, in which what a filling does to several rows may cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ipub.numeric.rounding import Array, down, sum_error, up
from ipub.tables.interval_matrix import Indices

Curve = Callable[[Array], tuple[Array, Array]]
"""Encloses a function of the scores at some of them."""

FLAT = 1e-100
"""Ends of intervals nearer to 0 than this have no line through them: its slope may overflow."""


class Lines(NamedTuple):
    """For every completion ``divisor * metric`` is on one side of ``offset + sum_i slopes_i t_i``."""

    offset: float
    """Rounded to that side."""
    slopes: Array
    """Shape (m,)."""
    error: Array
    """Shape (m,): how far each slope may be from one for which this holds exactly."""
    divisor: float
    """A whole number."""
    unit: float = 0.0
    """What ``divisor * metric`` is a multiple of; 0 if it is any number."""

    def negated(self) -> Lines:
        """Return what holds on the other side of the negative of the metric."""
        return self._replace(offset=-self.offset, slopes=-self.slopes)


class KnownScores(NamedTuple):
    """What is known of the scores of the rows of a metric, over all completions."""

    low: Array
    high: Array
    """Bounds, each of shape (m,); infinite at both ends where nothing is proved."""
    at: Array
    """Shape (m,): scores near which lines are to be close; any are sound."""
    y: Array
    differences: Callable[[Indices, Indices], tuple[Array, Array]]
    """Bounds the scores of some rows less those of others, each pair, by their positions among these rows."""


def above_step(low: Array, high: Array, at: Array) -> tuple[Array, Array]:
    """Return offset and slope of a line above what is 1 for a number above 0, 0 below it, and either of both at 0.

    Between ``low < 0`` and high the line from 0 at low to 1 at 0 is above it, and so is 1; `at` tells which is lower.
    Slopes are not negative; any smaller one is as sound.
    """
    is_sloped = (low < -FLAT) & (high >= 0.0) & (at < 0.0)
    slope = np.where(is_sloped, np.maximum(down(1.0 / np.where(is_sloped, -low, 1.0)), 0.0), 0.0)
    return np.where(high < 0.0, 0.0, 1.0), slope


def below_step(low: Array, high: Array, at: Array) -> tuple[Array, Array]:
    """Return offset and slope of a line below the same."""
    offset, slope = above_step(-high, -low, -at)
    return 1.0 - offset, slope


def above_curve(value: Curve, dent: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return offset and slope of a line above a function whose second derivative is at least ``-dent``: its chord."""
    first, last = value(low)[1], value(high)[1]
    slope = np.where(high > low, (last - first) / np.where(high > low, high - low, 1.0), 0.0)
    ends = np.maximum(up(first - down(slope * low)), up(last - down(slope * high)))
    width = up(high - low)
    return up(ends + up(up(0.125 * dent * width) * width)), slope


def below_curve(
    value: Curve, derivative: Curve, dent: Array, low: Array, high: Array, at: Array
) -> tuple[Array, Array]:
    """Return offset and slope of a line below the same: its tangent at a point, which `derivative` bounds there."""
    at = np.clip(at, low, high)
    least, most = derivative(at)
    slope = 0.5 * (least + most)
    steepness = np.maximum(up(most - slope), up(slope - least))
    width = np.maximum(up(high - at), up(at - low))
    loss = up(up(steepness * width) + up(up(0.5 * dent * width) * width))
    return down(down(value(at)[0] - up(slope * at)) - loss), slope


def sum_of_lines(offsets: Array, slopes: Array, side: float, unit: float = 0.0) -> Lines:
    """Return the sum of a line for each of m rows, above (side 1) or below (-1) what these count for."""
    error = sum_error(float(np.abs(offsets).sum()), len(offsets) + 1)
    offset = float(offsets.sum() + side * error)
    return Lines(up(offset) if side > 0.0 else down(offset), slopes, np.zeros_like(slopes), float(len(slopes)), unit)
