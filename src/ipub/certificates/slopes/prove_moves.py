"""A set that provably holds the move of every completion's model (thm-move-set): a guess that proves itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ipub.certificates.slopes.assemble import slope_bounds
from ipub.certificates.slopes.cell_coefficients import TuningChoices
from ipub.certificates.slopes.l1_signs import L1Signs
from ipub.certificates.slopes.linearization import Linearization, linearize
from ipub.model_sets.base import Outcome, Reason
from ipub.model_sets.move_sets import Ellipsoid, NoMove
from ipub.model_sets.proofs import Relaxed, prove
from ipub.numeric.linalg import Inverse, definiteness
from ipub.numeric.rounding import EPS, UNDERFLOW, Array, overflow_means_unbounded, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution

GROWTH = 1.1
"""By which factor a set that was too small to close is made larger than what was just found: width against rounds."""


@dataclass(frozen=True)
class Suggestion:
    """A set of moves, ``v.M v <= radius^2`` and ``|v_j| <= move_limits_j``, that a pass over the table may prove."""

    ellipsoid: Ellipsoid
    move_limits: Array | None
    tuning: TuningChoices | None


class ProvedSet(NamedTuple):
    """A set that holds the moves of all completions, and the lines of all rows for moves in it."""

    linear: Linearization
    ellipsoid: Ellipsoid


def force_upper(linear: Linearization, matrix: Array) -> float:
    """Bound ``sqrt(g.M^-1 g)`` over all completions, and all weaker residuals (sec-force)."""
    inverse = Inverse.of(matrix)
    if inverse is None:
        return np.inf
    cells, jumps, wrong = linear.cells, linear.jumps, linear.wrong_labels
    choice, middle = linear.l1_choice(), cells.middle
    center = linear.gradient + choice + middle
    sizes = np.abs(linear.gradient) + np.abs(choice) + np.abs(middle)
    box = up(linear.gradient_error + up(4.0 * EPS * sizes))
    box = up(up(box + cells.force_slack) + UNDERFLOW)
    norms = inverse.norm_upper(np.array([center, cells.force_shift]))
    box = up(box + jumps.slack) if len(jumps.rows) else box
    box, fixed = wrong.with_slack(box), wrong.with_norm(up(norms[0] + norms[1]), inverse)
    jump_form = None if jumps.are_kept else jumps.form
    return float(up(fixed + cells.zonotope_upper(matrix, box, jumps.rows, jump_form)))


def ellipsoid_of_moves(linear: Linearization) -> Ellipsoid | None:
    """Bound all moves by ``v.L v <= g.L^-1 g``, if they are where the lines take them to be (thm-move-ellipsoid)."""
    least = linear.hessian_lower()
    inverse = Inverse.of(least)
    return None if inverse is None else Ellipsoid(least, inverse, force_upper(linear, least))


def box_of_moves(linear: Linearization, ellipsoid: Ellipsoid, in_columns: bool = False) -> Array:
    """Bound ``|v_j|`` by the ellipsoid and by thm-slopes, on the whole way from the center to a completion.

    For the L2 penalty (sec-box). With `in_columns`, in the form that keeps no cells.
    """
    unit, w = np.eye(len(linear.w)), linear.w
    limits = ellipsoid.max_score_move(unit)
    signs = L1Signs.undecided(w)
    bounds = slope_bounds(linear, signs, ellipsoid, with_column_forms=in_columns, with_mean_value=False)
    if bounds is None:
        return limits
    low, high = (bounds.in_columns() if in_columns else bounds).ends(unit)
    return np.asarray(np.fmin(limits, np.maximum(up(high - w), up(w - low))))


def closes(inside: Ellipsoid, around: Ellipsoid) -> bool:
    """Prove that moves with ``v.L v <= force^2`` have ``v.M v < radius^2`` (thm-move-set).

    They do if ``L - (force/radius)^2 M`` is positive definite.
    """
    least, metric = inside.matrix, around.matrix
    share = up(up(inside.radius / around.radius) ** 2) * (1.0 + 8.0 * EPS)
    rounding = 8.0 * EPS * len(metric) * (np.diag(least) + share * np.diag(metric))
    return definiteness(least - share * metric - np.diag(rounding)) is not None


class _Guess(NamedTuple):
    """A set of moves that may hold all of them: an ellipsoid, inside a box if there is one."""

    ellipsoid: Ellipsoid
    limits: Array | None


@overflow_means_unbounded()
def prove_move_set(
    problem: Problem, solution: Solution, suggested: Suggestion | None = None, tuning: TuningChoices | None = None
) -> Outcome[ProvedSet]:
    """Prove a set that holds the move of every completion's model (thm-move-set).

    A set of moves bounds the curvatures, those bound the Hessians from below, and these the moves. If the moves
    turn out strictly inside the set, all of them are. If not, what they are inside of, made a little larger, is the
    next set. A derivative that jumps has no such curvatures. The first set is what is `suggested`, if anything.
    """
    if not problem.loss.is_smooth:
        return Outcome(None, Reason.NOT_APPLICABLE)
    limits = None
    if suggested is None:
        first = linearize(problem, solution, NoMove(), tuning=tuning)
        inverse = Inverse.of(first.curvature)
        if inverse is None:
            return Outcome(None, Reason.UNBOUNDED)
        inside = Ellipsoid(first.curvature, inverse, force_upper(first, first.curvature))
    else:
        inside, limits = suggested.ellipsoid, suggested.move_limits

    def relax(guess: _Guess) -> Relaxed[_Guess, ProvedSet] | None:
        around, limits = guess
        if not 0.0 < around.radius < np.inf:
            return None
        linear = linearize(problem, solution, around, box=limits, tuning=tuning)
        within = ellipsoid_of_moves(linear)
        if within is None:
            return None
        is_inside = closes(within, around)
        if is_inside and limits is not None:
            box = box_of_moves(linear, within)
            is_inside = bool((box < limits).all())
            limits = GROWTH * np.fmax(box, limits)
        return Relaxed(ProvedSet(linear, within), is_inside, _Guess(_larger(within), limits))

    return prove(relax, _Guess(_larger(inside), limits))[0]


def _larger(ellipsoid: Ellipsoid) -> Ellipsoid:
    return replace(ellipsoid, radius=GROWTH * ellipsoid.radius)
