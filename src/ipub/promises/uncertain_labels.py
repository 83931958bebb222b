"""Uncertain labels: targets in intervals, and rows of unknown class (section 13 of the theory)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.losses import Loss
from ipub.numeric.rounding import Array, down, up
from ipub.promises.base import Uncertainty
from ipub.rows.block import Block


@dataclass(frozen=True)
class UncertainLabels(Uncertainty):
    """Every target lies within its radius of y, and every weight within its relative radius (F14)."""

    def derivative_change(self, block: Block, loss: Loss, lower: Array, upper: Array) -> Array:
        """Bound the change of weight times derivative, over the weight; that of a target depends on ``t - y``."""
        labels = block.label_uncertainty
        if labels is None:
            return np.zeros_like(lower)
        shape = (-1,) + (1,) * (lower.ndim - 1)
        radius, weight_radius, y = (part.reshape(shape) for part in (labels.radius, labels.weight_radius, block.y))
        low, high = down(lower - radius), up(upper + radius)
        slopes, steepest = loss.derivative_range(y, low, high), loss.curvature_range(y, low, high)[1]
        moved = up(np.where(radius > 0.0, steepest * radius, 0.0))
        off = up(
            up(weight_radius * np.maximum(np.abs(slopes[0]), np.abs(slopes[1]))) + up(moved * (1.0 + weight_radius))
        )
        return np.where((radius > 0.0) | (weight_radius > 0.0), off, 0.0)
