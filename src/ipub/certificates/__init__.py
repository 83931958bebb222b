"""How the model of every completion is bounded. One protocol: (problem, solution) to a `Certificate`."""

from __future__ import annotations

from collections.abc import Callable

from ipub.certificates.ball import ball
from ipub.certificates.curvature import curvature
from ipub.certificates.enclosed_inverse import EnclosedInverse
from ipub.certificates.mean_value import IncompleteRows, MeanValue
from ipub.certificates.origin import origin
from ipub.certificates.region import Certificate, Region, intersection
from ipub.certificates.sphere import sphere
from ipub.problem import Problem
from ipub.solvers import Solution


def tight(problem: Problem, solution: Solution) -> Certificate:
    """Intersect everything that is cheap: never wider than any of its parts, and always finite."""
    return intersection("tight", [part(problem, solution) for part in (sphere, curvature, origin)])


CERTIFICATES: dict[str, Callable[[Problem, Solution], Certificate]] = {
    "sphere": sphere,
    "ball": ball,
    "curvature": curvature,
    "tight": tight,
}

PARTS: tuple[type, ...] = (Certificate, Region, MeanValue, EnclosedInverse, IncompleteRows)
"""The dataclasses a certificate is made of."""

__all__ = ["CERTIFICATES", "PARTS", "Certificate", "Region", "ball", "curvature", "origin", "sphere", "tight"]
