"""A plain solver for one filled-in table, and by how much its model may be off the exact one.

The error is bounded by strong convexity alone. Let ``psi_i`` be slopes of the loss with Fenchel-Young residuals that
sum to ``eps`` (with weights), g the gradient of the objective that they give at ``(w, b)``, least in norm over the l1
term. Then, for the exact ``(w*, b*)`` and ``D = |w* - w|``,

``lam D^2 <= eps + |g_w| D + |g_b| |b* - b|`` and ``|b* - b| <= e + R D``,

where e is how far b may be from an intercept that is best for w, and R the length of the longest row: if all scores
move by at most s, best intercepts do. Sums of floats are bounded as usual: n terms add up with an error of at most n
units of rounding of the sum of their sizes; a few more units cover cells that were scaled in floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ipub.verification.plain_losses import Array, PlainLoss

UNIT = float(np.finfo(float).eps)
MOST_STEPS = 100
"""Newton steps; the last ones gain nothing."""
HALVINGS = 40
DAMPINGS = (UNIT, 1e-9, 1e-6, 1e-3, 1.0)
"""What is added to the Hessian, in its own size, until a step makes the objective less: it may be flat."""
KINK_WIDTHS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Widths of the kinks of smooth losses that lead to one whose derivative jumps."""
NEAR_KINK = 10.0
"""Rows so many widths from the kink may be on it."""
MOST_DOUBLINGS = 60


class Objective(NamedTuple):
    """What is minimised: loss and penalty, for the labels and weights of a filled-in table."""

    loss: PlainLoss
    lam: float
    kappa: float
    has_intercept: bool


class FilledTable(NamedTuple):
    """A table without holes, scaled; with an intercept its last column is 1."""

    X: Array
    y: Array
    share: Array
    """Weights of the rows over their sum."""


class Model(NamedTuple):
    """A trained model, and how far it is from the exact one."""

    w: Array
    """The weights; with an intercept the last of them."""
    slopes: Array
    """A slope of the loss for each row: minus its dual variable."""
    error: float
    """Bound of the distance of the weights, without the intercept, from the exact ones."""
    lowest_intercept: float
    highest_intercept: float
    """Between these is every intercept that is best for these weights; 0 without one."""
    longest_row: float

    def scores(self, X: Array, has_intercept: bool) -> tuple[Array, Array]:
        """Return ends between which the exact model's scores lie."""
        d = X.shape[1] - has_intercept
        lengths = np.sqrt((X[:, :d] ** 2).sum(axis=1))
        size = np.abs(X[:, :d]) @ np.abs(self.w[:d]) + max(abs(self.lowest_intercept), abs(self.highest_intercept))
        off = lengths * self.error + (d + 12) * UNIT * size
        score = X[:, :d] @ self.w[:d]
        if not has_intercept:
            return score - off, score + off
        off += self.longest_row * self.error
        return score + self.lowest_intercept - off, score + self.highest_intercept + off


def train(table: FilledTable, objective: Objective, start: Array | None = None) -> Model:
    """Train to the limit of floats; what is left undone is in the model's error."""
    w = np.zeros(table.X.shape[1]) if start is None else start.copy()
    loss = objective.loss
    if loss.softened is None:
        w = _newton(table, objective, w)
        return _with_error(table, objective, w, loss.derivative(table.y, table.X @ w))
    for width in KINK_WIDTHS if start is None else KINK_WIDTHS[2:]:
        soft = loss.softened(width)
        w = _newton(table, objective._replace(loss=soft), w)
    slopes = soft.derivative(table.y, table.X @ w)
    candidates = [(w, slopes), _on_kinks(table, objective, w, slopes)]
    models = [_with_error(table, objective, *each) for each in candidates]
    return min(models, key=lambda model: model.error)


