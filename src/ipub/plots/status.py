"""How many predictions are certain, open and unproved: one mark for each row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ipub.errors import IpubError
from ipub.plots.style import FIGURE_INCHES, MARKERS, STATES, WORDS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_MARKS = 400
"""Marks of a picture, at most: of more rows each stands for several."""
LEGEND_POINTS = 9.0
"""Size of a mark in the legend, whatever the size of those above."""


class StatusDisplay:
    """A mark for each prediction, with a shape and a colour for certain, open and unproved ones.

    Attributes
    ----------
    counts : dict
        How many rows have each status.
    rows_per_mark : int
    ax_, figure_
        Where it was drawn last.

    Examples
    --------
    >>> from ipub.plots import StatusDisplay
    >>> display = StatusDisplay.from_predictions(["certain", "open", "certain"])
    >>> display.counts
    {'certain': 2, 'open': 1, 'unproved': 0}
    """

    ax_: Axes
    figure_: Any

    def __init__(self, *, counts: dict[str, int]) -> None:
        self.counts = {state: int(counts.get(state, 0)) for state in STATES}
        self.rows_per_mark = max(1, math.ceil(sum(self.counts.values()) / MOST_MARKS))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Axes | None = None) -> Self:
        """Ask a fitted classifier for the status of each row of X (`predict_status`), and draw."""
        return cls.from_predictions(estimator.predict_status(X), ax=ax)

    @classmethod
    def from_predictions(cls, status: ArrayLike, *, ax: Axes | None = None) -> Self:
        """Draw the status of rows, as `predict_status` returns it."""
        states, counts = np.unique(np.asarray(status, dtype=str), return_counts=True)
        unknown = sorted(set(states.tolist()) - STATES.keys())
        if unknown or len(states) == 0:
            raise IpubError(f"status has {unknown or 'no rows'}: use {', '.join(STATES)}, as from predict_status.")
        return cls(counts=dict(zip(states.tolist(), counts.tolist(), strict=True))).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None, title: str | None = None) -> Self:
        """Draw the marks, row by row from the left; each stands for `rows_per_mark` predictions."""
        total, marks = sum(self.counts.values()), []
        for state, count in self.counts.items():
            marks += [state] * (math.ceil(count / self.rows_per_mark))
        across = max(12, math.ceil(math.sqrt(2.6 * len(marks))))
        down = math.ceil(len(marks) / across)
        if ax is None:
            ax = new_axes((FIGURE_INCHES[0], 1.3 + FIGURE_INCHES[0] * (down + 0.4) / across))
        place, points = np.arange(len(marks)), 0.55 * 72.0 * 0.8 * FIGURE_INCHES[0] / across
        for state, colour in STATES.items():
            here = place[np.array(marks) == state]
            words = f"{self.counts[state]:,} {WORDS[state]}"
            ax.scatter(here % across, -(here // across), s=points**2, c=colour, marker=MARKERS[state], label=words)
        ax.set_xlim(-0.7, across - 0.3)
        ax.set_ylim(-down + 0.3, 0.7)
        ax.set_axis_off()
        ax.set_aspect("equal", anchor="NW")
        each = "" if self.rows_per_mark == 1 else f"; each mark stands for {self.rows_per_mark} or fewer of one kind"
        ax.set_title(title or f"{total:,} prediction{'s' * (total != 1)}{each}", loc="left")
        below: Any = {"loc": "upper left", "bbox_to_anchor": (0.0, 0.0), "markerscale": LEGEND_POINTS / points}
        ax.legend(frameon=False, fontsize="small", **below)
        self.ax_, self.figure_ = ax, ax.figure
        return self
