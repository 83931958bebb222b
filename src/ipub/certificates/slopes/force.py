"""The greatest norm of a sum of generators, each times a number in [-1, 1] (Theorem 4, "The force")."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, eigh

from ipub.numeric.linalg import greatest_ratio_upper, positive_weights, rounded_up
from ipub.numeric.rounding import TINY, Array, up

WEIGHT_ROUNDS = 3
"""How often the weights of the generators are improved: width against time."""

LEADING = 0.6
"""Directions are improved from this fraction of the worst eigenvalue: width only, any weights are valid."""

WEIGHT_STEP = 0.3
"""How far weights move each time: width only, any weights are valid."""


def zonotope_norm_upper(generators: Array, weights: Array, matrix: Array, roundings: int) -> float:
    """Bound ``sqrt(z.M^-1 z)`` over all ``z = sum_k D_k G_k`` with ``|D_k| <= 1``.

    ``z z^T <= (sum_k o_k) sum_k G_k G_k^T / o_k = Q`` for any positive weights o (Cauchy and Schwarz), and ``z.M^-1 z
    <= mu`` where ``mu M - Q >= 0``. The weights are made larger, step by step, where the worst direction meets large
    generators.
    """
    weights = positive_weights(weights)
    best, best_ratio = None, np.inf
    for _ in range(WEIGHT_ROUNDS):
        weights = weights / weights.sum()
        form = (generators / weights[:, None]).T @ generators
        try:
            values, vectors = eigh(form, matrix)
        except (LinAlgError, ValueError):
            return np.inf
        if values[-1] < best_ratio:
            best, best_ratio = form, values[-1]
        worst = np.maximum(values / max(values[-1], TINY) - LEADING, 0.0)
        sizes = np.sqrt((generators @ vectors) ** 2 @ worst)
        weights = positive_weights((1.0 - WEIGHT_STEP) * weights + WEIGHT_STEP * sizes / sizes.sum())
    if best is None:  # every ratio overflowed
        return np.inf
    return form_norm_upper(rounded_up(best, len(generators) + roundings + len(matrix)), matrix)


def form_norm_upper(form: Array, matrix: Array) -> float:
    """Bound ``sqrt(z.M^-1 z)`` over all z with ``z z^T <= form``."""
    return float(up(np.sqrt(greatest_ratio_upper(form, matrix))))
