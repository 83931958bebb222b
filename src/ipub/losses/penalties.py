"""Penalties of the weights.

``rho(w) = (lam / 2) |w|_2^2 + kappa |w|_1``: the L2 penalty for ``kappa = 0``, the elastic net otherwise.
It is `lam`-strongly convex and a sum over coordinates, which is all the theory asks of it. The last `n_free`
coordinates, an intercept, cost nothing. As in `ipub.losses`, names ending in ``_upper`` or ``_range`` are
rounded outward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.numeric.rounding import LARGEST, Array, down, up


def soft_threshold(q: Array, kappa: float | Array) -> Array:
    """Return sign(q) max(abs(q) - kappa, 0)."""
    return np.sign(q) * np.maximum(np.abs(q) - kappa, 0.0)


@dataclass(frozen=True)
class ElasticNet:
    """The penalty ``(lam / 2) |w|_2^2 + kappa |w|_1``, with ``lam > 0`` and ``kappa >= 0``.

    Vectors have all coordinates; the last `n_free` of them are not penalised.
    """

    lam: float
    kappa: float = 0.0
    n_free: int = 0

    def __post_init__(self) -> None:
        # As Python floats: a NumPy float32 would make every later division single precision.
        object.__setattr__(self, "lam", float(self.lam))
        object.__setattr__(self, "kappa", float(self.kappa))
        if not (1.0 / LARGEST <= self.lam <= LARGEST):
            raise IpubError(
                "The strength of the l2 penalty, alpha * (1 - l1_ratio), is {value:g}; it must be between {least:g} "
                "and {largest:g}.",
                value=self.lam,
                least=1.0 / LARGEST,
                largest=LARGEST,
            )
        if not (0.0 <= self.kappa <= LARGEST):
            raise IpubError(
                "The strength of the l1 penalty, alpha * l1_ratio, is {value:g}; it must be between 0 and {largest:g}.",
                value=self.kappa,
                largest=LARGEST,
            )

    def is_free(self, n: int) -> NDArray[np.bool_]:
        """Return for each of n coordinates whether it is not penalised."""
        return np.arange(n) >= n - self.n_free

    def lam_vector(self, n: int) -> Array:
        """Return the strength of the l2 part for each of n coordinates."""
        return np.where(self.is_free(n), 0.0, self.lam)

    def kappa_vector(self, n: int) -> Array:
        """Return the strength of the l1 part for each of n coordinates."""
        return np.where(self.is_free(n), 0.0, self.kappa)

    def value(self, w: Array) -> float:
        """Return rho(w)."""
        w = w[: len(w) - self.n_free]
        return float(0.5 * self.lam * (w @ w) + self.kappa * np.abs(w).sum())

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Return the least and the greatest subgradient of each coordinate."""
        smooth, kappa = self.lam_vector(len(w)) * w, self.kappa_vector(len(w))
        return smooth + kappa * np.where(w > 0.0, 1.0, -1.0), smooth + kappa * np.where(w < 0.0, -1.0, 1.0)

    def conjugate(self, q: Array) -> Array:
        """Return rho*_j(q_j) of each coordinate; of a free one infinity, unless ``q_j = 0``."""
        excess: Array = np.maximum(np.abs(q) - self.kappa, 0.0)
        return self._infinite_if_free(q, excess**2 / (2.0 * self.lam))

    def residual(self, w: Array, q: Array) -> Array:
        """Return the Fenchel-Young residual rho_j(w_j) + rho*_j(q_j) - w_j q_j, without cancellation."""
        s = soft_threshold(q, self.kappa)
        l1_part = np.where(np.abs(q) <= self.kappa, self.kappa - np.sign(w) * q, self.kappa * (1.0 - np.sign(w * q)))
        quadratic: Array = (self.lam * w - s) ** 2 / (2.0 * self.lam)
        l1: Array = np.abs(w) * np.maximum(l1_part, 0.0)
        return self._infinite_if_free(q, quadratic + l1)

    def _infinite_if_free(self, q: Array, otherwise: Array) -> Array:
        return np.where(self.is_free(len(q)), np.where(q == 0.0, 0.0, np.inf), otherwise)

    def value_upper(self, w: Array) -> Array:
        """Bound rho_j(w_j) of each coordinate from above."""
        quadratic = up(up(up(w * w) * self.lam_vector(len(w))) / 2.0)
        return up(quadratic + up(self.kappa_vector(len(w)) * np.abs(w)))

    def conjugate_upper(self, q: Array) -> Array:
        """Bound rho*_j(q_j) of each coordinate from above."""
        excess = np.maximum(up(np.abs(q) - self.kappa), 0.0)
        return self._infinite_if_free(q, up(up(excess * excess) / (2.0 * self.lam)))

    def subgradient_range(self, w: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bound ``grad_j + s_j`` for grad in [lower, upper], with s_j a subgradient of rho_j at w_j.

        Where ``w_j = 0`` the subgradient may be chosen for each gradient: the one that leaves the smallest
        sum, which is soft-thresholding (thm-half-ball). Elsewhere it is unique.
        """
        lam, kappa = self.lam_vector(len(w)), self.kappa_vector(len(w))
        fixed_low = down(down(lam * w) + kappa * np.sign(w))
        fixed_high = up(up(lam * w) + kappa * np.sign(w))
        low, high = down(lower + fixed_low), up(upper + fixed_high)
        if self.kappa == 0.0:
            return low, high
        soft_low = np.where(lower < -kappa, down(lower + kappa), np.maximum(0.0, down(lower - kappa)))
        soft_high = np.where(upper > kappa, up(upper - kappa), np.minimum(0.0, up(upper + kappa)))
        return np.where(w == 0.0, soft_low, low), np.where(w == 0.0, soft_high, high)
