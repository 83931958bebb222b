"""Pictures of bounds. They need matplotlib: ``pip install "ipub[plots]"``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ipub.answers.certainty import is_certain
from ipub.errors import IpubError
from ipub.numeric.rounding import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

    from ipub.estimators.penalty_paths import PenaltyPath

CERTAIN = "#0072B2"
UNCERTAIN = "#E69F00"
"""Blue and orange of Okabe and Ito: distinct for colour-blind readers, and in grey."""
PROMISE_COLOURS = ("#DDDDDD", "#E69F00", "#009E73", "#0072B2")
"""From the widest intervals to the narrowest, which are drawn last."""
INK = "#333333"
FIGURE_INCHES = (8.0, 4.2)


def plot_bounds(
    bounds: ArrayLike,
    prediction: ArrayLike,
    *,
    threshold: float | None = None,
    quantity: str = "prediction",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the interval of each row, sorted by prediction.

    Rows whose interval lies on one side of the threshold are certain: nothing that the bounds hold for (all fillings of
    the training table, unless a weaker promise was asked for) changes their class. They get one colour, the others
    another.

    Parameters
    ----------
    bounds : array of shape (m, 2)
        Lower and upper bound of each row, as from `predict_proba_bounds`, `decision_bounds` or `predict_bounds`.
    prediction : array of shape (m,)
        The prediction of the model trained at the center, on the same scale as the bounds.
    threshold : float, optional
        Where the decision changes: 0.5 for probabilities, 0 for scores. None (regression) draws one colour.
    quantity : str, default="prediction"
        What is bounded, in words, for the vertical axis.
    title : str, optional
    ax : matplotlib Axes, optional
        Where to draw. If left out, a new figure is made, without touching pyplot: save it with
        ``ax.figure.savefig("bounds.png")``; in a notebook ``ax.figure`` on the last line shows it.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from ipub.plots import plot_bounds
    >>> ax = plot_bounds([[0.1, 0.3], [0.4, 0.7]], [0.2, 0.6], threshold=0.5, quantity="probability of rain")
    >>> ax.get_ylabel()
    'probability of rain'
    """
    interval, center = _checked(bounds, prediction)
    ax = _new_axes() if ax is None else ax
    order = np.argsort(center, kind="stable")
    interval, center = interval[order], center[order]
    _set_limits(ax, interval, center, threshold)
    if threshold is None:
        groups = [(np.ones(len(center), dtype=bool), CERTAIN, "bounds")]
    else:
        certain = is_certain(interval, threshold)
        groups = [
            (certain, CERTAIN, "certain: the same class throughout the bounds"),
            (~certain, UNCERTAIN, "open: the bounds leave more than one class"),
        ]
    for rows, colour, words in groups:
        _draw_rows(ax, np.flatnonzero(rows), interval[rows], center[rows], colour, f"{words} ({rows.sum()} rows)")
    if threshold is not None:
        ax.axhline(
            threshold, color=INK, linewidth=1.0, linestyle=(0, (5, 3)), zorder=2.5, label=f"decision at {threshold:g}"
        )
    _decorate(ax, quantity, title)
    return ax


