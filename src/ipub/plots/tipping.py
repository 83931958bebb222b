"""How many predictions stay certain the more missing values differ from the filled-in ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ipub.answers.tipping_curve import status_shares
from ipub.errors import IpubError
from ipub.plots.style import DASHED, INK, STATES, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TippingDisplay:
    """The shares of certain, open and unproved predictions against how many missing values may differ.

    Attributes
    ----------
    at_least, at_most : arrays of shape (m,)
        For each row how many missing values must differ before its class changes: proved, and found. Infinite where
        none can, or none was found.
    n_missing : int
        Number of missing values.
    ax_, figure_
        Where it was drawn last.

    Examples
    --------
    >>> import numpy as np
    >>> from ipub.plots import TippingDisplay
    >>> display = TippingDisplay.from_predictions([3, np.inf, 1], [5, np.inf, 1], n_missing=20)
    >>> display.ax_.get_xlabel()
    'share of the 20 missing values that may differ from the filled-in ones'
    """

    ax_: Axes
    figure_: Any

    def __init__(self, *, at_least: ArrayLike, at_most: ArrayLike, n_missing: int) -> None:
        self.at_least, self.at_most = (np.asarray(each, dtype=float) for each in (at_least, at_most))
        self.n_missing = n_missing

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Axes | None = None) -> Self:
        """Ask a fitted classifier for the tipping points of the rows of X, and draw."""
        import narwhals.stable.v1 as nw

        found = estimator.tipping_points(X)
        rows = nw.from_native(found.rows, eager_only=True)
        given = [rows[name].to_numpy() for name in ("at_least", "at_most")]
        return cls.from_predictions(*given, n_missing=found.n_missing, ax=ax)

    @classmethod
    def from_predictions(
        cls, at_least: ArrayLike, at_most: ArrayLike, *, n_missing: int, ax: Axes | None = None
    ) -> Self:
        """Draw tipping points that were computed before."""
        if n_missing < 1 or len(np.asarray(at_least)) == 0:
            raise IpubError("There is nothing to draw: no value is missing, or there are no rows.")
        return cls(at_least=at_least, at_most=at_most, n_missing=n_missing).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None, title: str | None = None) -> Self:
        """Draw the three shares, one upon the other, and mark how far all predictions are certain."""
        from matplotlib.ticker import PercentFormatter

        ax = new_axes() if ax is None else ax
        numbers, shares = status_shares(self.at_least, self.at_most, self.n_missing)
        x, below = numbers / self.n_missing, np.zeros(len(numbers))
        for state, hatch in zip(("certain", "unproved", "open"), (None, "...", "///"), strict=True):
            above = below + shares[state]
            ax.fill_between(
                x, below, above, step="post", color=STATES[state], alpha=0.75, label=state, hatch=hatch, linewidth=0.0
            )
            below = above
        safe = float(self.at_least.min()) - 1.0
        if 0.0 <= safe < self.n_missing:
            words = f"all predictions are certain up to {safe:.0f} of {self.n_missing} ({safe / self.n_missing:.1%})"
            ax.axvline(safe / self.n_missing, color=INK, linewidth=1.2, linestyle=DASHED, label=words)
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(0.0, 1.0)
        ax.set_ylabel("share of the predictions")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(1.0))
        finish(ax, f"share of the {self.n_missing} missing values that may differ from the filled-in ones", title)
        self.ax_, self.figure_ = ax, ax.figure
        return self
