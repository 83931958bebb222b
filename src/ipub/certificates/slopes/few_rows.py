"""Sums over few training rows, and what stands for them where no training row may be kept.

A form that is a sum over one row is that row up to a factor. Forms of fewer than `FEWEST_ROWS` rows are joined to one
of more rows (`joint_form`, lem-joint-form); where there is none, a multiple of the curvature, a sum over all rows,
stands for them: ``S <= mu A`` gives ``sqrt(u.S u) <= sqrt(mu u.A u)``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ipub.certificates.slopes.cell_groups import ColumnGroups
from ipub.model_sets.base import FEWEST_ROWS
from ipub.numeric.linalg import greatest_ratio_upper, joint_form, rounded_up
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices

STANDS_OUT = 1e-6
"""A direction of a form stands out if its eigenvalue is more than this fraction of the largest: privacy, not width."""


class RowFreeForms(NamedTuple):
    """The parts of `SlopeBounds` that are sums over some of the training rows, in the form that hides single rows."""

    gradient: Array
    forms: Array
    form_rows: Indices
    groups: ColumnGroups


def has_few_rows(form_rows: Indices) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say which forms are sums over so few rows that they must not be kept."""
    return np.asarray((form_rows > 0) & (form_rows < FEWEST_ROWS))


def shows_rows(forms: Array, form_rows: Indices) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say which forms must not be kept: sums over few rows, or all but over few, whose directions stand out.

    A row of little weight hides nothing: what it adds to the form is small beside the others.
    """
    with np.errstate(invalid="ignore"):
        values = np.abs(np.linalg.eigvalsh(np.nan_to_num(forms, posinf=0.0, neginf=0.0)))
    stands_out = values > STANDS_OUT * values.max(axis=1, keepdims=True, initial=0.0)
    is_flat = stands_out.sum(axis=1) < min(FEWEST_ROWS, forms.shape[1])
    return np.asarray(has_few_rows(form_rows) | ((form_rows > 0) & is_flat))


def row_free_forms(
    gradient: Array,
    forms: Array,
    form_rows: Indices,
    groups: ColumnGroups,
    n_incomplete: int,
    curvature: Array,
    inverse: Array,
) -> RowFreeForms:
    """Return gradient and forms without sums over few rows; ``sum_Q sqrt(u.Q u)`` over all forms does not become less.

    Where the table has few incomplete rows, the gradient at the center, which training leaves near zero, is what they
    add: then it is 0, and ``|u.gradient|`` part of a form.
    """
    few, few_groups = shows_rows(forms, form_rows), shows_rows(groups.forms, groups.form_rows)
    if groups.signed is not None:
        n = len(groups.signed.columns)
        few_groups[:n] |= shows_rows(groups.signed.curvature_forms, groups.form_rows[:n])
    pool = [*forms[few], *groups.forms[few_groups]]
    kept_forms = forms.copy()
    kept_forms[few] = rounded_up(np.zeros_like(curvature), 1)
    hides_gradient = bool(has_few_rows(np.array([n_incomplete]))[0])
    if hides_gradient:
        pool.append(rounded_up(np.outer(gradient, gradient), 8))
        gradient = np.zeros_like(gradient)
    kept = np.flatnonzero(~few_groups)
    many = kept[groups.form_rows[kept] >= FEWEST_ROWS]
    # Forms of few rows each are one of many rows together, if all incomplete rows are among them.
    is_hidden = len(many) == 0 and n_incomplete >= FEWEST_ROWS and bool(few_groups.any())
    if pool and len(many) and not hides_gradient:
        companion = many[np.argmin(groups.form_rows[many])]
        pool.append(groups.forms[companion])
        kept = kept[kept != companion]
        is_hidden = True
    groups = _taken(groups, kept)
    if pool:
        joint = joint_form(np.array(pool), inverse)
        if not is_hidden:
            joint = rounded_up(greatest_ratio_upper(joint, curvature) * curvature, 8)
        groups = replace(
            groups,
            forms=np.concatenate([groups.forms, joint[None]]),
            form_rows=np.append(groups.form_rows, 0).astype(np.intp),
        )
    return RowFreeForms(gradient, kept_forms, np.where(few, 0, form_rows), groups)


def _taken(groups: ColumnGroups, kept: Indices) -> ColumnGroups:
    """Return the kept forms, with what is signed of them, and nothing of single groups of cells."""
    d = groups.forms.shape[1]
    signed = groups.signed
    if signed is not None:
        # Signed columns belong to the first forms: those that are left are still the first, in order.
        signed = signed.take(kept[kept < len(signed.columns)])
    return ColumnGroups(
        columns=np.zeros(0, dtype=np.intp),
        generators=np.zeros((0, d)),
        product_vectors=np.zeros((0, d)),
        forms=groups.forms[kept],
        form_rows=groups.form_rows[kept],
        signed=signed,
    )
