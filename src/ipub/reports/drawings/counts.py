"""One mark for each prediction, with a shape and a colour for what is known of it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from markupsafe import Markup

from ipub.reports.drawings.svg import STATES, figure, mark, path

MOST_MARKS = 400
"""Marks, at most: of more rows each stands for several."""
STEP, ACROSS = 15.0, 25


def rows_per_mark(counts: Mapping[str, int]) -> int:
    """Return how many predictions a mark stands for."""
    return max(1, math.ceil(sum(counts.values()) / MOST_MARKS))


def icon_array(counts: Mapping[str, int]) -> Markup:
    """Draw the counts, certain ones first; of few rows of a state there is at least one mark."""
    each = rows_per_mark(counts)
    marks = [state for state in STATES for _ in range(math.ceil(counts[state] / each))]
    across = min(ACROSS, max(1, len(marks)))
    places = {state: [k for k, other in enumerate(marks) if other == state] for state in STATES}
    drawn = [
        path((mark(state, STEP * (k % across + 0.5), STEP * (k // across + 0.5), 11.0) for k in where), f"mark {state}")
        for state, where in places.items()
    ]
    name = ", ".join(f"{counts[state]} {state}" for state in STATES)
    height = STEP * math.ceil(len(marks) / across)
    return figure(STEP * across, height, f"{sum(counts.values())} predictions as marks: {name}", *drawn, class_="icons")