class _Smooth:
    """A table and an objective whose loss has a derivative everywhere: its values, and steps that make it less."""

    def __init__(self, table: FilledTable, objective: Objective) -> None:
        self.X, self.y, self.share = table
        self.loss = objective.loss
        d = self.X.shape[1]
        self.lam, self.kappa = np.full(d, objective.lam), np.full(d, objective.kappa)
        if objective.has_intercept:
            self.lam[-1] = self.kappa[-1] = 0.0

    def value(self, w: Array) -> float:
        loss = self.share @ self.loss.value(self.y, self.X @ w)
        return float(loss + 0.5 * self.lam @ w**2 + self.kappa @ np.abs(w))

    def gradient(self, w: Array) -> Array:
        """Return the subgradient of least norm."""
        g = self.X.T @ (self.share * self.loss.derivative(self.y, self.X @ w)) + self.lam * w
        at_zero = (w == 0.0) & (self.kappa > 0.0)
        least = np.sign(g) * np.maximum(np.abs(g) - self.kappa, 0.0)
        return np.asarray(np.where(at_zero, least, g + self.kappa * np.sign(w)))

    def steps(self, w: Array, g: Array) -> Iterator[Array]:
        """Yield Newton steps of the weights that are not held at zero, more and more damped."""
        free = np.flatnonzero((w != 0.0) | (self.kappa == 0.0) | (g != 0.0))
        part = self.X[:, free]
        hessian = (part.T * (self.share * self.loss.curvature(self.y, self.X @ w))) @ part + np.diag(self.lam[free])
        size = 1.0 + np.trace(hessian) / max(1, len(free))
        for damping in DAMPINGS:
            step = np.zeros(len(w))
            step[free] = -np.linalg.solve(hessian + damping * size * np.eye(len(free)), g[free])
            yield step

    def better(self, w: Array, g: Array, now: float, step: Array) -> Array | None:
        """Return the best point along a step, halved again and again; None if none is better than w."""
        side = np.where(w != 0.0, np.sign(w), -np.sign(g))
        best, least, noise = None, now - 4.0 * UNIT * abs(now), 4.0 * UNIT * abs(now)
        for halving in range(HALVINGS):
            tried = w + 0.5**halving * step
            tried = np.where((self.kappa > 0.0) & (tried * side < 0.0), 0.0, tried)
            value = self.value(tried)
            if halving == 0 and value <= now + noise:
                h = self.gradient(tried)
                if h @ h < 0.25 * (g @ g):
                    return tried
            if value < least:
                best, least = tried, value
            elif best is not None:
                break
        return best


def _newton(table: FilledTable, objective: Objective, w: Array) -> Array:
    """Minimise for a loss whose derivative does not jump."""
    problem = _Smooth(table, objective)
    for _ in range(MOST_STEPS):
        now, g = problem.value(w), problem.gradient(w)
        if not g.any() or not np.isfinite(g).all():
            break
        found = (problem.better(w, g, now, step) for step in problem.steps(w, g))
        better = next((each for each in found if each is not None), None)
        if better is None:
            break
        w = better
    return w


def _on_kinks(table: FilledTable, objective: Objective, w: Array, slopes: Array) -> tuple[Array, Array]:
    """Solve the optimality conditions of the hinge for the rows that seem to be on the kink."""
    X, y, share = table
    d = X.shape[1]
    dual = -y * slopes
    on = np.flatnonzero((dual > 0.0) & (dual < 1.0) & (np.abs(1.0 - y * (X @ w)) < NEAR_KINK * KINK_WIDTHS[-1]))
    fixed = np.where(dual >= 0.5, 1.0, 0.0)
    fixed[on] = 0.0
    support = np.flatnonzero((w != 0.0) | (np.arange(d) >= d - objective.has_intercept))
    lam = np.full(d, objective.lam)
    kappa = np.full(d, objective.kappa)
    if objective.has_intercept:
        lam[-1] = kappa[-1] = 0.0
    k, f = len(support), len(on)
    system, right = np.zeros((k + f, k + f)), np.zeros(k + f)
    rows = X[:, support] * y[:, None]
    system[:k, :k] = np.diag(lam[support])
    system[:k, k:] = -(rows[on] * share[on, None]).T
    system[k:, :k] = rows[on]
    right[:k] = rows.T @ (share * fixed) - (kappa * np.sign(w))[support]
    right[k:] = 1.0
    found = np.linalg.lstsq(system, right, rcond=None)[0]
    solved = np.zeros(d)
    solved[support] = found[:k]
    fixed[on] = np.clip(found[k:], 0.0, 1.0)
    return solved, -y * fixed


