"""Newton's method in ball arithmetic, for losses that have derivatives of all orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat, fmpq

from support.oracles.losses import CurvedOracle


@dataclass(frozen=True)
class MeanLoss:
    """The mean loss of some rows."""

    table: list[list[arb]]
    y: list[fmpq]
    weight: list[arb]
    oracle: CurvedOracle

    def _scores(self, w: Sequence[arb]) -> list[arb]:
        return [sum((x * value for x, value in zip(row, w, strict=True)), arb(0)) for row in self.table]

    def gradient(self, w: Sequence[arb]) -> list[arb]:
        """Return the derivatives in the weights."""
        slopes = [self.oracle.slope_ball(y, t) for y, t in zip(self.y, self._scores(w), strict=True)]
        parts = [s * slope for s, slope in zip(self.weight, slopes, strict=True)]
        return [
            sum((part * row[j] for part, row in zip(parts, self.table, strict=True)), arb(0)) for j in range(len(w))
        ]

    def hessian(self, w: Sequence[arb], on: Sequence[int]) -> list[list[arb]]:
        """Return the second derivatives in some of the weights."""
        curvatures = [self.oracle.curvature_ball(y, t) for y, t in zip(self.y, self._scores(w), strict=True)]
        parts = [s * curvature for s, curvature in zip(self.weight, curvatures, strict=True)]
        columns = [[row[j] for row in self.table] for j in on]
        return [
            [_dot([p * x for p, x in zip(parts, left, strict=True)], right) for right in columns] for left in columns
        ]


def newton(
    mean: MeanLoss, strength: Sequence[arb], l1: Sequence[arb], signs: Sequence[int], guess: np.ndarray
) -> list[arb]:
    """Minimise ``mean + sum strength_j w_j^2 / 2 + l1_j w_j`` on the weights whose sign is not 0, by halved steps."""
    on = [j for j, sign in enumerate(signs) if sign]
    w = [arb(float(guess[j])) if j in on else arb(0) for j in range(len(signs))]

    def slope(at: list[arb]) -> list[arb]:
        gradient = mean.gradient(at)
        return [(gradient[j] + strength[j] * at[j] + l1[j]).mid() for j in on]

    for _ in range(100 if on else 0):
        here, hessian = slope(w), mean.hessian(w, on)
        for k, j in enumerate(on):
            hessian[k][k] += strength[j]
        system = arb_mat([[entry.mid() for entry in row] for row in hessian])
        step = system.solve(arb_mat([[value] for value in here]), algorithm="approx")
        moves = [step[k, 0].mid() for k in range(len(on))]
        length, decrement = arb(1), float(_dot(here, moves))
        while float(length) > 1e-9:
            trial = list(w)
            for j, move in zip(on, moves, strict=True):
                trial[j] = (w[j] - length * move).mid()
            # The slope along the step has not turned around by more than half: no great overshoot.
            if float(_dot(slope(trial), moves)) >= -0.5 * decrement:
                break
            length /= 2
        w = trial
        if max(abs(float(move)) for move in moves) <= 1e-70 * max(abs(float(value)) for value in w):
            break
    return w


def _dot(left: Sequence[arb], right: Sequence[arb]) -> arb:
    return sum((a * b for a, b in zip(left, right, strict=True)), arb(0))
