"""Which missing values, columns or rows widen the predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ipub.errors import IpubError
from ipub.plots.style import CERTAIN, INK, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class InfluenceDisplay:
    """The missing values, or columns or rows of them, that cause most of the width: an estimate, and what is proved.

    Attributes
    ----------
    names : list of str
    estimate : array of shape (k,)
        To first order.
    lower, upper : arrays of shape (k,) or None
        What is proved.
    ax_, figure_
        Where it was drawn last.

    Examples
    --------
    >>> from ipub.plots import InfluenceDisplay
    >>> display = InfluenceDisplay.from_predictions(["age", "shape"], [0.4, 0.1], [0.2, 0.0], [0.5, 0.3])
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['age', 'shape']
    """

    ax_: Axes
    figure_: Any

    def __init__(
        self,
        *,
        names: list[str],
        estimate: ArrayLike,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        self.names, self.estimate = [str(name) for name in names], np.asarray(estimate, dtype=float)
        self.lower = None if lower is None else np.asarray(lower, dtype=float)
        self.upper = None if upper is None else np.asarray(upper, dtype=float)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, by: str = "column", most: int = 15, ax: Axes | None = None
    ) -> Self:
        """Ask a fitted estimator for the influence of its missing values on the rows of X, and draw the greatest."""
        import narwhals.stable.v1 as nw

        found = nw.from_native(estimator.influence(X, by=by), eager_only=True)
        keys = ("row", "column", "level")
        names = [_in_words(*(row.get(key) for key in keys)) for row in _rows(found, most)]
        given = [found[name].to_numpy()[:most] for name in ("estimate", "lower", "upper")]
        return cls.from_predictions(names, *given, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        names: list[str],
        estimate: ArrayLike,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw influences that were computed before, in their order."""
        if len(names) == 0:
            raise IpubError("There is nothing to draw: no value is missing.")
        return cls(names=names, estimate=estimate, lower=lower, upper=upper).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None, title: str | None = None) -> Self:
        """Draw a bar for each, the estimate, and a line from the least to the most that is proved."""
        ax = new_axes() if ax is None else ax
        place = np.arange(len(self.names))
        ax.barh(place, self.estimate, 0.6, color=CERTAIN, alpha=0.6, label="estimate (first order)")
        if self.lower is not None and self.upper is not None:
            shown = np.minimum(self.upper, 1.6 * max(float(self.estimate.max()), float(self.lower.max())))
            inside = shown == self.upper
            words = "proved: at least, at most" + ("" if inside.all() else " (arrow: beyond the picture)")
            ax.hlines(place, self.lower, shown, color=INK, linewidth=1.2, label=words)
            ax.plot(self.lower, place, "|", color=INK, markersize=8)
            ax.plot(shown[inside], place[inside], "|", color=INK, markersize=8)
            ax.plot(shown[~inside], place[~inside], ">", color=INK, markersize=4)
        ax.set_yticks(place, self.names)
        ax.invert_yaxis()
        finish(ax, "narrowing of the range of the score once it is known, mean over rows", title)
        ax.grid(visible=False, axis="y")
        ax.grid(visible=True, axis="x", color="#dddddd", linewidth=0.6)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _rows(found: Any, most: int) -> list[dict[str, Any]]:
    return [dict(zip(found.columns, row, strict=True)) for row in found.head(most).rows()]


def _in_words(row: Any, column: Any, level: Any) -> str:
    """Return what an axis calls a missing value, a column, a row or a level."""
    words = [] if column is None else [f"column {column}" if isinstance(column, int) else str(column)]
    words += [] if level is None else [f"= {level}"]
    words += [] if row is None else [f"of row {row}" if words else f"row {row}"]
    return " ".join(words)
