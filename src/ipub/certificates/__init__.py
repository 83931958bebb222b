"""How the model of every completion is bounded. One protocol: (problem, solution) to a `Certificate`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ipub.certificates.ball import ball
from ipub.certificates.intercept import bracket_of, with_bracket
from ipub.certificates.origin import around_zero, origin
from ipub.certificates.pointwise import pointwise_bounds, unsupported_reason
from ipub.certificates.region import Certificate, Region, intersection
from ipub.certificates.slope.bounds import (
    CellTable,
    ColumnGroups,
    FirstRound,
    MeanValueBounds,
    SignedColumns,
    SlopeBounds,
)
from ipub.certificates.slope.categories import ChoiceTerms
from ipub.certificates.slope.prove_moves import Neighbour, slope
from ipub.certificates.slope.prove_moves import slope_bounds as find_slope_bounds
from ipub.certificates.sphere import sphere
from ipub.certificates.test_rows import MOST_TRIED, bounds_of_uncertain_rows
from ipub.data.missing_category import Levels
from ipub.linalg import Inverse
from ipub.problem import Problem
from ipub.solvers import Solution

NEARLY_EXACT = 1.5
"""Slopes that leave bounds no wider than this times the first order alone need no help."""


def tight(problem: Problem, solution: Solution, near: Neighbour | None = None, in_groups: bool = False) -> Certificate:
    """Take slopes where they are nearly exact, and else intersect everything that is cheap; finite in any case.

    Then no part alone is narrower. (With an intercept, whose bracket is found to a hundredth of its width: by no more
    than that.) What is known of a problem `near` saves time, and so does the form `in_groups`, which keeps no training
    rows: then slopes are enough, however wide they are.
    """
    found = find_slope_bounds(problem, solution, near=near, in_groups=in_groups)
    if found[0] is None and (near is not None or in_groups):
        found = find_slope_bounds(problem, solution)
    bounds, note = found
    if bounds is not None and (bounds.excess <= NEARLY_EXACT or in_groups):
        # The ball around zero serves rows so far away that the slopes' numbers overflow.
        region = around_zero(problem, solution)
        if not problem.penalty.n_free:
            return Certificate("tight", (region,), solution.gap, bounds, note)
        (low,), (high,) = bounds.ends(np.eye(len(solution.w))[-1:])
        if np.isfinite([low, high]).all():
            return Certificate("tight", (with_bracket(region, (low, high)),), solution.gap, bounds, note)
    at_zero = origin(problem, solution)
    # With uncertain labels the sphere is the ball, which the slopes start from anyway.
    around_center = [sphere(problem, solution, at_zero)] if not problem.rows.uncertain_labels else []
    curved = slope(problem, solution, intersection("known", [*around_center, at_zero]), found)
    parts = [*around_center, curved, at_zero]
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
    note = start.note if start.slope is None else ""
    return replace(start, name="pointwise", note=" ".join(filter(None, [note, unsupported_reason(problem)])))


CERTIFICATES: dict[str, Callable[[Problem, Solution], Certificate]] = {
    "sphere": sphere,
    "ball": ball,
    "slope": slope,
    "curvature": curvature,
    "tight": tight,
    "pointwise": pointwise,
}

PARTS: tuple[type, ...] = (
    Certificate,
    Region,
    SlopeBounds,
    FirstRound,
    ColumnGroups,
    SignedColumns,
    CellTable,
    ChoiceTerms,
    Levels,
    MeanValueBounds,
    Inverse,
)
"""The dataclasses a certificate is made of."""

__all__ = [
    "CERTIFICATES",
    "MOST_TRIED",
    "PARTS",
    "Certificate",
    "Neighbour",
    "Region",
    "ball",
    "bounds_of_uncertain_rows",
    "curvature",
    "origin",
    "pointwise",
    "pointwise_bounds",
    "slope",
    "sphere",
    "tight",
]
