"""The squared loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.losses.base import Loss
from ipub.numeric.rounding import Array, down, up


@dataclass(frozen=True)
class Squared(Loss):
    """Squared loss ``(y - t)^2`` of regression; link: identity."""

    name = "squared_error"
    task = "regression"
    has_bounded_third_derivative = True

    def value(self, y: Array, t: Array) -> Array:
        return (y - t) ** 2

    def derivative(self, y: Array, t: Array) -> Array:
        return 2.0 * (t - y)

    def curvature(self, y: Array, t: Array) -> Array:
        return np.full_like(y * t, 2.0)

    def conjugate(self, y: Array, a: Array) -> Array:
        return a * (a - 4.0 * y) / 4.0

    def value_upper(self, y: Array, t: Array) -> Array:
        return up(up(np.abs(y - t)) ** 2)

    def conjugate_upper(self, y: Array, a: Array) -> Array:
        factor = a - 4.0 * y
        return up(up(np.maximum(a * down(factor), a * up(factor))) / 4.0)

    def residual_upper(self, y: Array, t: Array, a: Array) -> Array:
        # The residual is a perfect square, (t - y + a/2)^2: no cancellation of large terms.
        error = t - y
        highest = up(up(error) + up(a / 2.0))
        lowest = down(down(error) + down(a / 2.0))
        return up(np.maximum(np.abs(highest), np.abs(lowest)) ** 2)

    def derivative_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        return 2.0 * down(lower - y), 2.0 * up(upper - y)

    def curvature_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:  # noqa: ARG002 (constant)
        return np.full_like(lower, 2.0), np.full_like(upper, 2.0)

    def curvature_slope_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:  # noqa: ARG002 (zero)
        return np.zeros_like(lower), np.zeros_like(upper)
