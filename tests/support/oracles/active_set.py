"""The hinge solved through its optimality conditions: from an approximate model to many more digits.

A smoothed solver leaves an error of the root of its gap. Once it is known which rows lie on the kink and which
weights are zero, the optimum solves a linear system, here in high precision. Nothing is trusted: the result
is a pair (weights, duals) whose distance from the optimum the caller bounds by thm-sphere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

MAX_PIVOTS = 400


@dataclass(frozen=True)
class HingePair:
    """Weights and duals ``0 <= b <= 1`` as exact points of ball arithmetic."""

    w: list[arb]
    b: list[arb]


def hinge_pair(
    table: np.ndarray, y: np.ndarray, share: np.ndarray, lam: float, kappa: float, b: np.ndarray
) -> HingePair | None:
    """Train the hinge by an active-set method on its dual; None if that does not settle.

    The dual is a quadratic in a box: ``|sum_i b_i s_i y_i x_i - kappa t|^2 / (2 lam) - sum_i s_i b_i`` with b in
    [0, 1] and t in [-1, 1], a coordinate of t for each weight.

    Parameters
    ----------
    share : array
        Weights of the rows, divided by their sum.
    b : array
        Where to begin.
    """
    n, d = table.shape
    vectors = (share * y)[:, None] * table
    linear, low, start = share, np.zeros(n), np.round(np.clip(b, 0.0, 1.0))
    if kappa > 0.0:
        vectors = np.vstack([vectors, -kappa * np.eye(d)])
        linear = np.concatenate([share, np.zeros(d)])
        low = np.concatenate([low, -np.ones(d)])
        start = np.concatenate([start, np.sign(vectors[:n].T @ start)])
    at_bound = _minimise_in_box(vectors, linear, lam, low, start)
    if at_bound is None:
        return None
    signs = np.nan_to_num(at_bound[n:]) if kappa > 0.0 else np.ones(d)
    return _solve_balls(table, y, share, lam, kappa, at_bound[:n], signs)


def hinge_pair_like(
    table: np.ndarray, y: np.ndarray, share: np.ndarray, lam: float, kappa: float, b: np.ndarray, w: np.ndarray
) -> HingePair | None:
    """Solve the optimality conditions with an intercept, for the pattern of a good model w and its duals b."""
    state = np.where(b < 1e-6, 0.0, np.where(b > 1.0 - 1e-6, 1.0, np.nan))
    signs = np.sign(w[:-1]) if kappa > 0.0 else np.ones(len(w) - 1)
    extended = np.column_stack([table, np.ones(len(table))])
    return _solve_balls(extended, y, share, lam, kappa, state, np.append(signs, 1.0), n_free=1)


def _minimise_in_box(
    vectors: np.ndarray, linear: np.ndarray, lam: float, low: np.ndarray, z: np.ndarray
) -> np.ndarray | None:
    """Minimise ``|vectors.T z|^2 / (2 lam) - linear.z`` for low <= z <= 1.

    Returns the bound at which each coordinate of the solution lies, NaN where it is free.
    """
    size = np.linalg.norm(vectors, axis=1)
    z = np.where(size == 0.0, 1.0, z)
    free = (z > low) & (z < 1.0)
    for _ in range(MAX_PIVOTS):
        slope = vectors @ (vectors.T @ z) / lam - linear
        inside = np.flatnonzero(free)
        if len(inside):
            part = vectors[inside] / size[inside, None]
            scaled = slope[inside] / size[inside]
            step = -lam * np.linalg.lstsq(part @ part.T, scaled, rcond=1e-13)[0]
            rest = scaled + part @ (part.T @ step) / lam
            unbounded = np.linalg.norm(rest) > 1e-7 * np.linalg.norm(scaled) and len(inside) > 1
            move = (-rest if unbounded else step) / size[inside]
            if (move == 0.0).all():
                move = step / size[inside]
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(move > 0.0, (1.0 - z[inside]) / move, (low[inside] - z[inside]) / move)
            room = np.where(move == 0.0, np.inf, np.maximum(room, 0.0))
            k = int(np.argmin(room))
            if room[k] < (np.inf if unbounded else 1.0):
                z[inside] += room[k] * move
                z[inside[k]] = 1.0 if move[k] > 0.0 else low[inside[k]]
                free[inside[k]] = False
                continue
            z[inside] += move
            slope = vectors @ (vectors.T @ z) / lam - linear
        scale = np.abs(vectors) @ np.abs(vectors.T @ z) / lam + np.abs(linear)
        wrong = np.where(free, 0.0, np.where(z == 1.0, slope, -slope)) / np.maximum(scale, 1e-300)
        k = int(np.argmax(wrong))
        if wrong[k] <= 1e-13:
            return np.where(free, np.nan, z)
        free[k] = True
    return None


def _solve_balls(table, y, share, lam, kappa, state, signs, n_free=0) -> HingePair | None:
    """Solve the system of the settled pattern at the working precision, rounded to exact points."""
    on, free, ones = (np.flatnonzero(chosen).tolist() for chosen in (signs, np.isnan(state), state == 1.0))
    margin = [[arb(float(label)) * arb(value) for value in row] for row, label in zip(table.tolist(), y, strict=True)]
    s = [arb(float(value)) for value in share]
    w, b = [arb(0)] * table.shape[1], [arb(int(value == 1.0)) for value in state]
    if on or free:
        d = table.shape[1] - n_free
        top = [[arb(lam) if j == k < d else arb(0) for k in on] + [-s[i] * margin[i][j] for i in free] for j in on]
        bottom = [[margin[i][k] for k in on] + [arb(0)] * len(free) for i in free]
        right = [
            sum((s[i] * margin[i][j] for i in ones), arb(0)) - (arb(kappa) * int(signs[j]) if kappa and j < d else 0)
            for j in on
        ]
        try:
            solution = arb_mat(top + bottom).solve(
                arb_mat([[value] for value in [*right, *[arb(1)] * len(free)]]), algorithm="approx"
            )
        except ZeroDivisionError:
            return None
        values = [solution[k, 0].mid() for k in range(len(on) + len(free))]
        if not all(value.is_finite() for value in values):
            return None
        for k, j in enumerate(on):
            w[j] = values[k]
        for k, i in enumerate(free):
            b[i] = arb.max(arb(0), arb.min(arb(1), values[len(on) + k])).mid()
    return HingePair(w, b)
