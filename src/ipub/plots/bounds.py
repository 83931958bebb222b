"""The bounds of each prediction, as a display in the habit of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ipub.answers.certainty import is_certain
from ipub.errors import IpubError
from ipub.plots.intervals import checked_intervals, checked_status, plot_bounds
from ipub.plots.style import DASHED, INK, MARKERS, STATES, finish, new_axes, rows_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class BoundsDisplay:
    """Predictions with their bounds over all fillings: row by row, or against the prediction.

    Use `from_estimator` or `from_predictions`; `plot` draws again.

    Attributes
    ----------
    bounds : array of shape (m, 2)
    prediction : array of shape (m,)
    threshold : float or None
        Where the class changes; None of a regression.
    status : array of shape (m,) or None
        ``"certain"``, ``"open"`` or ``"unproved"`` for each row.
    quantity : str
        What is bounded.
    ax_, figure_
        Where it was drawn last.

    Examples
    --------
    >>> from ipub import BoundedClassifier
    >>> from ipub.datasets import load_mammographic_masses
    >>> from ipub.plots import BoundsDisplay
    >>> X, y = load_mammographic_masses()
    >>> clf = BoundedClassifier(scale="standard").fit(X[:800], y[:800])
    >>> display = BoundsDisplay.from_estimator(clf, X[900:])
    >>> display.ax_.get_ylabel()
    'probability of malignant'
    """

    ax_: Axes
    figure_: Any

    def __init__(
        self,
        *,
        bounds: ArrayLike,
        prediction: ArrayLike,
        threshold: float | None = None,
        status: ArrayLike | None = None,
        quantity: str = "prediction",
    ) -> None:
        self.bounds, self.prediction = checked_intervals(bounds, prediction)
        self.threshold, self.quantity = threshold, quantity
        self.status = None if status is None else checked_status(status, len(self.bounds))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, kind: str = "rows", shows_status: bool = False, ax: Axes | None = None
    ) -> Self:
        """Bound the rows of X by a fitted estimator, and draw: probabilities if it has them, else scores.

        With `shows_status` rows are marked as `predict_status` finds them, which takes searches for fillings.
        """
        if hasattr(estimator, "predict_bounds"):
            return cls.from_predictions(estimator.predict_bounds(X), estimator.predict(X), kind=kind, ax=ax)
        if len(estimator.classes_) > 2:
            raise IpubError("BoundsDisplay is for two classes, or for a regression: give it the bounds of one class.")
        last = estimator.classes_[1]
        status = estimator.predict_status(X) if shows_status else None
        if hasattr(estimator, "predict_proba_bounds"):
            bounds, prediction = estimator.predict_proba_bounds(X), estimator.predict_proba(X)[:, 1]
            threshold, quantity = 0.5, f"probability of {last}"
        else:
            bounds, prediction = estimator.decision_bounds(X), estimator.decision_function(X)
            threshold, quantity = 0.0, f"score of {last}"
        return cls.from_predictions(
            bounds, prediction, threshold=threshold, status=status, quantity=quantity, kind=kind, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        bounds: ArrayLike,
        prediction: ArrayLike,
        *,
        threshold: float | None = None,
        status: ArrayLike | None = None,
        quantity: str = "prediction",
        kind: str = "rows",
        ax: Axes | None = None,
    ) -> Self:
        """Draw bounds that were computed before."""
        made = cls(bounds=bounds, prediction=prediction, threshold=threshold, status=status, quantity=quantity)
        return made.plot(kind=kind, ax=ax)

    def plot(self, *, kind: str = "rows", ax: Axes | None = None, title: str | None = None) -> Self:
        """Draw: ``kind="rows"``, sorted by prediction, or ``"quadrants"``, the bounds against the prediction.

        In quadrants an interval that crosses the horizontal line of the threshold leaves both classes possible.
        """
        if kind not in ("rows", "quadrants"):
            raise IpubError(f"kind is {kind!r}: use 'rows' or 'quadrants'.")
        if kind == "rows":
            given: Any = {"threshold": self.threshold, "status": self.status, "quantity": self.quantity, "title": title}
            self.ax_ = plot_bounds(self.bounds, self.prediction, ax=ax, **given)
        else:
            self.ax_ = self._quadrants(new_axes() if ax is None else ax, title)
        self.figure_ = self.ax_.figure
        return self

    def _quadrants(self, ax: Axes, title: str | None) -> Axes:
        states = self._states()
        for state, colour in STATES.items():
            rows = np.flatnonzero(states == state)
            if len(rows) == 0:
                continue
            ends, at = np.clip(self.bounds[rows], *self._limits()), self.prediction[rows]
            words = "prediction with its bounds"
            if self.threshold is not None:
                words = f"{state} ({rows_in_words(len(rows))})"
            ax.vlines(at, ends[:, 0], ends[:, 1], color=colour, linewidth=1.4, alpha=0.6)
            ax.plot(at, at, MARKERS[state], color=colour, markersize=4.5, label=words, linestyle="none")
        if self.threshold is not None:
            style: Any = {"color": INK, "linewidth": 1.0, "linestyle": DASHED, "zorder": 2.5}
            ax.axhline(self.threshold, label=f"decision at {self.threshold:g}", **style)
            ax.axvline(self.threshold, **style)
        ax.set_ylim(*self._limits(0.03))
        ax.set_ylabel(f"bounds of the {self.quantity}")
        finish(ax, f"{self.quantity}, missing values filled in", title)
        return ax

    def _states(self) -> Any:
        if self.status is not None:
            return self.status
        if self.threshold is None:
            return np.repeat("certain", len(self.prediction))
        return np.where(is_certain(self.bounds, self.threshold), "certain", "unproved")

    def _limits(self, margin: float = 0.0) -> tuple[float, float]:
        finite = np.concatenate([self.bounds.ravel(), self.prediction])
        finite = finite[np.isfinite(finite)]
        more = margin * (np.ptp(finite) or 1.0)
        return float(finite.min() - more), float(finite.max() + more)