def _with_error(table: FilledTable, objective: Objective, w: Array, slopes: Array) -> Model:
    """Return a model with a bound of its distance from the exact one, rounding included."""
    X, y, share = table
    loss, d = objective.loss, X.shape[1] - objective.has_intercept
    n = len(y)
    scores, size = X @ w, np.abs(X) @ np.abs(w)
    score_error = (X.shape[1] + 12) * UNIT * size
    if np.isfinite(loss.steepness):
        slope_error = loss.steepness * score_error + 8.0 * UNIT * (1.0 + loss.steepness * (np.abs(scores) + np.abs(y)))
        eps = 0.0
    else:
        z, dual = 1.0 - y * scores, -y * slopes
        slope_error = np.zeros(n)
        residual = np.maximum(z * (1.0 - dual), -z * dual) + score_error + 4.0 * UNIT * (1.0 + np.abs(z))
        eps = float(share @ residual) * (1.0 + 2 * n * UNIT)
    g = X.T @ (share * slopes)
    g_error = np.abs(X).T @ (share * (slope_error + (2 * n + 24) * UNIT * (np.abs(slopes) + slope_error)))
    penalty = objective.lam * w[:d] + objective.kappa * np.sign(w[:d])
    at_zero = (w[:d] == 0.0) & (objective.kappa > 0.0)
    off = np.abs(g[:d] + penalty)
    off = np.where(at_zero, np.maximum(np.abs(g[:d]) - objective.kappa, 0.0), off)
    off += g_error[:d] + 8.0 * UNIT * (np.abs(penalty) + objective.kappa)
    longest = float(np.sqrt((X[share > 0.0, :d] ** 2).sum(axis=1).max(initial=0.0))) * (1.0 + (d + 8) * UNIT)
    along, rest, low, high = float(np.sqrt((off**2).sum())), eps, 0.0, 0.0
    if objective.has_intercept:
        low, high = _intercepts(table, loss, w, scores, score_error)
        g_b = float(np.abs(g[d]) + g_error[d])
        along += longest * g_b
        rest += g_b * max(high - w[d], w[d] - low)
    # Of what is added up here no term is negative: a small factor covers the rounding.
    lam = objective.lam
    error = (along + np.sqrt(along**2 + 4.0 * lam * rest)) / (2.0 * lam) * (1.0 + (d + 64) * UNIT)
    return Model(w, slopes, float(error) if np.isfinite(error) else np.inf, low, high, longest)


def _intercepts(
    table: FilledTable, loss: PlainLoss, w: Array, scores: Array, score_error: Array
) -> tuple[float, float]:
    """Return ends between which every best intercept for the other weights lies: there the slopes' sum has a sign."""
    _, y, share = table
    n, ends = len(y), []
    for side in (-1.0, 1.0):
        step = 4.0 * UNIT * (1.0 + abs(float(w[-1])))
        for _ in range(MOST_DOUBLINGS):
            moved = scores + side * step - side * (score_error + 4.0 * UNIT * (np.abs(scores) + step))
            slopes = loss.derivative(y, moved)
            rounding = 8.0 * UNIT * (1.0 + (0.0 if np.isinf(loss.steepness) else loss.steepness) * np.abs(moved - y))
            least = side * (share @ slopes) - share @ (rounding + (2 * n + 24) * UNIT * np.abs(slopes))
            if least > 0.0:
                break
            step *= 2.0
        else:
            step = np.inf
        ends.append(float(w[-1]) + side * step * (1.0 + 4.0 * UNIT))
    return ends[0], ends[1]
