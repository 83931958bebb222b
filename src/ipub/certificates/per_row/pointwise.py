"""Near exact bounds for single rows: certain trends, cell by cell (thm-trends), and scores ruled out (sec-ruled-out).

Where the score of a row provably rises (or falls) with an uncertain cell, whatever all other cells are, its highest
value is found with that cell at its upper (lower) end. So the cell is fixed there, the model is retrained, and the
same is done with the cells that are left: their box is smaller, so more of them can be decided. What remains in the
end is a value that a completion attains, and the width of a small certificate. Where there are row sums, scores that no
model gives are cut off as well. Where the derivative jumps and there are none, half-balls are laid around references
that are tilted towards the row (thm-tilted).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ipub.certificates.per_row.ruled_out_scores import narrow_by_ruling_out
from ipub.certificates.per_row.trends import Trends, reason_against_trends
from ipub.certificates.row_sums.bounds import ranges_to_search
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.slopes.attempt import attempt_slope_bounds
from ipub.certificates.slopes.bounds import SlopeBounds
from ipub.certificates.tight import certify_tight
from ipub.model_sets.certificate import Certificate, PreparedRefinement, Progress, Refinement, TrainedModel
from ipub.numeric.rounding import EPS, Array, overflow_means_unbounded, sum_upper, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution, solve
from ipub.rows import Block, Rows, View
from ipub.rows.completions import PositionLayout

if TYPE_CHECKING:
    from ipub.certificates.per_row.tilted_search import TiltedSearch

EFFORT = 1.0
"""Work that ruling out scores may take for a row (see `Work`), if nothing else is said: width against time."""

TILTED = "Too many rows are near the kink of the loss: these 'pointwise' bounds may be wider than necessary."
"""The note where row sums are missing, and tilted half-balls stand in for them."""

FOR_TILTS = 0.2
"""The part of a row's work that tilted half-balls take where scores can be ruled out as well: width against time. On
hinge tables of 150 x 4 to 400 x 6, 0.5 gave bounds from 4 % narrower to 1 % wider in 1.3 to 2 times the time."""

LEAST_FIXED = 0.02
"""A round that fixes a smaller fraction of the remaining cells is the last: width against retrainings. It protects from
rounds that fix a cell each; on 6,000 x 4 with 0.1 % of the cells missing, 0 gave the same bounds."""


def reason_against_fixing(problem: Problem) -> str | None:
    """Return why cells are not fixed by their trends (thm-trends) in a problem; None if they are."""
    if problem.rows.categories:
        return "With missing categories there are no 'pointwise' bounds here: 'tight' is used instead."
    return reason_against_trends(problem)


def has_tilts(problem: Problem) -> bool:
    """Whether tilted half-balls stand in for row sums: where the derivative jumps, and some cell is uncertain."""
    if problem.loss.is_smooth or not problem.rows.count_uncertain():
        return False
    from ipub.certificates.per_row.tilted_search import reason_against_tilts

    return reason_against_tilts(problem) is None


def narrowed_rows(rows: Rows, sides: NDArray[np.int8]) -> Rows:
    """Return the rows with part of the uncertain cells fixed at, or just inside, an end of their intervals.

    Parameters
    ----------
    rows : Rows
    sides : array of shape (n_uncertain,)
        -1 or 1 for a cell fixed at its lower or upper end, else 0; row by row.
    """
    return View(rows, _narrowed, PositionLayout.of(rows).per_block(sides))


def _narrowed(block: Block, sides_of_block: tuple[NDArray[np.int8], NDArray[np.int8]]) -> Block:
    i, j, R, sides = block.cell_rows, block.cell_columns, block.cell_radii, sides_of_block[0]
    center = block.center.copy()
    center[i, j] += sides * np.maximum(R - shortfall(center[i, j], R), 0.0)
    left = sides == 0
    return Block(center, i[left], j[left], R[left], block.y, block.weight)


def shortfall(center: Array, radius: Array) -> Array:
    """Return how far inside its interval a fixed cell stays, so that rounding does not take it out."""
    return 4.0 * EPS * (np.abs(center) + radius)


class Narrowed(NamedTuple):
    """What is left of a problem when the cells with a certain trend are fixed."""

    problem: Problem
    rounding: float
    """Bound of the change of the score because fixed cells are at rounded ends."""
    fixed_fraction: float
    """Fraction of the cells that were fixed."""


@dataclass(frozen=True)
class Stage:
    """A problem with its model, and enclosures of the models of all completions and of their Hessians."""

    problem: Problem
    solution: Solution
    bounds: SlopeBounds
    trends: Trends

    @classmethod
    def of(cls, problem: Problem, solution: Solution, bounds: SlopeBounds | None = None) -> Stage | None:
        """Enclose the models of all completions and their Hessians; None if that fails."""
        bounds = bounds or attempt_slope_bounds(problem, solution).found
        if bounds is None:
            return None
        trends = Trends.of(problem, solution, bounds.as_move_set())
        return None if trends is None else cls(problem, solution, bounds, trends)

    def narrowed(self, x: Array, side: float) -> Narrowed | None:
        """Fix the cells whose trend is certain where ``side * x.w''`` is greatest; None if there is none."""
        incomplete = self.trends.incomplete
        lowest, highest = certain_trend(self, x)
        # A NaN fixes no cell.
        sides = np.where(lowest > 0.0, -side, np.where(highest < 0.0, side, 0.0)).astype(np.int8)
        if not sides.any():
            return None
        i, j = incomplete.cell_rows, incomplete.cell_columns
        size = np.maximum(np.abs(lowest), np.abs(highest)) * incomplete.weight[i]
        rounding = np.where(sides != 0, size * shortfall(incomplete.center[i, j], incomplete.cell_radii), 0.0)
        rows = narrowed_rows(self.problem.rows, sides)
        total = float(2.0 * sum_upper(rounding.sum(), len(rounding) + 8))
        return Narrowed(replace(self.problem, rows=rows), total, float(np.mean(sides != 0)))


def certain_trend(stage: Stage, x: Array) -> tuple[Array, Array]:
    """Bound the fall of ``x.w''`` with each uncertain cell, over its row's weight, from both sides (thm-trends)."""
    lowest, highest = stage.trends.of_cells(x[None])
    return lowest[0], highest[0]


