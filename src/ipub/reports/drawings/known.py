"""How many predictions are certain, the more missing values are found out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ipub.reports.drawings.svg import (
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

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720.0, 260.0, 52.0, 694.0, 34.0, 214.0


def certain_by_known(section: Mapping[str, Any]) -> Markup:
    """Draw how many are certain if values are as filled in, and whatever they are, against how many are known."""
    known, n = section["n_known"], section["rows_looked_at"]
    across = Scale(0.0, float(max(known[-1], 1)), LEFT, RIGHT)
    counts = [*section["certain_at_least"], *section["certain_if_as_filled"], n]
    low, _ = finite_range(map(float, counts), 0.08)
    upward = Scale(max(0.0, low), float(n), BOTTOM, TOP)
    parts = vertical_axis(upward, LEFT, RIGHT, f"certain predictions, of {n:,}")
    parts += horizontal_axis(across, BOTTOM, "missing values of the training table that are known, the best first")
    for name, state in (("certain_at_least", "unproved"), ("certain_if_as_filled", "certain")):
        places = [(across.at(x), upward.at(y)) for x, y in zip(known, section[name], strict=True)]
        # What is certain with some values known is so with more of them: steps, no lines between the points.
        steps = [f"H{plain(x)}V{plain(y)}" if k else f"M{plain(x)} {plain(y)}" for k, (x, y) in enumerate(places)]
        parts.append(element("path", d="".join(steps), class_=f"line curve {state}"))
        parts.append(path([mark(state, x, y, 8.0) for x, y in places], f"mark {state}"))
    return figure(WIDTH, HEIGHT, f"Certain predictions by known values. {section['sentence']}", *parts)
