"""How the model of every completion is bounded: the certificates by name."""

from __future__ import annotations

from ipub.certificates.ball import ball
from ipub.certificates.certificate import (
    ANY_FILLING,
    Certificate,
    Needs,
    ScoreBounds,
    TrainedModel,
    keeps_training_rows,
    without_training_rows,
)
from ipub.certificates.draws import DrawBounds
from ipub.certificates.origin import origin
from ipub.certificates.pointwise import EFFORT, PointwiseBounds, pointwise, with_effort
from ipub.certificates.recipe import Recipe
from ipub.certificates.region import Region
from ipub.certificates.row_sums.bounds import RowSumBounds
from ipub.certificates.row_sums.ruled_out_scores import is_on_one_side
from ipub.certificates.slope.attempt import slope
from ipub.certificates.slope.bounds import SlopeBounds
from ipub.certificates.slope.suggestions import AnotherDraw, Neighbour
from ipub.certificates.sphere import sphere, sphere_sum
from ipub.certificates.sphere import unsupported_reason as no_sphere
from ipub.certificates.test_rows import MOST_TRIED, bounds_of_uncertain_rows
from ipub.certificates.tight import tight

CERTIFICATES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe("sphere", sphere, Needs(), no_sphere, needed_sum=sphere_sum),
        Recipe("ball", ball, Needs()),
        Recipe("slope", slope, Needs(matrices=True, training_rows=True)),
        Recipe("tight", tight, Needs(matrices=True, training_rows=True), takes_hints=True),
        Recipe("pointwise", pointwise, Needs(matrices=True, training_rows=True, training=True)),
    )
}

__all__ = [
    "ANY_FILLING",
    "CERTIFICATES",
    "EFFORT",
    "MOST_TRIED",
    "AnotherDraw",
    "Certificate",
    "DrawBounds",
    "Needs",
    "Neighbour",
    "PointwiseBounds",
    "Recipe",
    "Region",
    "RowSumBounds",
    "ScoreBounds",
    "SlopeBounds",
    "TrainedModel",
    "ball",
    "bounds_of_uncertain_rows",
    "is_on_one_side",
    "keeps_training_rows",
    "origin",
    "pointwise",
    "slope",
    "sphere",
    "tight",
    "with_effort",
    "without_training_rows",
]
