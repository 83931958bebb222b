"""Float models of tiny tables, from which exact minimisers start: guesses, of which nothing is believed."""

from __future__ import annotations

import numpy as np

from ipub.losses import Loss
from ipub.problem.solvers.quadratic import minimise_quadratic

MOST_STEPS = 40
WIDTHS = (0.3, 0.03, 3e-3, 3e-4, 3e-5)
"""A loss with a kink is smoothed, less and less: rows on the kink are at most so far from it at the end."""


def newton_guess(
    X: np.ndarray, y: np.ndarray, share: np.ndarray, loss: Loss, lam: float, kappa: float, n_free: int = 0
) -> np.ndarray | None:
    """Train on a tiny table by Newton steps; None if the scores do not settle.

    The package's solver would do, in several times the time: it goes by blocks and computes gaps. The last `n_free`
    weights are not penalised.
    """
    is_free = np.arange(X.shape[1]) >= X.shape[1] - n_free
    lams, kappas = np.where(is_free, 0.0, lam), np.where(is_free, 0.0, kappa)
    w: np.ndarray | None = np.zeros(X.shape[1])
    with np.errstate(all="ignore"):
        for smooth in [loss] if loss.is_smooth else [loss.smoothed(width) for width in WIDTHS]:
            if w is not None:
                w = _newton(X, y, share, smooth, lams, kappas, w)
    return w


def _newton(X, y, share, loss: Loss, lams, kappas, w: np.ndarray) -> np.ndarray | None:
    def objective(w: np.ndarray) -> float:
        return float(share @ loss.value(y, X @ w) + 0.5 * lams @ w**2 + kappas @ np.abs(w))

    for _ in range(MOST_STEPS):
        score = X @ w
        hessian = (X.T * (share * loss.curvature(y, score))) @ X
        linear = hessian @ w - X.T @ (share * loss.derivative(y, score))
        # A weight that is free needs some curvature even where the loss has none: steps are halved.
        flat = np.where((lams == 0.0) & (np.diag(hessian) <= 1e-9), 0.01, 0.0)
        target = minimise_quadratic(hessian, linear + flat * w, lams + flat, kappas, w)
        if not np.isfinite(target).all():
            return None
        settled = np.abs(X @ target - score) <= 1e-9 * np.maximum(1.0, np.abs(score))
        if settled.all() and (np.sign(target) == np.sign(w)).all():
            return target
        here, length = objective(w), 1.0
        while length > 1e-6 and not objective(w + length * (target - w)) <= here:
            length /= 2.0
        w = target if length == 1.0 else w + length * (target - w)
    return None
