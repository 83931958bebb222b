"""What all pictures have in common: colours, marks, axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

CERTAIN, OPEN, UNPROVED = "#0072B2", "#D55E00", "#8C8C8C"
UNCERTAIN, GREEN = "#E69F00", "#009E73"
"""Blue, vermilion, orange and green of Okabe and Ito, and a grey: distinct for colour-blind readers, and in grey."""
STATES = {"certain": CERTAIN, "open": OPEN, "unproved": UNPROVED}
MARKERS = {"certain": "o", "open": "^", "unproved": "s"}
"""Each state has a shape of its own beside its colour."""
WORDS = {
    "certain": "certain: the class is proved to stay the same",
    "open": "open: two fillings are known that give different classes",
    "unproved": "unproved: neither is known",
}
PROMISE_COLOURS = ("#DDDDDD", "#E69F00", "#009E73", "#0072B2")
"""From the widest intervals to the narrowest, which are drawn last."""
INK = "#333333"
FIGURE_INCHES = (8.0, 4.2)
DASHED = (0, (5, 3))


def new_axes(inches: tuple[float, float] = FIGURE_INCHES) -> Axes:
    """Return the axes of a new figure, which pyplot does not know of."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "ipub[plots]".') from error
    axes: Axes = Figure(figsize=inches, dpi=150, layout="constrained").add_subplot()
    return axes


def rows_in_words(number: int) -> str:
    """Return how many rows there are, as a legend says it."""
    return f"{number:,} row{'s' * (number != 1)}"


def finish(ax: Axes, across: str, title: str | None) -> Legend:
    """Draw what all pictures have in common, and the legend."""
    ax.set_xlabel(across)
    if title is not None:
        ax.set_title(title, loc="left")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="y", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    # Below the axis labels, in units of the font, so that it never covers a row whatever the size.
    below: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": 4.6, "borderpad": 0.0}
    return ax.legend(**below, ncols=2, frameon=False, fontsize="small")
