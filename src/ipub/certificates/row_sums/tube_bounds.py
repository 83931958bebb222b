"""Bounds of a score by row sums over the pieces of a tube (Theorem 17)."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ipub.certificates.certificate import Needs, ScoreBounds
from ipub.certificates.row_sums.bounds import RowSumBounds, ranges_at_w
from ipub.certificates.row_sums.prove import narrowed
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import is_small
from ipub.certificates.row_sums.tube import Reached, Tube
from ipub.certificates.row_sums.tube_shape import beside_weight, followed_weight, shaped_tube, with_better_ends
from ipub.problem import Problem
from ipub.rounding import Array, overflow_means_unbounded
from ipub.solvers import Solution

MOST_WORK = 1 << 34
"""Rows times directions times columns squared, at most: with more no tube is tried."""

MOST_SECONDS = 400.0
"""Processor time that the proof of a tube may take, about; a tube that would take longer is not proved."""

MOST_PROOFS = 8
"""How often all row sums of a tube are made, at most: in between it is made wider where they leave it."""

FIRST_GROWTH, GROWTH = 0.01, 0.02
"""How much farther than its row sums it then reaches to either side, in widths: the first time, and later."""


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
        # Where nothing moves, the shape of a tube divides by zero: then it is none that closes.
        with np.errstate(divide="ignore"):
            tube = None if at_w is None else proved_tube(at_w, seconds)
    except (np.linalg.LinAlgError, RuntimeError):  # or the fit of the widths does not converge
        return None
    return None if tube is None else TubeBounds(tube)


def searched_bounds(problem: Problem, tube: Tube) -> RowSumBounds | None:
    """Return the ranges of a proved tube as a whole, in which scores are ruled out; None if there are too many rows.

    All models of all paths are in them (Theorem 17), which is what Theorem 13 asks for.
    """
    if not is_small(problem.rows.n_rows, problem.rows.n_features):
        return None
    path = narrowed(replace(tube.hull(), has_common_lines=False))
    return RowSumBounds(path, path=path, is_for_search_alone=True)


def proved_tube(at_w: Ranges, seconds: float) -> Tube | None:
    """Prove a tube for the models of all completions, given ranges that hold w alone; None if that fails."""
    until = time.process_time() + seconds
    weight = followed_weight(at_w) if at_w.table.is_coercive else None
    tube = None if weight is None else shaped_tube(at_w, weight)
    for number in range(MOST_PROOFS):
        start = time.process_time()
        if tube is None or start > until:
            return None
        found = tube.reached(at_w.table.directions, tube.factors)
        if tube.is_closed(found):
            return tube.within(found)
        taken = time.process_time() - start
        if not np.isfinite(found.upper - found.lower).all() or start + 2.0 * taken > until:
            return None
        tube = with_better_ends(_as_wide_as(tube, found, may_be_narrower=number == 0))
    return None


def _as_wide_as(tube: Tube, found: Reached, *, may_be_narrower: bool) -> Tube:
    """Return a tube that is a little wider than what row sums reach: at first also where that is narrower than it."""
    margin = (FIRST_GROWTH if may_be_narrower else GROWTH) * (found.upper - found.lower)
    lower, upper = found.lower - margin, found.upper + margin
    if not may_be_narrower:
        lower, upper = np.minimum(tube.lower, lower), np.maximum(tube.upper, upper)
    return replace(tube, lower=lower, upper=upper)
