"""The main figure: shares of certain, open and unproved predictions against how many missing values may differ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ipub.reports.drawings.svg import Scale, element, figure, horizontal_axis, plain, vertical_axis

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720.0, 330.0, 52.0, 694.0, 60.0, 280.0
STACKED = ("certain", "unproved", "open")
"""From below: what is between the curves of the certain and the open share is not proved to be either."""
LEAST_LABEL = 0.09
"""Share of the height that an area needs to have its name inside."""

PATTERNS = {"unproved": "M0 3h1.6M4 7h1.6", "open": "M-2 2l4 -4M0 8l8 -8M6 10l4 -4"}
"""What tells the areas apart without colours: dots and stripes."""
HATCHES = element(
    "defs",
    *(
        element(
            "pattern",
            element("path", d=strokes, class_="hatch"),
            id=f"ipub-{state}",
            width=8,
            height=8,
            patternUnits="userSpaceOnUse",
        )
        for state, strokes in PATTERNS.items()
    ),
)


def share_areas(section: Mapping[str, Any]) -> Markup:
    """Draw the three shares, one upon the other, and mark the tipping share."""
    n_missing, numbers = section["n_missing"], [number / section["n_missing"] for number in section["numbers"]]
    across, upward = Scale(0.0, 1.0, LEFT, RIGHT), Scale(0.0, 1.0, BOTTOM, TOP)
    parts: list[Markup] = [HATCHES, *vertical_axis(upward, LEFT, RIGHT, "share of the predictions", is_percent=True)]
    below = [0.0] * len(numbers)
    labels: list[Markup] = []
    for state in STACKED:
        above = [low + share for low, share in zip(below, section["shares"][state], strict=True)]
        if any(section["shares"][state]):
            outline = _steps(across, upward, numbers, above, below)
            parts.append(element("path", d=outline, class_=f"area {state}"))
            if state in PATTERNS:
                parts.append(element("path", d=outline, fill=f"url(#ipub-{state})"))
            labels += _label(state, upward, below[-1], above[-1])
        below = above
    ticks = [f"{100.0 * value:g} %" for value in across.ticks()]
    title = f"share of the {n_missing:,} missing values that may differ from the filled-in ones"
    parts += horizontal_axis(across, BOTTOM, title, ticks)
    parts += labels
    parts += _tipping(section, across)
    return figure(WIDTH, HEIGHT, f"Shares of predictions. {section['sentence']}", *parts)


def _steps(across: Scale, upward: Scale, numbers: list[float], above: list[float], below: list[float]) -> str:
    """Return the outline of an area between two curves that are constant between the numbers."""
    ends = [*numbers[1:], 1.0]
    there = "".join(
        f"L{plain(across.at(x))} {plain(upward.at(y))}H{plain(across.at(end))}"
        for x, end, y in zip(numbers, ends, above, strict=True)
    )
    back = "".join(
        f"L{plain(across.at(end))} {plain(upward.at(y))}H{plain(across.at(x))}"
        for x, end, y in zip(numbers[::-1], ends[::-1], below[::-1], strict=True)
    )
    return f"M{there[1:]}{back}Z"


def _label(state: str, upward: Scale, below: float, above: float) -> list[Markup]:
    """Return the name of an area at its right end, where it is high enough; else none: the legend has it."""
    if above - below < LEAST_LABEL:
        return []
    y = upward.at((above + below) / 2.0) + 4.5
    return [element("text", state, x=RIGHT - 12.0, y=y, text_anchor="end", class_=f"inside {state}")]


def _tipping(section: Mapping[str, Any], across: Scale) -> list[Markup]:
    """Return a line where the first prediction may tip, if one may."""
    tipping = section["tipping"]
    if tipping is None or not math.isfinite(tipping) or tipping < 1:
        return []
    x = across.at(tipping / section["n_missing"])
    words = f"tipping point: the first may change at {tipping:,.0f} of {section['n_missing']:,}"
    is_left = x < (LEFT + RIGHT) / 2.0
    return [
        element("path", d=f"M{plain(x)} {plain(TOP - 8.0)}V{plain(BOTTOM)}", class_="tipping"),
        element("path", d=f"M{plain(x)} {plain(TOP - 8.0)}l-5 -7h10z", class_="tipping-head"),
        element(
            "text",
            words,
            x=x + (10.0 if is_left else -10.0),
            y=TOP - 8.0,
            text_anchor="start" if is_left else "end",
            class_="tipping-words",
        ),
    ]
