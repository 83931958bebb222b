"""Why a prediction is certain or not: its bounds, their parts and the missing values that matter most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ipub.answers.tipping.explanation import column_in_words
from ipub.plots.style import DASHED, INK, STATES, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ipub.answers.tipping.explanation import Explanation

MOST_CELLS = 6
"""Missing values that are drawn, at most."""
WORDS = {"both": "everything missing", "training table": "training table alone", "row": "its own values alone"}


class ExplanationDisplay:
    """The bounds of one prediction: of everything that is missing, of parts of it, and of single missing values.

    Attributes
    ----------
    explanation : Explanation
    ax_, figure_
        Where it was drawn last.

    Examples
    --------
    >>> from ipub import BoundedClassifier
    >>> from ipub.datasets import load_mammographic_masses
    >>> from ipub.plots import ExplanationDisplay
    >>> X, y = load_mammographic_masses()
    >>> clf = BoundedClassifier(scale="standard").fit(X[:300], y[:300])
    >>> display = ExplanationDisplay.from_estimator(clf, X[904])
    >>> display.ax_.get_xlabel()
    'probability of malignant'
    """

    ax_: Axes
    figure_: Any

    def __init__(self, *, explanation: Explanation) -> None:
        self.explanation = explanation

    @classmethod
    def from_estimator(
        cls, estimator: Any, row: Any, *, threshold: float | None = None, ax: Axes | None = None
    ) -> Self:
        """Ask a fitted estimator to explain a row, and draw."""
        return cls.from_explanation(estimator.explain(row, threshold=threshold), ax=ax)

    @classmethod
    def from_explanation(cls, explanation: Explanation, *, ax: Axes | None = None) -> Self:
        """Draw what `explain` returned."""
        return cls(explanation=explanation).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None, title: str | None = None) -> Self:
        """Draw bounds as thick lines, and about how far single missing values move the prediction as thin ones."""
        ax = new_axes() if ax is None else ax
        found = self.explanation
        has_own = found.parts[1].width > 0.0
        parts = [part for part in reversed(found.parts) if has_own or part.source == "both"]
        cells = found.top[:MOST_CELLS]
        names = [WORDS[part.source] for part in parts]
        names += [f"{column_in_words(cell.column)}, row {cell.row}" for cell in cells]
        place = np.arange(len(names))
        colour = STATES.get(found.status or "certain", INK)
        words = f"proved: {found.status}" if found.status == "certain" else "proved bounds"
        ends = np.array([[part.lower, part.upper] for part in parts])
        ax.hlines(place[: len(parts)], *ends.T, color=colour, linewidth=6.0, alpha=0.85, label=words)
        if cells:
            moved = np.array([[cell.lowest, cell.highest] for cell in cells])
            label = "if this value alone varies (first order)"
            ax.hlines(place[len(parts) :], *moved.T, color=INK, linewidth=2.0, label=label)
        ax.plot([found.value] * len(place), place, "|", color=INK, markersize=10, label="filled in")
        if found.threshold is not None:
            label = f"decision at {found.threshold:g}"
            ax.axvline(found.threshold, color=INK, linewidth=1.0, linestyle=DASHED, label=label)
        ax.set_yticks(place, names)
        ax.invert_yaxis()
        finish(ax, found.quantity, title or f"row {found.row}: {found.status or found.prediction}")
        ax.grid(visible=False, axis="y")
        ax.grid(visible=True, axis="x", color="#dddddd", linewidth=0.6)
        self.ax_, self.figure_ = ax, ax.figure
        return self