@dataclass(frozen=True)
class PointwiseBounds(Refinement):
    """Near exact bounds of scores: certain trends, which retrain (thm-trends), and scores ruled out (thm-ruled-out)."""

    effort: float = EFFORT
    """Work that ruling out scores may take for a row (see `Work`)."""

    def prepared(self, certificate: Certificate, training: TrainedModel) -> PreparedPointwise:
        problem, solution = training
        first, searched, for_search = None, ranges_to_search(certificate), self.effort
        tilted = None
        for_tilts = self.effort if searched is None else FOR_TILTS * self.effort
        if self.effort > 0.0 and has_tilts(problem):
            from ipub.certificates.per_row.tilted_search import TiltedSearch

            tilted = TiltedSearch.of(problem, solution, certificate)
            for_search -= for_tilts
            if tilted is not None:
                tilted.narrow_intercepts(for_tilts)
        if reason_against_fixing(problem) is None:
            first = Stage.of(problem, solution, certificate.part(SlopeBounds))
        return PreparedPointwise(first, tilted, searched, for_tilts, for_search)


@dataclass(frozen=True)
class PreparedPointwise(PreparedRefinement):
    """`PointwiseBounds` of one training problem."""

    first: Stage | None
    """Where trends are looked for first; None if there are none."""
    tilted: TiltedSearch | None
    searched: Ranges | None
    """Ranges in which scores are ruled out."""
    for_tilts: float
    for_search: float
    """The work that each of the two may take for a row."""

    def narrowed(self, X: Array, bounds: Array, progress: Progress | None = None) -> Array:
        bounds, first, searched, for_tilts = bounds.copy(), self.first, self.searched, self.for_tilts
        # A search learns from row to row, and forgets that with the call.
        tilted = None if self.tilted is None else replace(self.tilted)
        for k, x in enumerate(X):
            if first is not None and bounds[k, 0] < bounds[k, 1]:
                bounds[k, 0] = np.fmax(bounds[k, 0], -_highest(first, x, -1.0))
                bounds[k, 1] = np.fmin(bounds[k, 1], _highest(first, x, 1.0))
            if tilted is not None and bounds[k, 0] < bounds[k, 1]:
                bounds[k, 0] = -tilted.score_upper(-x, -bounds[k, 0], 0.5 * for_tilts)
                bounds[k, 1] = tilted.score_upper(x, bounds[k, 1], 0.5 * for_tilts)
            if searched is not None and self.for_search > 0.0:
                bounds[k] = narrow_by_ruling_out(searched, x, (bounds[k, 0], bounds[k, 1]), self.for_search)
            if progress is not None:
                progress(k + 1, len(X))
        return bounds


def certify_pointwise(problem: Problem, solution: Solution) -> Certificate:
    """Certify as `tight` does, and let bounds be narrowed for each row. Where that does not apply, a note says so."""
    start = certify_tight(problem, solution)
    can_rule_out = ranges_to_search(start) is not None
    can_tilt = not can_rule_out and has_tilts(problem)
    reason = None if can_rule_out else TILTED if can_tilt else reason_against_fixing(problem)
    has_trends = reason is None and (can_rule_out or start.part(SlopeBounds) is not None)
    refinement = PointwiseBounds() if can_rule_out or can_tilt or has_trends else None
    note = " ".join(filter(None, [start.note, reason]))
    return replace(start, name="pointwise", note=note, refinement=refinement)


def with_effort(certificate: Certificate, effort: float) -> Certificate:
    """Return the certificate that spends another work on each row, if it is one that does."""
    is_refined = isinstance(certificate.refinement, PointwiseBounds)
    return replace(certificate, refinement=PointwiseBounds(effort)) if is_refined else certificate


@overflow_means_unbounded()
def _highest(stage: Stage, x: Array, side: float) -> float:
    """Bound ``side * x.w''`` from above."""
    rounding, best, last = 0.0, np.inf, stage
    while True:
        narrowed = last.narrowed(x, side)
        if narrowed is None:
            break
        problem = narrowed.problem
        rounding = float(up(rounding + narrowed.rounding))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solution = solve(problem, start=last.solution.w)
        bounds = attempt_slope_bounds(problem, solution).found
        if bounds is None:
            break
        low, high = bounds.ends(x[None])
        best = float(np.fmin(best, up((high[0] if side > 0.0 else -low[0]) + rounding)))
        following = Stage.of(problem, solution, bounds) if narrowed.fixed_fraction >= LEAST_FIXED else None
        if following is None:
            break
        last = following
    return best
