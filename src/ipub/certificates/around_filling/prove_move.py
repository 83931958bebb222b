"""How far the model of one completion can be from w', by a way of its own (Lemma 18)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.certificates.around_filling.filled_table import FilledTable
from ipub.certificates.around_filling.force import force_upper
from ipub.certificates.around_filling.hessian_loss import hessian_loss
from ipub.certificates.around_filling.table_metric import Metric
from ipub.rounding import UNDERFLOW, down, up

ROUNDS = 25
"""Choices of the metric and of the radius that are tried before giving up."""

RATIO_MARGIN = 1e-3
"""The metric is made with secant ratios that are smaller by this share, so that a slightly larger set still fits."""

LEAST_CURVATURE = 1e-100
"""Rows with less, at scores of some 230 or more, are left out of the metric: their curvature is not known."""


@dataclass(frozen=True)
class ProvedMove:
    """``|v|_W <= radius`` for the model of every completion."""

    metric: Metric
    radius: float


def prove_move(table: FilledTable) -> ProvedMove | None:
    """Bound how far any model can be from w' (Lemma 18); None if no set closes."""
    counts = table.at.second > LEAST_CURVATURE
    metric = Metric.of(table, counts.astype(float))
    if metric is None:
        return None
    force, loss = force_upper(metric), hessian_loss(metric)
    if not (loss < 1.0 and np.isfinite(force)):
        return None
    radius = 1.1 * force / (1.0 - loss) + UNDERFLOW
    lower, upper = table.score_ranges
    for _ in range(ROUNDS):
        ratio = table.loss.secant_ratio_lower(table.y, lower, upper, up(metric.reach * radius))
        ratio = np.where(ratio < 1.0, (1.0 - RATIO_MARGIN) * ratio, 1.0) * counts
        metric = Metric.of(table, ratio)
        if metric is None:
            return None
        force, loss = force_upper(metric), hessian_loss(metric)
        if not (loss < 1.0 and np.isfinite(force)):
            return None
        proved = up(force / down(1.0 - loss))
        holds = table.loss.secant_ratio_lower(table.y, lower, upper, up(metric.reach * radius)) >= ratio
        if proved < radius and bool(holds.all()):
            return ProvedMove(metric, proved)
        radius = max(1.02 * proved, radius) if proved >= radius else radius
    return None
