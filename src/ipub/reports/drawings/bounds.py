"""Predictions with their bounds: against the filled-in prediction, row by row, and one alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ipub.reports.drawings.svg import (
    STATES,
    Scale,
    element,
    figure,
    finite_range,
    horizontal_axis,
    mark,
    path,
    plain,
    vertical_axis,
)

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720.0, 400.0, 52.0, 694.0, 42.0, 350.0
MOST_ROWS = 500
"""Rows that are drawn, at most: size of the report. Those that are not certain come first."""


def drawn_rows(section: Mapping[str, Any]) -> NDArray[np.intp]:
    """Return the rows that are drawn: all, or those that are not certain and some others, drawn at random."""
    n = len(section["row"])
    order = np.random.default_rng(0).permutation(n)
    if section["status"] is not None:
        order = order[np.argsort(np.array(section["status"])[order] == "certain", kind="stable")]
    return np.sort(order[:MOST_ROWS]).astype(np.intp)


def quadrants(section: Mapping[str, Any]) -> Markup:
    """Draw the bounds of rows against the prediction with the missing values filled in."""
    rows = drawn_rows(section)
    across = Scale(*_range(section, rows, ("value",)), LEFT, RIGHT)
    upward = Scale(*_range(section, rows), BOTTOM, TOP)
    places = [across.at(section["value"][row]) for row in rows]
    parts = _threshold_quadrants(section, across, upward)
    parts += vertical_axis(upward, LEFT, RIGHT, f"bounds of {section['quantity']}")
    parts += horizontal_axis(across, BOTTOM, f"{section['quantity']}, missing values filled in")
    parts += _intervals(section, rows, places, upward)
    name = f"Bounds of {section['quantity']} for {len(rows)} rows, against the prediction with missing values filled in"
    return figure(WIDTH, HEIGHT, name, *parts)


def by_row(section: Mapping[str, Any]) -> Markup:
    """Draw the bounds of rows side by side, in the order of their predictions."""
    rows = drawn_rows(section)
    rows = rows[np.argsort(np.array(section["value"])[rows], kind="stable")]
    step = (RIGHT - LEFT) / max(1, len(rows))
    upward = Scale(*_range(section, rows), BOTTOM, TOP)
    places = [LEFT + step * (k + 0.5) for k in range(len(rows))]
    parts = vertical_axis(upward, LEFT, RIGHT, section["quantity"])
    if section["threshold"] is not None:
        y = upward.at(section["threshold"])
        parts.append(element("path", d=f"M{plain(LEFT)} {plain(y)}H{plain(RIGHT)}", class_="threshold"))
    parts += _intervals(section, rows, places, upward)
    words = f"{len(rows):,} rows, in the order of their predictions"
    middle = (LEFT + RIGHT) / 2.0
    parts.append(element("text", words, x=middle, y=BOTTOM + 22.0, text_anchor="middle", class_="title"))
    return figure(WIDTH, BOTTOM + 32.0, f"Bounds of {section['quantity']}, row by row", *parts)


def strip(row: Mapping[str, Any], limits: tuple[float, float], threshold: float | None, quantity: str) -> Markup:
    """Draw the bounds of one row as a line, what fillings attain as a thick one, and the prediction as a mark."""
    scale = Scale(*limits, 6.0, 234.0)
    state = row["status"] or "certain"
    parts = [element("path", d="M6 11H234", class_="grid")]
    if threshold is not None:
        x = plain(scale.at(threshold))
        parts.append(element("path", d=f"M{x} 1V21", class_="threshold"))
    low, high = (scale.at(_finite(row[name], end)) for name, end in (("lower", limits[0]), ("upper", limits[1])))
    parts.append(element("path", d=f"M{plain(low)} 11H{plain(high)}m0 -4v8M{plain(low)} 7v8", class_=f"line {state}"))
    if row.get("attained"):
        inner = [scale.at(end) for end in row["attained"]]
        parts.append(element("path", d=f"M{plain(inner[0])} 11H{plain(inner[1])}", class_=f"attained {state}"))
    parts.append(path([mark(state, scale.at(row["value"]), 11.0, 11.0)], f"mark point {state}"))
    name = f"{quantity}: {row['value']:.3g}, with bounds from {row['lower']:.3g} to {row['upper']:.3g}"
    return figure(240.0, 22.0, name, *parts, class_="strip")


def limits_of(section: Mapping[str, Any]) -> tuple[float, float]:
    """Return the range of all strips of a report: probabilities from 0 to 1, else what rows need."""
    if section["threshold"] == 0.5:
        return 0.0, 1.0
    return _range(section, np.arange(len(section["row"])))


def _finite(value: float, end: float) -> float:
    return value if math.isfinite(value) else end


def _range(
    section: Mapping[str, Any], rows: NDArray[np.intp], names: tuple[str, ...] = ("value", "lower", "upper")
) -> tuple[float, float]:
    if section["threshold"] == 0.5:
        return 0.0, 1.0
    return finite_range(section[name][row] for name in names for row in rows.tolist())


def _threshold_quadrants(section: Mapping[str, Any], across: Scale, upward: Scale) -> list[Markup]:
    """Return the quadrants in which bounds give the class of the prediction, and the lines between all four."""
    if section["threshold"] is None:
        return []
    x, y = across.at(section["threshold"]), upward.at(section["threshold"])
    below = f"M{plain(LEFT)} {plain(y)}H{plain(x)}V{plain(BOTTOM)}H{plain(LEFT)}Z"
    above = f"M{plain(x)} {plain(TOP)}H{plain(RIGHT)}V{plain(y)}H{plain(x)}Z"
    lines = f"M{plain(LEFT)} {plain(y)}H{plain(RIGHT)}M{plain(x)} {plain(TOP)}V{plain(BOTTOM)}"
    return [element("path", d=below + above, class_="same-side"), element("path", d=lines, class_="threshold")]


def _intervals(section: Mapping[str, Any], rows: NDArray[np.intp], places: list[float], upward: Scale) -> list[Markup]:
    """Return a line and a mark for each row, those that are certain first: others are drawn over them."""
    status = section["status"] or ["certain"] * len(section["row"])
    low, high = upward.low, upward.high
    size = min(8.0, max(3.5, 0.8 * (RIGHT - LEFT) / max(1, len(rows))))
    parts = []
    for state in STATES:
        here = [(x, int(row)) for x, row in zip(places, rows.tolist(), strict=True) if status[row] == state]
        if not here:
            continue
        if section["is_bounded"]:
            lines = [
                f"M{plain(x)} {plain(upward.at(_finite(section['lower'][row], low)))}"
                f"V{plain(upward.at(_finite(section['upper'][row], high)))}"
                for x, row in here
            ]
            parts.append(path(lines, f"line {state}"))
        marks = [mark(state, x, upward.at(section["value"][row]), size) for x, row in here]
        parts.append(path(marks, f"mark {state}"))
    return parts
