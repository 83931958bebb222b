"""The inner problem of a Newton step: a quadratic of the size of the features, with an l1 term."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from ipub.rounding import EPS, Array

SWEEPS = 3
"""Coordinate descent sweeps that make a first guess of the signs."""


def minimise_quadratic(hessian: Array, linear: Array, lam: float, kappa: float, start: Array) -> Array:
    """Minimise ``z.(H + lam I) z / 2 - linear.z + kappa |z|_1``, exactly up to rounding.

    For ``kappa = 0`` this is one Cholesky solve. Otherwise some sweeps of coordinate descent guess the signs,
    and an active set (feature-sign) search settles them: it solves for the coordinates that are not zero,
    walks to that solution as far as the objective falls, drops the coordinates that reach zero, and takes in
    the zero whose gradient exceeds `kappa` the most. The objective falls each time, so it ends.
    """
    if kappa == 0.0:
        return solve_shifted(hessian, lam, linear)
    if not np.isfinite(hessian).all():
        return np.zeros_like(linear)
    matrix = hessian + lam * np.eye(len(linear))
    z = _coordinate_descent(matrix, linear, kappa, start)
    signs = np.sign(z)
    for _ in range(20 * len(z) + 20):
        on = np.flatnonzero(signs)
        target = np.zeros_like(z)
        target[on] = solve_shifted(hessian[np.ix_(on, on)], lam, linear[on] - kappa * signs[on])
        if (np.sign(target[on]) != signs[on]).any():
            z = _walk(matrix, linear, kappa, z, target)
            signs = np.sign(z)
            continue
        z = target
        slope = linear - matrix @ z
        rounding = 4.0 * len(z) * EPS * (np.abs(linear) + np.abs(matrix) @ np.abs(z))
        excess = np.where(signs == 0.0, np.abs(slope) - kappa - rounding, -np.inf)
        enters = int(np.argmax(excess))
        if not (excess[enters] > 0.0):
            break
        signs[enters] = np.sign(slope[enters])
    return z


def _coordinate_descent(matrix: Array, linear: Array, kappa: float, start: Array) -> Array:
    z = np.array(start)
    rest = linear - matrix @ z
    diagonal = np.diag(matrix)
    for _ in range(SWEEPS):
        for j in range(len(z)):
            pull = rest[j] + diagonal[j] * z[j]
            new = np.sign(pull) * max(abs(pull) - kappa, 0.0) / diagonal[j]
            if new != z[j]:
                rest -= matrix[j] * (new - z[j])
                z[j] = new
    return z


def _walk(matrix: Array, linear: Array, kappa: float, z: Array, target: Array) -> Array:
    """Return the best of the target and of the points on the way to it where a coordinate changes sign."""
    crossing = np.flatnonzero(z * target < 0.0)
    points = [target]
    for j in crossing:
        point = z + (target - z) * (z[j] / (z[j] - target[j]))
        point[j] = 0.0
        points.append(point)
    values = [0.5 * p @ (matrix @ p) - linear @ p + kappa * np.abs(p).sum() for p in points]
    return points[int(np.argmin(values))]


def solve_shifted(hessian: Array, lam: float, right: Array) -> Array:
    """Solve ``(H + lam I) z = right`` for H positive semidefinite, however close to singular."""
    if not np.isfinite(hessian).all():
        return np.zeros_like(right)
    try:
        return np.asarray(cho_solve(cho_factor(hessian + lam * np.eye(len(right))), right))
    except LinAlgError:
        # Rounding made H + lam I indefinite: clip its negative eigenvalues, which are rounding themselves.
        values, vectors = eigh(hessian)
        return np.asarray(vectors @ ((vectors.T @ right) / (np.maximum(values, 0.0) + lam)))
