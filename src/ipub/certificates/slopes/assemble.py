"""From the lines of all rows to bounds of a score: everything of thm-slopes put together."""

from __future__ import annotations

import numpy as np

from ipub.certificates.slopes.bounds import SlopeBounds
from ipub.certificates.slopes.column_bounds import with_forms
from ipub.certificates.slopes.l1_signs import L1Line, L1Signs
from ipub.certificates.slopes.linearization import Linearization
from ipub.certificates.slopes.mean_value import mean_value_bounds
from ipub.certificates.slopes.moves import WrongLabelMoves
from ipub.model_sets.move_sets import Ellipsoid
from ipub.numeric.linalg import greatest_ratio_upper, rounded_up
from ipub.numeric.rounding import EPS, LARGEST, Array, sum_upper, up
from ipub.tables.interval_matrix import Indices


def slope_bounds(
    linear: Linearization,
    signs: L1Signs,
    ellipsoid: Ellipsoid | None,
    *,
    with_column_forms: bool = True,
    with_mean_value: bool = True,
) -> SlopeBounds | None:
    """Return the bounds of thm-slopes; None if the curvature has no inverse.

    Without columns as forms they are for `SlopeBounds.ends` and nothing else, where cells are kept; without the mean
    value they are wider, and take less time.
    """
    penalty, w = linear.problem.penalty, linear.w
    line = signs.line(penalty, w)
    curvature = linear.curvature + np.diag(line.slope)
    inverse = _inverse_where(~signs.zero, curvature)
    if inverse is None or not (linear.move_limits <= LARGEST).all():
        return None
    move_limits = np.where(signs.zero, 0.0, linear.move_limits)
    gradient, slack = _gradient(linear, line, curvature, move_limits)
    forms, form_rows = common_forms(linear, ellipsoid)
    groups, cells = linear.cells.groups(inverse, with_forms=with_column_forms)
    if with_column_forms:
        jumps = linear.jumps
        pairs = [(jumps.form, jumps.n_rows)] if jumps.n_rows and jumps.are_kept else []
        groups = with_forms(groups, *pairs, *((each.form(inverse), len(each.rows)) for each in linear.cells.choices))
    wrong = linear.wrong_labels
    slack, groups = wrong.with_slack(slack), with_forms(groups, *wrong.forms)
    has_certain_curvatures = wrong.alike and not linear.problem.has_uncertain_targets and linear.jumps.n_rows == 0
    has_mean_value = ellipsoid is not None and penalty.kappa == 0.0 and has_certain_curvatures
    tuning = linear.cells.tuning_for_sums(inverse) if linear.incomplete is None else None
    return SlopeBounds(
        w=w,
        curvature=curvature,
        inverse=inverse,
        gradient=gradient,
        slack=slack,
        forms=forms,
        form_rows=form_rows,
        move_limits=move_limits,
        ellipsoid=None if ellipsoid is None else ellipsoid.inverse,
        radius=np.inf if ellipsoid is None else ellipsoid.radius,
        groups=groups,
        jump_rows=linear.jumps.rows,
        mean_value=mean_value_bounds(linear) if has_mean_value and with_mean_value else None,
        cells=cells,
        n_slopes=linear.n_slopes,
        n_incomplete=linear.cells.n_rows,
        choices=linear.cells.choices,
        flipped=WrongLabelMoves(wrong.rows, wrong.count) if wrong.count else None,
        moving_shares=None if tuning is None else tuning.moving_shares,
        prices=None if tuning is None else tuning.prices,
    )


def _inverse_where(active: np.ndarray[tuple[int], np.dtype[np.bool_]], curvature: Array) -> Array | None:
    """Return about the inverse in the active coordinates, 0 in the others; None if there is none."""
    on, inverse = np.flatnonzero(active), np.zeros_like(curvature)
    try:
        inverse[np.ix_(on, on)] = np.linalg.inv(curvature[np.ix_(on, on)])
    except np.linalg.LinAlgError:
        return None
    return inverse if np.isfinite(inverse).all() else None


def _gradient(linear: Linearization, line: L1Line, curvature: Array, move_limits: Array) -> tuple[Array, Array]:
    """Return the middle of g, and what is bounded coordinate by coordinate in ``u.(g + r)``."""
    d, cells, center = len(linear.w), linear.cells, linear.center
    size = np.sqrt(center.gram_size + np.diag(curvature))
    rounding = up((center.roundings * EPS) * size) * sum_upper(size @ move_limits, d + 1)
    slack = up(linear.gradient_error + cells.slack + linear.jumps.slack + line.spread + rounding) * (1.0 + 16.0 * EPS)
    gradient = linear.gradient + line.middle + (cells.shift + cells.middle)
    sizes = np.abs(linear.gradient) + np.abs(line.middle) + np.abs(cells.shift) + np.abs(cells.middle)
    return gradient, up(slack + up(8.0 * EPS * sizes))


def common_forms(linear: Linearization, ellipsoid: Ellipsoid | None) -> tuple[Array, Indices]:
    """Return the forms of what the lines leave open (sec-remainders), and of how many rows each is.

    The first is that of smooth rows, the form K of the slopes' radii times the square of ``sqrt(v.K v)`` and what cells
    add to it; then the cross term of
    lem-cell-gradient; then that of the rows at a jump, if they are not kept one by one.
    """
    K = linear.center.slope_radius_form
    move_form = linear.row_move_form
    if ellipsoid is not None:
        ratio = greatest_ratio_upper(K, ellipsoid.matrix)
        move_form = np.fmin(move_form, up(up(ratio * ellipsoid.radius) * ellipsoid.radius))
    move_norm = up(np.sqrt(move_form) + up(np.sqrt(linear.cell_move_form)))
    forms = [rounded_up(up(move_norm * move_norm) * K, 8), linear.cells.crossing]
    rows = [linear.n_slope_radii, linear.cells.n_crossing_rows]
    if not linear.jumps.are_kept:
        forms.append(linear.jumps.form)
        rows.append(linear.jumps.n_rows)
    return np.array(forms), np.array(rows, dtype=np.intp)
