"""Bounds of a score by row sums over the pieces of a tube (Theorem 17)."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ipub.certificates.certificate import Needs, ScoreBounds
from ipub.certificates.row_sums.bounds import ranges_at_w
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.tube import Tube
from ipub.certificates.row_sums.tube_shape import beside_weight, followed_weight, shaped_tube
from ipub.problem import Problem
from ipub.rounding import Array, overflow_means_unbounded
from ipub.solvers import Solution

MOST_WORK = 1 << 34
"""Rows times directions times columns squared, at most: with more no tube is tried."""

MOST_SECONDS = 400.0
"""Processor time that the proof of a tube may take, about; a tube that would take longer is not proved."""

MOST_PROOFS, LIKELY_PROOFS = 5, 2
"""How often a tube is made wider where its row sums leave it, at most, and as a rule."""

GROWTH = 0.015
"""How much wider than its row sums it is then made."""


@dataclass(frozen=True)
class TubeBounds(ScoreBounds):
    """Bounds of ``x.w''`` as sums over the training rows, over a tube that was proved.

    Attributes
    ----------
    tube : Tube
        Holds the models of all completions.
    """

    tube: Tube
    name: str = "row sums in pieces"

    @property
    def needs(self) -> Needs:
        return Needs(matrices=True, training_rows=True)

    def ends(self, X: Array) -> tuple[Array, Array]:
        X, tube = np.asarray(X, dtype=float), self.tube
        found = tube.reached(X, beside_weight(tube.ranges, X, tube.column).factors)
        return found.lower.min(axis=0), found.upper.max(axis=0)

    def without_training_rows(self) -> None:
        """Return nothing: every bound looks at every row."""


@overflow_means_unbounded()
def tube_bounds(problem: Problem, solution: Solution, seconds: float = MOST_SECONDS) -> TubeBounds | None:
    """Prove a tube along the weight that leaves least, and return bounds over it; None if there is none that closes.

    Parameters
    ----------
    problem : Problem
    solution : Solution
    seconds : float
        Processor time for the proof, about.
    """
    if problem.rows.uncertain_labels:
        return None
    at_w = ranges_at_w(problem, solution, MOST_WORK)
    try:
        tube = None if at_w is None else proved_tube(at_w, seconds)
    except np.linalg.LinAlgError:
        return None
    return None if tube is None else TubeBounds(tube)


def proved_tube(at_w: Ranges, seconds: float) -> Tube | None:
    """Prove a tube for the models of all completions, given ranges that hold w alone; None if that fails."""
    weight = followed_weight(at_w) if at_w.table.is_coercive else None
    tube = None if weight is None else shaped_tube(at_w, weight)
    until = time.process_time() + seconds
    for left in range(MOST_PROOFS, 0, -1):
        start = time.process_time()
        if tube is None or start > until:
            return None
        found = tube.reached(at_w.table.directions, tube.factors)
        if tube.is_closed(found):
            return tube.within(found)
        half = GROWTH * (found.upper - found.lower)
        tube = replace(
            tube, lower=np.minimum(tube.lower, found.lower - half), upper=np.maximum(tube.upper, found.upper + half)
        )
        now = time.process_time()
        if left == 1 or not np.isfinite(half).all() or now + (now - start) > until:
            return None
    return None
