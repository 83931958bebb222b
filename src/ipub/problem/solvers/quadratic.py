"""The inner problem of a Newton step: a quadratic with an l1 term, by its matrix or by products with vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import dposv
from scipy.sparse.linalg import LinearOperator, cg

from ipub.numeric.rounding import EPS, LARGEST, Array
from ipub.problem.objective import HessianProducts

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


TOLERANCE = 1e-5
"""Norm of the gradient of the quadratic that is left, relative to that at the start: a Newton step leaves as much."""
MOST_PRODUCTS = 1000
"""Products of one solution of a linear system, at most: each is a pass over the rows."""
MOST_ROUNDS = 30
"""Rounds that guess which weights are zero and solve for the others, at most."""
GRADIENT_STEPS = 4
"""Proximal gradient steps of a round: more guess the zeros better."""
MOST_HALVINGS = 6
"""How often a step to the solution for guessed signs is halved, at most."""


@dataclass(frozen=True)
class _System:
    """The matrix ``H + diag(shift)``, by its products."""

    hessian: HessianProducts
    shift: Array

    @property
    def scale(self) -> Array:
        """Its diagonal, without zeros."""
        diagonal = self.hessian.diagonal + self.shift
        return np.where(diagonal > 0.0, diagonal, 1.0)

    def times(self, vector: Array) -> Array:
        return self.hessian @ vector + self.shift * vector

    def solve(self, right: Array, on: NDArray[np.bool_]) -> Array:
        """Solve for the coordinates that are `on`, by conjugate gradients; the others are 0."""
        n = len(right)
        matrix = LinearOperator((n, n), matvec=lambda v: np.where(on, self.times(np.where(on, v.ravel(), 0.0)), 0.0))
        inverse = LinearOperator((n, n), matvec=lambda v: v.ravel() / self.scale)
        solved, _ = cg(matrix, np.where(on, right, 0.0), rtol=TOLERANCE, atol=0.0, maxiter=MOST_PRODUCTS, M=inverse)
        return np.asarray(solved)

    def steepness(self) -> float:
        """Estimate the greatest ``v.(H + diag(shift)) v / v.diag(scale) v``, by a few steps of the power method."""
        root, value = np.sqrt(self.scale), 1.0
        vector = np.random.default_rng(0).standard_normal(len(root))
        for _ in range(8):
            vector /= np.linalg.norm(vector)
            image = self.times(vector / root) / root
            value, vector = float(vector @ image), image
        return 1.1 * max(value, 1.0)


def minimise_by_products(
    hessian: HessianProducts, gradient: Array, lam: Array, damping: Array, kappa: Array, w: Array
) -> Array:
    """Return p that about minimises ``gradient.p + p.(H + diag(damping)) p / 2`` plus the penalty of ``w + p``.

    The penalty is ``sum_j lam_j z_j^2 / 2 + kappa_j |z_j|``. Without its second part these are conjugate gradients,
    preconditioned by the diagonal. With it, rounds of proximal gradient steps guess which weights are zero, and the
    signs of the others, for which a linear system is solved.
    """
    right = -(gradient + lam * w)
    if not (np.isfinite(right).all() and np.isfinite(hessian.diagonal).all()):
        return np.zeros_like(right)
    system = _System(hessian, lam + damping)
    if not kappa.any():
        return system.solve(right, np.ones(len(w), dtype=bool))
    return _L1Rounds(system, right, kappa, w).run()


class _L1Rounds:
    """Rounds for ``p.A p / 2 - right.p + sum_j kappa_j |w_j + p_j|``."""

    def __init__(self, system: _System, right: Array, kappa: Array, w: Array) -> None:
        self.system, self.right, self.kappa, self.w = system, right, kappa, w
        self.step = 1.0 / (system.steepness() * system.scale)
        self._move_to(w)

    def run(self) -> Array:
        """Return p."""
        allowed = TOLERANCE * self._violation()
        for _ in range(MOST_ROUNDS):
            for _ in range(GRADIENT_STEPS):
                self._gradient_step()
            self._signs_step()
            if self._violation() <= allowed:
                break
        return self.z - self.w

    def _move_to(self, z: Array) -> None:
        p = z - self.w
        self.z, self.residual = z, self.right - self.system.times(p)
        self.value = float(self.kappa @ np.abs(z) - 0.5 * p @ (self.right + self.residual))

    def _try(self, z: Array) -> bool:
        """Move to z if the value falls there."""
        before = self.z, self.residual, self.value
        self._move_to(z)
        if self.value <= before[2]:
            return True
        self.z, self.residual, self.value = before
        return False

    def _gradient_step(self) -> None:
        aim = self.z + self.step * self.residual
        if not self._try(np.sign(aim) * np.maximum(np.abs(aim) - self.step * self.kappa, 0.0)):
            self.step = 0.5 * self.step

    def _signs_step(self) -> None:
        """Solve for the weights that are not zero, with their signs; a weight that would change its sign becomes 0."""
        signs = np.sign(self.z)
        on = (signs != 0.0) | (self.kappa == 0.0)
        change = self.system.solve(self.residual - self.kappa * signs, on)
        for _ in range(MOST_HALVINGS):
            aim = self.z + change
            if self._try(np.where((aim * signs < 0.0) & (self.kappa > 0.0), 0.0, aim)):
                break
            change = 0.5 * change

    def _violation(self) -> float:
        """Return the norm of the subgradient that is nearest to zero."""
        at_zero = np.maximum(np.abs(self.residual) - self.kappa, 0.0)
        elsewhere = self.residual - self.kappa * np.sign(self.z)
        return float(np.linalg.norm(np.where(self.z == 0.0, at_zero, elsewhere)))
