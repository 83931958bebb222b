"""The logistic loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from ipub.losses.base import Loss
from ipub.numeric.rounding import ELEMENTARY_ULPS, EPS, UNDERFLOW, Array, down, up

MIN_SECANT_LENGTH = 1e-3
"""Secants over a shorter way are hardly flatter than the curve, and their difference would cancel (fp-elementary)."""

NEGLIGIBLE_RESIDUAL = 1e-14
"""A residual bound this small is not computed more closely."""

STEEPEST_LOWER, STEEPEST_UPPER = 1.316957896924, 1.316957896925
"""``log(2 + sqrt(3))`` lies between these: the curvature falls fastest there."""

GREATEST_SLOPE = 0.0962250448650
"""A little more than ``1 / (6 sqrt(3))``, the greatest derivative of the curvature."""


def sigmoid(t: Array) -> Array:
    """Return 1 / (1 + exp(-t)): an exponential, an addition and a division, each off by rounding (fp-elementary)."""
    return falling_sigmoid(-t)


def falling_sigmoid(t: Array) -> Array:
    """Return 1 / (1 + exp(t)), as accurate as `sigmoid`."""
    with np.errstate(over="ignore"):
        result: Array = 1.0 / (1.0 + np.exp(t))
    return result


def sigmoid_range(t_lower: Array, t_upper: Array) -> tuple[Array, Array]:
    """Bound the sigmoid over [t_lower, t_upper] (fp-elementary: exp, an addition and a division)."""
    slack = (ELEMENTARY_ULPS + 3) * EPS
    lowest = sigmoid(t_lower)
    highest = lowest if t_upper is t_lower else sigmoid(t_upper)
    return (
        np.maximum(0.0, down(down(lowest * (1.0 - slack)) - UNDERFLOW)),
        np.minimum(1.0, up(up(highest * (1.0 + slack)) + UNDERFLOW)),
    )


@dataclass(frozen=True)
class Logistic(Loss):
    """Logistic loss ``log(1 + exp(-y t))``; link: sigmoid, the probability of +1."""

    name = "log_loss"
    task = "classification"
    has_probability = True
    has_bounded_third_derivative = True

    def value(self, y: Array, t: Array) -> Array:
        m = y * t
        return np.maximum(-m, 0.0) + np.log1p(np.exp(-np.abs(m)))

    def derivative(self, y: Array, t: Array) -> Array:
        return -y * falling_sigmoid(y * t)

    def curvature(self, y: Array, t: Array) -> Array:
        s = sigmoid(-np.abs(y * t))
        return s * (1.0 - s)

    def conjugate(self, y: Array, a: Array) -> Array:
        b = a * y
        inside = (b >= 0.0) & (b <= 1.0)
        b = np.clip(b, 0.0, 1.0)
        return np.where(inside, xlogy(b, b) + xlog1py(1.0 - b, -b), np.inf)

    def value_upper(self, y: Array, t: Array) -> Array:
        # exp, log1p (condition at most 1) and an addition of non-negative terms (fp-elementary)
        value = self.value(y, t)
        return up(up(value * (1.0 + (2 * ELEMENTARY_ULPS + 2) * EPS)) + UNDERFLOW)

    def conjugate_upper(self, y: Array, a: Array) -> Array:
        # Two non-positive terms, each a logarithm and a product with at most one rounded factor (fp-elementary).
        value = self.conjugate(y, a)
        return up(up(value * (1.0 - (ELEMENTARY_ULPS + 3) * EPS)) + UNDERFLOW)

    def residual_upper(self, y: Array, t: Array, a: Array) -> Array:
        terms = up(self.value_upper(y, t) + self.conjugate_upper(y, a))
        return np.maximum(0.0, up(terms + up(a * t)))

    def residual_upper_between(self, y: Array, lower: Array, upper: Array, a: Array) -> Array:
        # It is the Kullback-Leibler divergence of b = a y from p = sigma(-y t), at most (b - p)^2 / (p (1 - p)). For a
        # dual coordinate that belongs to the score this is negligible, and found without a logarithm.
        if len(y) == 0:
            return np.zeros(0)
        b, slack = a * y, (ELEMENTARY_ULPS + 3) * EPS
        p = sigmoid(-y * lower)
        # One bound for all rows, if it is negligible; a NaN fails every comparison.
        error = up(up(up(float(np.abs(b - p).max())) + slack) + 0.25 * up(float((upper - lower).max()))) + UNDERFLOW
        lowest, highest = np.minimum(p, b).min(), np.maximum(p, b).max()
        p_lower, complement_lower = down(lowest - error), down(down(1.0 - highest) - error)
        if lowest >= 0.0 and highest <= 1.0 and p_lower > 0.0 and complement_lower > 0.0:
            bound = up(up(error * error) / down(p_lower * complement_lower)) * (1.0 + 8.0 * EPS)
            if bound <= NEGLIGIBLE_RESIDUAL:
                return np.full_like(p, bound)
        return self._residual_upper_by_row(y, lower, upper, a, p)

    def _residual_upper_by_row(self, y: Array, lower: Array, upper: Array, a: Array, p: Array) -> Array:
        """Bound each residual by the same inequality, and by its two ends where that is not negligible."""
        b, slack = a * y, (ELEMENTARY_ULPS + 3) * EPS
        error = up(up(up(np.abs(b - p) + slack * p) + 0.25 * up(upper - lower)) + UNDERFLOW)
        p_lower, complement_lower = down(p - error), down(down(1.0 - p) - error)
        with np.errstate(divide="ignore"):
            bounds = up(up(error * error) / down(p_lower * complement_lower)) * (1.0 + 8.0 * EPS)
        is_inside = (p_lower > 0.0) & (complement_lower > 0.0) & (b >= 0.0) & (b <= 1.0)
        others = np.flatnonzero(~(is_inside & (bounds <= NEGLIGIBLE_RESIDUAL)))
        if len(others):
            bounds[others] = super().residual_upper_between(y[others], lower[others], upper[others], a[others])
        return bounds

    def derivative_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        positive = y > 0.0
        first, last = -y * lower, -y * upper
        low_at_lower, high_at_lower = sigmoid_range(first, first)
        low_at_upper, high_at_upper = (low_at_lower, high_at_lower) if upper is lower else sigmoid_range(last, last)
        return (np.where(positive, -high_at_lower, low_at_lower), np.where(positive, -low_at_upper, high_at_upper))

    def derivative_midpoint_and_radius(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        # The slope of the sigmoid is at most 1/4.
        p, slack = falling_sigmoid(y * lower), (ELEMENTARY_ULPS + 3) * EPS
        error = up(up(slack * p + 0.25 * up(upper - lower)) * (1.0 + 2.0 * EPS) + UNDERFLOW)
        return -y * p, np.fmin(error, 1.0)  # also for a NaN

    def curvature_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:  # noqa: ARG002 (even)
        # sigma(t) sigma(-t) is even and falls with |t|; a NaN gives the whole range
        largest, smallest = np.maximum(-lower, upper), np.maximum(np.maximum(lower, -upper), 0.0)
        slack = (2 * (ELEMENTARY_ULPS + 3) + 1) * EPS
        least = down(down(sigmoid(largest) * sigmoid(-largest) * (1.0 - slack)) - UNDERFLOW)
        most = up(up(sigmoid(smallest) * sigmoid(-smallest) * (1.0 + slack)) + UNDERFLOW)
        return np.fmax(least, 0.0), np.fmin(most, 0.25)

    def secant_range(self, y: Array, lower: Array, upper: Array, move: Array) -> tuple[Array, Array]:
        # The curvature is even and falls with |t|. The flattest secant starts at the score most distant from 0 and goes
        # away from 0, the steepest starts at the score nearest to 0 and goes towards 0 (fp-elementary).
        slack = (ELEMENTARY_ULPS + 3) * EPS
        far, near = np.maximum(-lower, upper), np.maximum(np.maximum(lower, -upper), 0.0)
        outer, inner = up(far + move), down(near - move)
        at_far, at_outer, at_near, at_inner = (falling_sigmoid(t) for t in (far, outer, near, inner))
        # Each sigmoid is off by `slack` times itself, and by what underflowed; the difference is rounded once more.
        fall = down(at_far - at_outer) - up(slack * (at_far + at_outer) + 2.0 * UNDERFLOW)
        rise = up(at_inner - at_near) + up(slack * (at_inner + at_near) + 2.0 * UNDERFLOW)
        with np.errstate(divide="ignore"):
            least = down(down(fall) / up(outer - far))
            most = np.where(inner >= 0.0, up(up(rise) / down(near - inner)), 0.25)
        # Over a short way the difference cancels, and a NaN gives no bound: there the range of curvatures is used.
        other = np.flatnonzero(~((move >= MIN_SECANT_LENGTH) & (least >= 0.0) & (most <= 0.25)))
        if len(other):
            flattest, steepest = super().secant_range(y[other], lower[other], upper[other], move[other])
            least[other], most[other] = np.fmax(least[other], flattest), np.fmin(most[other], steepest)
        return least, most

    def curvature_slope_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:  # noqa: ARG002 (odd)
        # psi'' = -psi' tanh(t / 2) is odd, rises up to -STEEPEST, falls up to STEEPEST and rises again.
        low_at_lower, high_at_lower = self._curvature_slope(lower)
        low_at_upper, high_at_upper = self._curvature_slope(upper)
        has_top = ~((lower > -STEEPEST_LOWER) | (upper < -STEEPEST_UPPER))  # also for a NaN
        has_bottom = ~((lower > STEEPEST_UPPER) | (upper < STEEPEST_LOWER))
        return (
            np.where(has_bottom, -GREATEST_SLOPE, np.minimum(low_at_lower, low_at_upper)),
            np.where(has_top, GREATEST_SLOPE, np.maximum(high_at_lower, high_at_upper)),
        )

    def _curvature_slope(self, t: Array) -> tuple[Array, Array]:
        """Bound psi'' at t: a product of two sigmoids and their difference, which is at most 1 (fp-elementary)."""
        low, high = sigmoid(t), sigmoid(-t)
        size = low * high
        error = up(up((4 * (ELEMENTARY_ULPS + 3) + 4) * EPS * size) + UNDERFLOW)
        value = size * (high - low)
        return down(value - error), up(value + error)

    def wrong_label_upper(self, lower: Array, upper: Array) -> Array:  # noqa: ARG002 (constant)
        return np.ones_like(lower)

    def link(self, t: Array) -> Array:
        probability: Array = expit(t)
        return probability

    def link_range(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        return sigmoid_range(lower, upper)
