"""How the model of every completion is bounded. One protocol: (problem, solution) to a `Certificate`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ipub.certificates.ball import ball
from ipub.certificates.definite import Inverse
from ipub.certificates.intercept import bracket_of, with_bracket
from ipub.certificates.origin import origin
from ipub.certificates.region import Certificate, Region, intersection
from ipub.certificates.slope import slope
from ipub.certificates.slope_bounds import Cells, Groups, SlopeBounds
from ipub.certificates.sphere import sphere
from ipub.problem import Problem
from ipub.solvers import Solution


def tight(problem: Problem, solution: Solution) -> Certificate:
    """Intersect everything that is cheap: never wider than any of its parts, and always finite.

    (With an intercept, whose bracket is found to a hundredth of its width: by no more than that.)
    """
    around_zero = origin(problem, solution)
    around_center = sphere(problem, solution, around_zero)
    curved = slope(problem, solution, around_center)
    parts = [around_center, curved, around_zero]
    if problem.penalty.n_free:
        # Each part narrowed the bracket of the one before.
        bracket = bracket_of(curved)
        parts = [replace(p, regions=tuple(with_bracket(region, bracket) for region in p.regions)) for p in parts]
    return intersection("tight", parts)


CERTIFICATES: dict[str, Callable[[Problem, Solution], Certificate]] = {
    "sphere": sphere,
    "ball": ball,
    "slope": slope,
    "tight": tight,
}

PARTS: tuple[type, ...] = (Certificate, Region, SlopeBounds, Groups, Cells, Inverse)
"""The dataclasses a certificate is made of."""

__all__ = ["CERTIFICATES", "PARTS", "Certificate", "Region", "ball", "origin", "slope", "sphere", "tight"]