def plot_promises(
    bounds: Mapping[str, ArrayLike],
    prediction: ArrayLike,
    *,
    threshold: float | None = None,
    quantity: str = "score",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the intervals of the same rows under several promises, one inside the other, sorted by prediction.

    Parameters
    ----------
    bounds : mapping of names to arrays of shape (m, 2)
        From the strongest promise, whose intervals are the widest, to the weakest; at most four.
    prediction : array of shape (m,)
        The prediction of one of the models, on the same scale.
    threshold, quantity, title, ax
        As in `plot_bounds`. With a threshold, the legend says how many rows are certain under each promise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from ipub.plots import plot_promises
    >>> ax = plot_promises({"any filling": [[-1.0, 2.0]], "5 % differ": [[0.2, 0.9]]}, [0.5], threshold=0.0)
    >>> [text.get_text() for text in ax.get_legend().get_texts()][:2]
    ['any filling: 0 of 1 certain', '5 % differ: 1 of 1 certain']
    """
    if not 1 <= len(bounds) <= len(PROMISE_COLOURS):
        raise IpubError(f"bounds has {len(bounds)} promises: give one to {len(PROMISE_COLOURS)} of them, by name.")
    checked = {name: _checked(values, prediction) for name, values in bounds.items()}
    center = next(iter(checked.values()))[1]
    order = np.argsort(center, kind="stable")
    ax = _new_axes() if ax is None else ax
    # The widest may leave the picture: the others would be hidden by its size.
    shown = [interval for interval, _ in checked.values()][-2:]
    _set_limits(ax, np.concatenate(shown), center, threshold)
    ax.set_xlim(-1.0, len(center))
    styles = zip(PROMISE_COLOURS, (1.0, 0.8, 0.6, 0.4), strict=True)
    for (colour, size), (name, (interval, _)) in zip(styles, checked.items(), strict=False):
        words = name
        if threshold is not None:
            words = f"{name}: {is_certain(interval, threshold).sum()} of {len(center)} certain"
        _draw_rows(ax, np.arange(len(center)), interval[order], center[order], colour, words, size, 0.45)
    if threshold is not None:
        ax.axhline(threshold, color=INK, linewidth=1.0, linestyle=(0, (5, 3)), zorder=2.5)
    _decorate(ax, quantity, title, "prediction")
    return ax


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
    ax = _new_axes() if ax is None else ax
    order = np.argsort(path.alphas)
    alphas = path.alphas[order]
    good, guaranteed = ("R²", "R² guaranteed") if path.certain is None else ("right", "certain and right")
    lines = [
        (path.certain, UNCERTAIN, "s", "certain: the same label throughout the bounds"),
        (path.score, INK, "o", f"{good}: the model with missing values at mid-interval"),
        (path.guaranteed_score, CERTAIN, "D", f"{guaranteed}: by the bounds"),
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
        ax.axvline(path.alphas[best], color=INK, linewidth=1.0, linestyle=(0, (5, 3)), zorder=1.5, label=words)
    _finish(ax, "alpha: strength of the penalty", title)
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


def _new_axes() -> Axes:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "ipub[plots]".') from error
    axes: Axes = Figure(figsize=FIGURE_INCHES, dpi=150, layout="constrained").add_subplot()
    return axes


def _checked(bounds: ArrayLike, prediction: ArrayLike) -> tuple[Array, Array]:
    interval, center = np.asarray(bounds, dtype=float), np.asarray(prediction, dtype=float)
    if interval.ndim != 2 or interval.shape[1] != 2 or len(interval) == 0:
        raise IpubError(f"bounds must have shape (rows, 2) with at least one row, got {interval.shape}.")
    if center.shape != (len(interval),):
        raise IpubError(
            f"prediction must have one value for each of the {len(interval)} rows of bounds, got shape {center.shape}. "
            "Of probabilities, give the column of the second class: predict_proba(X)[:, 1]."
        )
    if np.isnan(interval).any() or not np.isfinite(center).all():
        raise IpubError("Some rows have no bounds or no finite prediction (NaN): leave them out.")
    if (interval[:, 0] > interval[:, 1]).any():
        raise IpubError("Some rows have a lower bound above the upper one: the columns are (lower, upper).")
    return interval, center


def _set_limits(ax: Axes, interval: Array, center: Array, threshold: float | None) -> None:
    """Show every finite end with a margin; infinite ends leave the picture."""
    shown = np.concatenate([interval.ravel(), center, [] if threshold is None else [threshold]])
    shown = shown[np.isfinite(shown)]
    low, high = float(shown.min()), float(shown.max())
    margin = 0.04 * (high - low) or 0.5
    ax.set_ylim(low - margin, high + margin)
    ax.set_xlim(-1.0, len(center))


def _draw_rows(
    ax: Axes, where: Any, interval: Array, center: Array, colour: str, label: str, share: float = 1.0, dot: float = 1.0
) -> None:
    if len(where) == 0:
        return
    n_rows = ax.get_xlim()[1]
    inches = ax.get_figure(root=True).get_size_inches()[0]  # type: ignore[union-attr]
    spacing = 72.0 * 0.85 * float(inches) / n_rows  # points from one row to the next
    low, high = ax.get_ylim()
    ends = np.clip(interval, 2.0 * low - high, 2.0 * high - low)
    width, alpha = share * float(np.clip(0.62 * spacing, 0.4, 7.0)), 0.75 if share == 1.0 else 1.0
    ax.vlines(where, ends[:, 0], ends[:, 1], color=colour, linewidth=width, alpha=alpha, label=label)
    size = dot * float(np.clip(0.5 * spacing, 0.8, 5.0))
    ax.plot(where, center, linestyle="none", marker="o", markersize=size, color=INK, markeredgewidth=0.0, zorder=3)


def _decorate(
    ax: Axes, quantity: str, title: str | None, center: str = "prediction, missing values at mid-interval"
) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.ticker import MaxNLocator

    ax.set_ylabel(quantity)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    ax.plot([], [], linestyle="none", marker="o", markersize=4, color=INK, label=center)
    for handle in _finish(ax, "rows, sorted by prediction", title).legend_handles:
        if isinstance(handle, LineCollection):
            handle.set_linewidth(5.0)


def _finish(ax: Axes, across: str, title: str | None) -> Legend:
    """Draw what all pictures have in common, and the legend."""
    ax.set_xlabel(across)
    if title is not None:
        ax.set_title(title, loc="left")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="y", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    # Below the axis labels, in units of the font, so that it never covers a row whatever the size.
    below: Any = {"loc": "upper left", "bbox_to_anchor": (0.0, 0.0), "borderaxespad": 4.6, "borderpad": 0.0}
    return ax.legend(**below, ncols=2, frameon=False, fontsize="small")
