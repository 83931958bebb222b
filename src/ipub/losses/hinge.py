"""The hinge loss, whose derivative jumps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.losses.base import Loss
from ipub.losses.smoothed_hinge import SmoothedHinge
from ipub.numeric.rounding import EPS, Array, down, up

MAX_LINE_SLOPE = 1e6
"""Greatest slope of a line through the jump: a steeper one would hardly narrow a bound and would cost accuracy."""


@dataclass(frozen=True)
class Hinge(Loss):
    """Hinge loss ``max(0, 1 - y t)`` of the support vector machine; link: sign, 0 meaning unknown."""

    name = "hinge"
    task = "classification"
    is_smooth = False

    def value(self, y: Array, t: Array) -> Array:
        return np.maximum(0.0, 1.0 - y * t)

    def derivative(self, y: Array, t: Array) -> Array:
        return np.where(y * t < 1.0, -y, 0.0)

    def curvature(self, y: Array, t: Array) -> Array:
        return np.zeros_like(y * t)

    def conjugate(self, y: Array, a: Array) -> Array:
        b = a * y
        return np.where((b >= 0.0) & (b <= 1.0), -b, np.inf)

    def value_upper(self, y: Array, t: Array) -> Array:
        return np.maximum(0.0, up(1.0 - y * t))

    def conjugate_upper(self, y: Array, a: Array) -> Array:
        return self.conjugate(y, a)

    def residual_upper(self, y: Array, t: Array, a: Array) -> Array:
        # With b = a y and z = 1 - y t the residual is max(z (1 - b), -b z).
        b, z = a * y, 1.0 - y * t
        above = up(up(z) * up(1.0 - b))
        below = up(-b * down(z))
        return np.where(np.isfinite(self.conjugate(y, a)), np.maximum(0.0, np.maximum(above, below)), np.inf)

    def jump_at(self, y: Array) -> Array:
        return y

    def derivative_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        # Only a score strictly beyond the kink is decided; a NaN is not.
        positive = y > 0.0
        lowest = np.where(positive, np.where(lower > 1.0, 0.0, -1.0), np.where(lower > -1.0, 1.0, 0.0))
        highest = np.where(positive, np.where(upper < 1.0, -1.0, 0.0), np.where(upper < -1.0, 0.0, 1.0))
        return lowest, highest

    def curvature_range(self, y: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        lowest, highest = self.derivative_range(y, lower, upper)
        return np.zeros_like(lower), np.where(lowest == highest, 0.0, np.inf)

    def derivative_line(self, y: Array, score: Array, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
        # The kink is at y. The derivative minus h (t - y) stays within -y/2 ± 1/2 while h abs(t - y) <= 1.
        distance = np.maximum(up(upper - y), up(y - lower))
        h = np.minimum(down(1.0 / np.maximum(distance, 1.0 / MAX_LINE_SLOPE)), MAX_LINE_SLOPE)
        h = np.maximum(0.0, np.nan_to_num(h, nan=0.0))
        shift = h * (score - y)
        c = shift - 0.5 * y
        # Rounding of shift and c (fp-operation, three operations).
        return c, h, up(0.5 + 4.0 * EPS * (np.abs(shift) + np.abs(c) + h * np.abs(score)))

    def smoothed(self, width: float) -> Loss:
        return SmoothedHinge(width)
