"""Shapes and indices of what the compiled row sums read, checked: a model file may come from a stranger."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.row_sums.units import Group
from ipub.certificates.row_sums.variants import MOST_VARIANTS, Level

MOST_GROUPS, MOST_FINER, MOST_STEPS = 4, 16, 64
"""The compiled loops (row_sum_kernel.h) have room for so many groups; the others bound time."""

ENDS = (4, 8)
"""So many ends of pieces are constants to the compiled loops, which would read arrays of other lengths wrongly."""

OF_WEIGHTS = (
    *("lam", "w", "tilt", "settled_middle", "settled_radius", "weight_middle", "weight_radius"),
    *("l1_lower", "l1_upper", "penalty_slope", "curvature_size"),
)
OF_COMPLETE = ("complete_weight", "complete_lower", "complete_per_width")
OF_ROWS = (
    *("row_weight", "row_norm", "center_lower", "center_upper", "value_at_w", "slope_at_w", "first_label"),
    *("second_label", "chord", "score_lower", "score_upper", "grid_scale", "label_group"),
)
OF_UNITS = ("unit_column", "unit_category", "unit_base", "unit_group", "unit_at", "unit_lower", "unit_upper")
OF_ENDS = ("middle", "radius")
OF_POINTS = ("score", "below", "above")
BETWEEN = ("between_share", "between_away")
"""Read where pieces are cut finer."""


def checked(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `row_sum_table` if the loops read nothing beside them; raise ValueError if they would."""
    sizes = _sizes(fields)
    wrong = [name for name, size in sizes.items() if np.size(fields[name]) != size]
    if wrong:
        raise ValueError(f"{wrong[0]} has {np.size(fields[wrong[0]])} numbers in place of {sizes[wrong[0]]}")
    n_units, n_groups, d = fields["n_units"], fields["n_groups"], fields["d"]
    _between("unit_column", fields, 0, d - 1)
    _between("category_columns", fields, 0, d - 1)
    _between("unit_group", fields, Group.FREE, n_groups - 1)
    _between("label_group", fields, Group.CERTAIN, n_groups - 1)
    _between("dropped_group", fields, Group.CERTAIN, n_groups - 1)
    _between("variant_used", fields, 0, np.iinfo(np.int32).max)
    if fields["n_ends"] not in ENDS:
        raise ValueError(f"n_ends is {fields['n_ends']}, and not one of {ENDS}")
    _between("finer", fields, 1, MOST_FINER)
    _between("n_steps", fields, 0, MOST_STEPS)
    _between("n_groups", fields, 0, MOST_GROUPS)
    _starts("unit_start", fields, n_units)
    _starts("variant_start", fields, fields["n_variants"])
    _starts("category_start", fields, len(fields["category_columns"]))
    starts = np.asarray(fields["variant_start"])
    if (np.diff(starts) > MOST_VARIANTS).any():
        raise ValueError("a row has too many variants")
    counts = np.diff(fields["category_start"])
    _between("unit_category", fields, -1, len(counts) - 1)
    category, base = np.asarray(fields["unit_category"]), np.asarray(fields["unit_base"])
    n_levels = np.append(counts, 0)[category]
    if ((base < -1) | ((category >= 0) & (base >= n_levels))).any():
        raise ValueError("unit_base is no level of its category")
    _check_entries(fields, n_levels)
    return fields


def _sizes(fields: dict[str, Any]) -> dict[str, int]:
    """Return how many numbers each array has."""
    d, n, rows, units = (int(fields[name]) for name in ("d", "n_complete", "n_uncertain", "n_units"))
    variants, groups, ends = (int(fields[name]) for name in ("n_variants", "n_groups", "n_ends"))
    points = variants * int(fields["finer"]) * ends
    if min(d, n, rows, units, variants, groups, ends, points, int(fields["n_slopes"])) < 0:
        raise ValueError("a number of rows, columns or points is negative")
    return {
        **dict.fromkeys(OF_WEIGHTS, d),
        **dict.fromkeys(OF_COMPLETE, n),
        **dict.fromkeys(OF_ROWS, rows),
        **dict.fromkeys(OF_UNITS, units),
        **dict.fromkeys(OF_ENDS, variants * ends),
        **dict.fromkeys(OF_POINTS, points),
        **dict.fromkeys(BETWEEN, points if int(fields["finer"]) > 1 else 0),
        "inverse": d * d,
        "complete": n * d,
        "complete_rows": n * int(fields["stride"]) if fields["is_sparse"] else 0,
        "lines": n * 2 * int(fields["n_slopes"]) * 3,
        "rows": rows * d,
        "grid": rows * int(fields["n_grid"]),
        "unit_start": rows + 1,
        "variant_start": rows + 1,
        "budget": groups,
        "variant_units": variants,
        "variant_used": variants * groups,
        "score_size": variants,
        "derivative_size": variants,
    }


def _check_entries(fields: dict[str, Any], n_levels: NDArray[np.intp]) -> None:
    """Raise ValueError if a variant has not one entry for each unit of its row, or a level that is none."""
    starts, n_of_row = np.asarray(fields["variant_start"]), np.diff(fields["unit_start"])
    row = np.repeat(np.arange(len(n_of_row)), np.diff(starts))
    first, count = np.asarray(fields["variant_units"]), n_of_row[row]
    level = np.asarray(fields["variant_level"])
    sizes = {len(level), np.size(fields["variant_lower"]), np.size(fields["variant_upper"])}
    if len(sizes) > 1 or ((first < 0) | (first + count > len(level))).any():
        raise ValueError("a variant has entries that are not there")
    entry = np.repeat(first, count) + _places(count)
    unit = np.repeat(np.asarray(fields["unit_start"])[row], count) + _places(count)
    of_category = np.asarray(fields["unit_category"])[unit] >= 0
    if ((level[entry] < Level.BASE) | (of_category & (level[entry] >= n_levels[unit]))).any():
        raise ValueError("a variant has a level that is none")


def _places(counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return 0, 1, ... for each of several counts."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _between(name: str, fields: dict[str, Any], least: int, most: int) -> None:
    values = np.asarray(fields[name])
    if values.size and not (least <= values.min() and values.max() <= most):
        raise ValueError(f"{name} is not between {least} and {most}")


def _starts(name: str, fields: dict[str, Any], end: int) -> None:
    values = np.asarray(fields[name])
    if values[0] != 0 or values[-1] != end or (np.diff(values) < 0).any():
        raise ValueError(f"{name} does not go from 0 to {end}")
