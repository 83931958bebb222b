"""Penalties: what the size of the weights costs.

``rho(w) = (lam / 2) |w|_2^2 + kappa |w|_1``: the L2 penalty for ``kappa = 0``, the elastic net otherwise.
It is `lam`-strongly convex and a sum over coordinates, which is all the theory asks of it. As in
`ipub.losses`, names ending in ``_upper`` or ``_range`` are rounded outward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.rounding import LARGEST, Array, down, up


def soft_threshold(q: Array, kappa: float | Array) -> Array:
    """Return sign(q) max(abs(q) - kappa, 0)."""
    return np.sign(q) * np.maximum(np.abs(q) - kappa, 0.0)


@dataclass(frozen=True)
class ElasticNet:
    """The penalty ``(lam / 2) |w|_2^2 + kappa |w|_1``, with ``lam > 0`` and ``kappa >= 0``."""

    lam: float
    kappa: float = 0.0

    def __post_init__(self) -> None:
        # As Python floats: a NumPy float32 would drag every later division down to its precision.
        object.__setattr__(self, "lam", float(self.lam))
        object.__setattr__(self, "kappa", float(self.kappa))
        if not (1.0 / LARGEST <= self.lam <= LARGEST):
            raise ValueError(
                f"The strength of the l2 penalty, alpha * (1 - l1_ratio), is {self.lam:g}; it must be between "
                f"{1.0 / LARGEST:g} and {LARGEST:g}."
            )
        if not (0.0 <= self.kappa <= LARGEST):
            raise ValueError(
                f"The strength of the l1 penalty, alpha * l1_ratio, is {self.kappa:g}; it must be between 0 and "
                f"{LARGEST:g}."
            )

    def value(self, w: Array) -> float:
        """Return rho(w)."""
        return float(0.5 * self.lam * (w @ w) + self.kappa * np.abs(w).sum())

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Return the least and the greatest subgradient of each coordinate."""
        smooth = self.lam * w
        return (
            smooth + self.kappa * np.where(w > 0.0, 1.0, -1.0),
            smooth + self.kappa * np.where(w < 0.0, -1.0, 1.0),
        )

    def conjugate(self, q: Array) -> Array:
        """Return rho*_j(q_j) of each coordinate."""
        excess: Array = np.maximum(np.abs(q) - self.kappa, 0.0)
        return excess**2 / (2.0 * self.lam)

    def conjugate_argument(self, q: Array) -> Array:
        """Return the weights w at which q is a subgradient: the derivative of the conjugate."""
        return soft_threshold(q, self.kappa) / self.lam

    def prox(self, w: Array, step: float) -> Array:
        """Return the minimiser of ``|z - w|^2 / 2 + step * rho(z)``."""
        return soft_threshold(w, step * self.kappa) / (1.0 + step * self.lam)

    def residual(self, w: Array, q: Array) -> Array:
        """Return the Fenchel-Young residual rho_j(w_j) + rho*_j(q_j) - w_j q_j, without cancellation."""
        s = soft_threshold(q, self.kappa)
        l1_part = np.where(np.abs(q) <= self.kappa, self.kappa - np.sign(w) * q, self.kappa * (1.0 - np.sign(w * q)))
        quadratic: Array = (self.lam * w - s) ** 2 / (2.0 * self.lam)
        l1: Array = np.abs(w) * np.maximum(l1_part, 0.0)
        return quadratic + l1

    def value_upper(self, w: Array) -> Array:
        """Bound rho_j(w_j) of each coordinate from above."""
        quadratic = up(up(up(w * w) * self.lam) / 2.0)
        return up(quadratic + up(self.kappa * np.abs(w)))

    def conjugate_upper(self, q: Array) -> Array:
        """Bound rho*_j(q_j) of each coordinate from above."""
        excess = np.maximum(up(np.abs(q) - self.kappa), 0.0)
        return up(up(excess * excess) / (2.0 * self.lam))

    def subgradient_range(self, w: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bound ``grad_j + s_j`` for grad in [lower, upper], with s_j a subgradient of rho_j at w_j.

        Where ``w_j = 0`` the subgradient may be chosen for each gradient: the one that leaves the smallest
        sum, which is soft-thresholding (``docs/theory.md``, Theorem 2). Elsewhere it is unique.
        """
        fixed_low = down(down(self.lam * w) + self.kappa * np.sign(w))
        fixed_high = up(up(self.lam * w) + self.kappa * np.sign(w))
        low, high = down(lower + fixed_low), up(upper + fixed_high)
        if self.kappa == 0.0:
            return low, high
        soft_low = np.where(lower < -self.kappa, down(lower + self.kappa), np.maximum(0.0, down(lower - self.kappa)))
        soft_high = np.where(upper > self.kappa, up(upper - self.kappa), np.minimum(0.0, up(upper + self.kappa)))
        return np.where(w == 0.0, soft_low, low), np.where(w == 0.0, soft_high, high)
