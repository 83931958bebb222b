"""How the model of every completion is bounded: the certificates by name."""

from __future__ import annotations

from ipub.certificates.ball import certify_ball
from ipub.certificates.hints import AnotherDraw, Neighbour
from ipub.certificates.origin import certify_origin
from ipub.certificates.per_row.pointwise import EFFORT, PointwiseBounds, certify_pointwise, with_effort
from ipub.certificates.per_row.ruled_out_scores import is_on_one_side
from ipub.certificates.recipe import Recipe
from ipub.certificates.row_sums.bounds import RowSumBounds
from ipub.certificates.row_sums.one_matrix import OneMatrixBounds
from ipub.certificates.slopes.attempt import certify_slopes
from ipub.certificates.slopes.bounds import SlopeBounds
from ipub.certificates.slopes.hint import NO_HINT, Hint
from ipub.certificates.sphere import certify_sphere, reason_against_sphere, sphere_sum
from ipub.certificates.tight import certify_tight, certify_where_little_differs
from ipub.certificates.uncertain_rows import MOST_TRIED, bounds_of_uncertain_rows
from ipub.model_sets.base import ModelSet, Outcome, Reason
from ipub.model_sets.certificate import ANY_FILLING, Certificate, PreparedRefinement, TrainedModel
from ipub.model_sets.draws import DrawBounds
from ipub.model_sets.region import Region

CERTIFICATES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe("sphere", certify_sphere, unsupported_reason=reason_against_sphere, needed_sum=sphere_sum),
        Recipe("ball", certify_ball),
        Recipe("slope", certify_slopes, uses_matrices=True, needs_matrices=True),
        Recipe("tight", certify_tight, uses_matrices=True, takes_hints=True),
        Recipe("pointwise", certify_pointwise, uses_matrices=True, needs_matrices=True, retrains=True),
    )
}

__all__ = [
    "ANY_FILLING",
    "CERTIFICATES",
    "EFFORT",
    "MOST_TRIED",
    "NO_HINT",
    "AnotherDraw",
    "Certificate",
    "DrawBounds",
    "Hint",
    "ModelSet",
    "Neighbour",
    "OneMatrixBounds",
    "Outcome",
    "PointwiseBounds",
    "PreparedRefinement",
    "Reason",
    "Recipe",
    "Region",
    "RowSumBounds",
    "SlopeBounds",
    "TrainedModel",
    "bounds_of_uncertain_rows",
    "certify_ball",
    "certify_origin",
    "certify_pointwise",
    "certify_slopes",
    "certify_sphere",
    "certify_tight",
    "certify_where_little_differs",
    "is_on_one_side",
    "with_effort",
]
