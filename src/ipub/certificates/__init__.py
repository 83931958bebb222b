"""How the model of every completion is bounded. One protocol: (problem, solution) to a `Certificate`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ipub.certificates.ball import ball
from ipub.certificates.choice_terms import ChoiceTerms
from ipub.certificates.definite import Inverse
from ipub.certificates.intercept import bracket_of, with_bracket
from ipub.certificates.origin import origin
from ipub.certificates.pointwise import pointwise_bounds, why_not
from ipub.certificates.region import Certificate, Region, intersection
from ipub.certificates.slope import slope
from ipub.certificates.slope_bounds import Cells, Groups, MeanValue, SlopeBounds
from ipub.certificates.sphere import sphere
from ipub.certificates.uncertain_rows import MOST_TRIED, uncertain_row_bounds
from ipub.data.choices import Levels
from ipub.problem import Problem
from ipub.solvers import Solution


def tight(problem: Problem, solution: Solution) -> Certificate:
    """Intersect everything that is cheap: never wider than any of its parts, and always finite.

    (With an intercept, whose bracket is found to a hundredth of its width: by no more than that.)
    """
    around_zero = origin(problem, solution)
    # With uncertain labels the sphere is the ball, which the slopes start from anyway.
    around_center = [sphere(problem, solution, around_zero)] if problem.rows.doubt is None else []
    curved = slope(problem, solution, intersection("known", [*around_center, around_zero]))
    parts = [*around_center, curved, around_zero]
    if problem.penalty.n_free:
        # The last bracket is the narrowest, and holds whichever region the weights are in.
        bracket = bracket_of(curved)
        parts = [replace(part, regions=tuple(with_bracket(r, bracket) for r in part.regions)) for part in parts]
    return intersection("tight", parts)


def curvature(problem: Problem, solution: Solution) -> Certificate:
    """Certify by slopes where the loss is smooth, and by the half-ball alone, with a note, where it is not."""
    if problem.loss.is_smooth:
        return replace(slope(problem, solution), name="curvature")
    note = f"The derivative of {problem.loss.name} jumps: the half-ball serves alone."
    return replace(ball(problem, solution), name="curvature", note=note)


def pointwise(problem: Problem, solution: Solution) -> Certificate:
    """Certify as `tight` does; `pointwise_bounds` starts from there. Where it does not apply, a note says so."""
    start = tight(problem, solution)
    return replace(start, name="pointwise", note=" ".join(filter(None, [start.note, why_not(problem)])))


CERTIFICATES: dict[str, Callable[[Problem, Solution], Certificate]] = {
    "sphere": sphere,
    "ball": ball,
    "slope": slope,
    "curvature": curvature,
    "tight": tight,
    "pointwise": pointwise,
}

PARTS: tuple[type, ...] = (Certificate, Region, SlopeBounds, Groups, Cells, ChoiceTerms, Levels, MeanValue, Inverse)
"""The dataclasses a certificate is made of."""

__all__ = [
    "CERTIFICATES",
    "MOST_TRIED",
    "PARTS",
    "Certificate",
    "Region",
    "ball",
    "curvature",
    "origin",
    "pointwise",
    "pointwise_bounds",
    "slope",
    "sphere",
    "tight",
    "uncertain_row_bounds",
]
