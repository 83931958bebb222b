"""What each strength of the penalty gives. It needs matplotlib: ``pip install "ipub[plots]"``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ipub.errors import IpubError
from ipub.plots.style import CERTAIN, DASHED, GREEN, INK, UNCERTAIN, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ipub.estimators.penalty_paths import PenaltyPath
    from ipub.training.alpha_choice import AlphaChoice


def plot_penalty_path(path: PenaltyPath, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw what each strength of the penalty gives: how good the model is, and how certain.

    Of a classifier, as fractions of the test rows: those that the model trained at the center predicts right, those
    whose label is certain, and those that are both, which every model within the bounds predicts right. The best alpha
    by the last is marked. Of a regression, R2 of the model at the center and the R2 that every model within the bounds
    attains (nothing below -0.1 is shown); without `y_test`, the median width of the bounds.

    Parameters
    ----------
    path : PenaltyPath
        As from `ipub.penalty_path`.
    title : str, optional
    ax : matplotlib Axes, optional
        Where to draw; see `plot_bounds`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from ipub import BoundedClassifier, penalty_path
    >>> from ipub.datasets import load_mammographic_masses
    >>> from ipub.plots import plot_penalty_path
    >>> X, y = load_mammographic_masses()
    >>> path = penalty_path(BoundedClassifier(scale="standard"), X[:300], y[:300], X[700:], y[700:], alphas=[9, 3, 1])
    >>> plot_penalty_path(path).get_xscale()
    'log'
    """
    ax = new_axes() if ax is None else ax
    order = np.argsort(path.alphas)
    alphas = path.alphas[order]
    good, guaranteed = ("R²", "R² guaranteed") if path.certain is None else ("right", "certain and right")
    lines = [
        (path.certain, CERTAIN, "s", "certain: the same label throughout the bounds"),
        (path.score, INK, "o", f"{good}: the model with missing values at mid-interval"),
        (path.guaranteed_score, GREEN, "D", f"{guaranteed}: by the bounds"),
    ]
    if path.certain is None and path.score is None:
        lines = [(path.width, CERTAIN, "o", "bounds")]
    for values, colour, marker, words in lines:
        if values is not None:
            ax.plot(alphas, values[order], color=colour, marker=marker, markersize=4.0, linewidth=1.6, label=words)
    ax.set_xscale("log")
    _set_path_limits(ax, path)
    if path.guaranteed_score is not None:
        best = int(np.argmax(path.guaranteed_score))
        words = f"most is guaranteed at alpha = {path.alphas[best]:.2g}"
        ax.axvline(path.alphas[best], color=INK, linewidth=1.0, linestyle=DASHED, zorder=1.5, label=words)
    finish(ax, "alpha: strength of the penalty", title)
    return ax


def _set_path_limits(ax: Axes, path: PenaltyPath) -> None:
    """Scale and name the vertical axis: fractions from 0 to 1, R2 up to 1, widths by their logarithms."""
    from matplotlib.ticker import PercentFormatter

    if path.certain is not None:
        ax.set_ylabel("share of the test rows")
        ax.set_ylim(-0.02, 1.02)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    elif path.score is not None:
        ax.set_ylabel("R²")
        ax.set_ylim(-0.1, 1.02)
    else:
        ax.set_ylabel("median width of the bounds")
        if (path.width > 0.0).all():
            ax.set_yscale("log")


class PathDisplay:
    """What cross-validation found of each strength of the penalty, and which one was picked.

    Attributes
    ----------
    choice : AlphaChoice
        As in `alpha_choice_` of an estimator.
    ax_, figure_
        Where it was drawn last.

    Examples
    --------
    >>> from ipub import BoundedClassifier
    >>> from ipub.datasets import load_mammographic_masses
    >>> from ipub.plots import PathDisplay
    >>> X, y = load_mammographic_masses()
    >>> display = PathDisplay.from_estimator(BoundedClassifier(alpha="1se", scale="standard").fit(X, y))
    >>> display.ax_.get_ylabel()
    'held-out loss'
    """

    ax_: Axes
    figure_: Any

    def __init__(self, *, choice: AlphaChoice) -> None:
        self.choice = choice

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw how a fitted estimator with ``alpha="1se"`` or ``"min"`` picked its penalty."""
        if estimator.alpha_choice_ is None:
            raise IpubError('alpha was given as a number: fit with alpha="1se" or "min", or use plot_penalty_path.')
        return cls.from_predictions(estimator.alpha_choice_, ax=ax)

    @classmethod
    def from_predictions(cls, choice: AlphaChoice, *, ax: Axes | None = None) -> Self:
        """Draw an `AlphaChoice`."""
        return cls(choice=choice).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None, title: str | None = None) -> Self:
        """Draw the held-out loss with its standard error, and mark the penalties of both rules."""
        ax, choice = new_axes() if ax is None else ax, self.choice
        ax.errorbar(
            choice.alphas, choice.loss, choice.loss_error, color=CERTAIN, marker="o", markersize=4.0, linewidth=1.4,
            elinewidth=0.8, capsize=2.0, label="held-out loss, with its standard error",
        )  # fmt: skip
        limit = choice.loss[choice.least] + choice.loss_error[choice.least]
        ax.axhline(limit, color=INK, linewidth=0.8, linestyle=":", label="one standard error above the least")
        for at, words in ((choice.least, '"min"'), (choice.one_error, '"1se"')):
            alpha = choice.alphas[at]
            mark = " (picked)" if alpha == choice.alpha else ""
            style: Any = "-" if mark else DASHED
            words = f"{words}: alpha = {alpha:.2g}, {choice.accuracy[at]:.3f} right{mark}"
            if choice.is_regression:
                words = f"{words.partition(',')[0]}, R² {choice.accuracy[at]:.3f}{mark}"
            ax.axvline(alpha, color=UNCERTAIN, linewidth=1.2, linestyle=style, label=words)
        ax.set_xscale("log")
        ax.set_ylabel("held-out loss")
        finish(ax, "alpha: strength of the penalty", title)
        self.ax_, self.figure_ = ax, ax.figure
        return self
