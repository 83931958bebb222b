"""The squared hinge loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.losses.clipped import ClippedLine
from ipub.numeric.rounding import Array


@dataclass(frozen=True)
class SquaredHinge(ClippedLine):
    """Squared hinge loss ``max(0, 1 - y t)^2``; link: sign, 0 meaning unknown."""

    name = "squared_hinge"
    task = "classification"
    _width = 0.5

    def _ends(self, y: Array) -> tuple[Array, Array]:
        return np.where(y > 0.0, -np.inf, 0.0), np.where(y > 0.0, 0.0, np.inf)

    def wrong_label_upper(self, lower: Array, upper: Array) -> Array:
        # 2 max(1 + t, 0) + 2 max(1 - t, 0) is convex: greatest at an end.
        at_lower, at_upper = super().wrong_label_upper(lower, lower), super().wrong_label_upper(upper, upper)
        return np.maximum(at_lower, at_upper)
