"""Newton for many small complete tables at once: approximate models, for comparing completions."""

from __future__ import annotations

import numpy as np

from ipub.losses import Loss
from ipub.losses.penalties import ElasticNet, soft_threshold
from ipub.numeric.rounding import Array, overflow_means_unbounded

WIDTHS = (1.0, 0.1, 0.01, 0.001, 0.0001)
"""Widths over which a kink is smoothed, one after the other; a smooth loss is not smoothed."""
LEAST_STEP = 2.0**-40
"""Least fraction of a Newton step: the first may be far too long where the loss has no curvature yet."""
BISECTIONS = 12
"""Halvings, on the logarithmic scale, of where the best step may be."""
MAX_ITER = 60
"""Newton steps at one width, at most."""
TOLERANCE = 1e-6
"""Step, relative to the weights, at which training stops."""
INTERCEPT_CURVATURE = 0.1
"""Curvature used for an intercept where there is none."""
SWEEPS = 6
"""Coordinate descent sweeps within one Newton step, each with a step to the exact values for its signs."""


@overflow_means_unbounded()
def solve_tables(
    tables: Array,
    y: Array,
    weight: Array,
    loss: Loss,
    penalty: ElasticNet,
    start: Array,
    widths: tuple[float, ...] = WIDTHS,
) -> Array:
    """Return (k, d): approximate models of k tables of shape (n, d) with the same labels and weights.

    `start` is one model, or one for each table; near the models few `widths` do.
    """
    weights = weight / weight.sum()
    w = np.array(np.broadcast_to(start, (len(tables), tables.shape[2])))
    for smooth in dict.fromkeys(loss.smoothed(width) for width in widths):
        moving = np.arange(len(w))
        for _ in range(MAX_ITER):
            part, here = tables[moving], w[moving]
            score = _dot(part, here)
            hessian = (part * (weights * smooth.curvature(y, score))[..., None]).swapaxes(1, 2) @ part
            gradient = _dot(part.swapaxes(1, 2), weights * smooth.derivative(y, score))
            direction = np.nan_to_num(_minimise(hessian, _dot(hessian, here) - gradient, penalty, here) - here)
            step = _steps(part, y, weights, smooth, penalty, here, direction)[:, None] * direction
            w[moving] += step
            moving = moving[np.abs(step).max(axis=1) > TOLERANCE * np.abs(w[moving]).max(axis=1)]
            if len(moving) == 0:
                break
    return w


def _dot(matrices: Array, vectors: Array) -> Array:
    return np.asarray((matrices @ vectors[..., None])[..., 0])


def _steps(
    tables: Array, y: Array, weights: Array, loss: Loss, penalty: ElasticNet, w: Array, direction: Array
) -> Array:
    """Return for each table a step near the minimum along its direction, at most 1, by bisection."""
    score, change = _dot(tables, w), _dot(tables, direction)
    lam, kappa = penalty.lam_vector(w.shape[1]), penalty.kappa_vector(w.shape[1])
    low, high = np.full(len(w), np.log(LEAST_STEP)), np.zeros(len(w))
    step = np.ones(len(w))
    for _ in range(BISECTIONS):
        slope = (weights * change * loss.derivative(y, score + step[:, None] * change)).sum(axis=1)
        there = w + step[:, None] * direction
        slope += (direction * (lam * there + kappa * np.sign(there))).sum(axis=1)
        low, high = np.where(slope > 0.0, low, np.log(step)), np.where(slope > 0.0, np.log(step), high)
        step = np.exp(0.5 * (low + high))
    return step


def _minimise(hessian: Array, linear: Array, penalty: ElasticNet, start: Array) -> Array:
    """Minimise ``z.H z / 2 - linear.z + sum_j lam_j z_j^2 / 2 + kappa_j |z_j|`` for each matrix H."""
    d = linear.shape[1]
    kappa = penalty.kappa_vector(d)
    # A little more than lam, so that rounding leaves no matrix singular.
    shift = penalty.lam_vector(d) + 1e-13 * np.trace(hessian, axis1=1, axis2=2)[:, None]
    matrix = hessian + np.where(shift > 0.0, shift, INTERCEPT_CURVATURE)[:, None] * np.eye(d)
    if penalty.kappa == 0.0:
        return _solve(matrix, linear)
    z = start.copy()
    for _ in range(SWEEPS):
        residual = linear - _dot(matrix, z)
        for j in range(d):
            diagonal = matrix[:, j, j]
            change = soft_threshold(residual[:, j] + diagonal * z[:, j], kappa[j]) / diagonal - z[:, j]
            residual -= matrix[:, :, j] * change[:, None]
            z[:, j] += change
        # With these signs the values would solve a linear system: move there, until a sign changes.
        signs = np.sign(z)
        on = (signs != 0.0) | (kappa == 0.0)
        within = np.where(on[:, :, None] & on[:, None, :], matrix, np.eye(d))
        target = _solve(within, on * linear - kappa * signs)
        crossing = (z * target < 0.0) & (kappa > 0.0)
        step = np.where(crossing, z / np.where(crossing, z - target, 1.0), 1.0)
        least = step.min(axis=1, keepdims=True)
        z = np.where(crossing & (step == least), 0.0, z + least * (target - z))
    return z


def _solve(matrices: Array, right: Array) -> Array:
    return np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0])
