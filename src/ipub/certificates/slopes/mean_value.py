"""The mean value: ``v = -H^-1 g`` with H between two matrices (thm-mean-value), better where intervals are wide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.certificates.slopes.linearization import Linearization
from ipub.numeric.linalg import EnclosedInverse, root_form_upper
from ipub.numeric.rounding import EPS, Array, sum_upper, up
from ipub.promises import LargestValues


@dataclass(frozen=True)
class MeanValueBounds:
    """What the mean value needs of the Hessian and of the gradient, for all completions."""

    center: Array
    spread: Array
    """Shape (n_features, n_features): ``-spread <= H^-1 - center <= spread`` in the order of matrices."""
    slack: Array
    """Shape (n_features,): what is bounded coordinate by coordinate in ``c.g``."""
    gradient_limits: Array
    """Shape (n_features,): bounds of ``|g_j|``."""
    force: float
    """Bound of ``sqrt(g.spread g)``."""


def mean_value_bounds(linear: Linearization) -> MeanValueBounds | None:
    """Enclose the inverse of the mean Hessian, and what it is applied to (thm-mean-value); None if that fails.

    Or if cells are summed.
    """
    cells, wrong, sizes = linear.cells, linear.wrong_labels, linear.cells.gradient_sizes()
    enclosed = None if sizes is None else EnclosedInverse.between(linear.hessian_lower(), linear.hessian_upper())
    if sizes is None or enclosed is None:
        return None
    cell_slack, generator_size = sizes
    slack = up(up(linear.gradient_error + cell_slack) * (1.0 + 16.0 * EPS))
    middle = cells.middle
    slack = up(slack + up(8.0 * EPS * (np.abs(linear.gradient) + np.abs(cells.shift) + np.abs(middle))))
    # g itself: its center, its generators, and everything else as a box.
    box = up(up(up(slack + cells.force_slack) + generator_size) + np.abs(cells.force_shift))
    for terms in cells.choices:
        box = up(box + terms.sizes())
    spread, d = enclosed.spread, len(box)
    slack, box = wrong.with_slack(slack), wrong.with_slack(box)
    form = sum_upper(sum_upper(np.abs(spread) @ box, d + 1) @ box, d + 1)
    center = linear.gradient + middle
    force = up(root_form_upper(spread, center[None])[0] + up(np.sqrt(form)))
    limits = up(np.abs(center) + box)
    force = LargestValues.of(root_form_upper(spread, wrong.rows), wrong.count).added_to(force)
    limits = LargestValues.of(np.abs(wrong.rows), wrong.count).added_to(limits)
    return MeanValueBounds(enclosed.center, spread, slack, limits, float(force))
