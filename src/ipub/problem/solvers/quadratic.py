"""The inner problem of a Newton step: a quadratic of the size of the features, with an l1 term."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dposv

from ipub.numeric.rounding import EPS, LARGEST, Array

SWEEPS = 3
"""Coordinate descent sweeps for a first guess of the signs: more cost time and save active set steps."""


def minimise_quadratic(hessian: Array, linear: Array, lam: float | Array, kappa: float | Array, start: Array) -> Array:
    """Minimise ``z.H z / 2 - linear.z + sum_j lam_j z_j^2 / 2 + kappa_j |z_j|``, exactly up to rounding.

    For ``kappa = 0`` this is one Cholesky solve. Otherwise sweeps of coordinate descent guess the signs,
    and an active set (feature-sign) search finds them exactly: it solves for the coordinates that are not zero,
    walks to that solution as far as the objective falls, drops the coordinates that become zero, and takes in
    the zero whose gradient exceeds `kappa` the most. The objective falls each time, so it ends.
    """
    lam, kappa = (np.broadcast_to(np.asarray(part, dtype=float), linear.shape) for part in (lam, kappa))
    smooth = kappa == 0.0
    if smooth.all():
        return solve_shifted(hessian, lam, linear)
    if not np.isfinite(hessian).all():
        return np.zeros_like(linear)
    matrix = hessian + np.diag(lam)
    z = _coordinate_descent(matrix, linear, kappa, start)
    signs = np.sign(z)
    for _ in range(20 * len(z) + 20):
        on = np.flatnonzero((signs != 0.0) | smooth)
        target = np.zeros_like(z)
        target[on] = solve_shifted(hessian[np.ix_(on, on)], lam[on], linear[on] - (kappa * signs)[on])
        if ((np.sign(target) != signs) & ~smooth).any():
            z = _walk(matrix, linear, kappa, z, target)
            signs = np.sign(z)
            continue
        z = target
        slope = linear - matrix @ z
        rounding = 4.0 * len(z) * EPS * (np.abs(linear) + np.abs(matrix) @ np.abs(z))
        excess = np.where((signs == 0.0) & ~smooth, np.abs(slope) - kappa - rounding, -np.inf)
        enters = int(np.argmax(excess))
        if not (excess[enters] > 0.0):
            break
        signs[enters] = np.sign(slope[enters])
    return z


def _coordinate_descent(matrix: Array, linear: Array, kappa: Array, start: Array) -> Array:
    z = np.array(start)
    residual = linear - matrix @ z
    diagonal = np.diag(matrix)
    for _ in range(SWEEPS):
        for j in np.flatnonzero(diagonal > 0.0):
            target = residual[j] + diagonal[j] * z[j]
            new = np.sign(target) * max(abs(target) - kappa[j], 0.0) / diagonal[j]
            if new != z[j]:
                residual -= matrix[j] * (new - z[j])
                z[j] = new
    return z


def _walk(matrix: Array, linear: Array, kappa: Array, z: Array, target: Array) -> Array:
    """Return the best of the target and of the points on the way to it where a coordinate changes sign."""
    crossing = np.flatnonzero((z * target < 0.0) & (kappa > 0.0))
    points = [target]
    for j in crossing:
        point = z + (target - z) * (z[j] / (z[j] - target[j]))
        point[j] = 0.0
        points.append(point)
    values = [0.5 * p @ (matrix @ p) - linear @ p + kappa @ np.abs(p) for p in points]
    return points[int(np.argmin(values))]


def solve_shifted(hessian: Array, lam: float | Array, right: Array) -> Array:
    """Solve ``(H + diag(lam)) z = right`` for H positive semidefinite, however close to singular.

    `right` is one vector, or a matrix with one in each column. 0 if either has overflowed.
    """
    if right.size == 0 or not (np.isfinite(hessian).all() and np.isfinite(right).all()):
        return np.zeros_like(right)
    matrix = hessian + np.diag(np.broadcast_to(lam, right.shape[:1]))
    _, solved, failure = dposv(matrix, right)
    if not failure:
        return np.asarray(solved)
    # Rounding made the matrix indefinite: raise its least eigenvalues to what they are at least, up to rounding.
    values, vectors = eigh(matrix)
    least = np.min(lam) or len(right) * EPS * max(values[-1], 1.0 / LARGEST)
    return np.asarray(vectors @ ((vectors.T @ right).T / np.maximum(values, least)).T)
