"""Intervals of rows, sorted by prediction. They need matplotlib: ``pip install "ipub[plots]"``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ipub.answers.certainty import is_certain
from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.plots.style import (
    CERTAIN,
    DASHED,
    INK,
    MARKERS,
    PROMISE_COLOURS,
    STATES,
    UNCERTAIN,
    WORDS,
    finish,
    new_axes,
    rows_in_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_bounds(
    bounds: ArrayLike,
    prediction: ArrayLike,
    *,
    threshold: float | None = None,
    status: ArrayLike | None = None,
    quantity: str = "prediction",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the interval of each row, sorted by prediction.

    Rows whose interval lies on one side of the threshold are certain: nothing that the bounds hold for (all fillings of
    the training table, unless a weaker promise was asked for) changes their class. They get one colour, the others
    another. With `status`, each of the three states has a colour and a mark of its own.

    Parameters
    ----------
    bounds : array of shape (m, 2)
        Lower and upper bound of each row, as from `predict_proba_bounds`, `decision_bounds` or `predict_bounds`.
    prediction : array of shape (m,)
        The prediction of the model trained at the center, on the same scale as the bounds.
    threshold : float, optional
        Where the decision changes: 0.5 for probabilities, 0 for scores. None (regression) draws one colour.
    status : array of shape (m,), optional
        ``"certain"``, ``"open"`` or ``"unproved"`` for each row, as from `predict_status`, which proves more rows
        certain than their bounds do.
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
    interval, center = checked_intervals(bounds, prediction)
    ax = new_axes() if ax is None else ax
    order = np.argsort(center, kind="stable")
    interval, center = interval[order], center[order]
    _set_limits(ax, interval, center, threshold)
    states = None if status is None else checked_status(status, len(center))[order]
    for rows, colour, marker, words in _groups(interval, threshold, states):
        if threshold is not None:
            words = f"{words} ({rows_in_words(int(rows.sum()))})"
        _draw_rows(ax, np.flatnonzero(rows), interval[rows], center[rows], colour, words, marker=marker)
    if threshold is not None:
        ax.axhline(
            threshold, color=INK, linewidth=1.0, linestyle=DASHED, zorder=2.5, label=f"decision at {threshold:g}"
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
    checked = {name: checked_intervals(values, prediction) for name, values in bounds.items()}
    center = next(iter(checked.values()))[1]
    order = np.argsort(center, kind="stable")
    ax = new_axes() if ax is None else ax
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
        ax.axhline(threshold, color=INK, linewidth=1.0, linestyle=DASHED, zorder=2.5)
    _decorate(ax, quantity, title, "prediction")
    return ax


def checked_intervals(bounds: ArrayLike, prediction: ArrayLike) -> tuple[Array, Array]:
    """Return bounds and predictions as arrays that can be drawn; raise an error if they cannot."""
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


def _groups(interval: Array, threshold: float | None, status: Any) -> list[tuple[Any, str, str, str]]:
    """Return which rows are drawn alike: their mask, colour, mark and words."""
    if status is not None:
        return [(status == state, colour, MARKERS[state], WORDS[state]) for state, colour in STATES.items()]
    if threshold is None:
        return [(np.ones(len(interval), dtype=bool), CERTAIN, "o", "bounds")]
    certain = is_certain(interval, threshold)
    return [
        (certain, CERTAIN, "o", "certain: the same class throughout the bounds"),
        (~certain, UNCERTAIN, "o", "open or unproved: the bounds leave more than one class"),
    ]


def checked_status(status: ArrayLike, n_rows: int) -> Any:
    """Return the status of rows as an array of words that `predict_status` uses; raise an error for others."""
    states = np.asarray(status, dtype=str)
    unknown = sorted(set(states.ravel().tolist()) - STATES.keys())
    if unknown or states.shape != (n_rows,):
        raise IpubError(
            f"status must have one word for each of the {n_rows} rows, of {', '.join(STATES)}, as from predict_status; "
            f"got {f'{unknown[0]!r}' if unknown else f'shape {states.shape}'}."
        )
    return states


def _set_limits(ax: Axes, interval: Array, center: Array, threshold: float | None) -> None:
    """Show every finite end with a margin; infinite ends leave the picture."""
    shown = np.concatenate([interval.ravel(), center, [] if threshold is None else [threshold]])
    shown = shown[np.isfinite(shown)]
    low, high = float(shown.min()), float(shown.max())
    margin = 0.04 * (high - low) or 0.5
    ax.set_ylim(low - margin, high + margin)
    ax.set_xlim(-1.0, len(center))


def _draw_rows(
    ax: Axes,
    where: Any,
    interval: Array,
    center: Array,
    colour: str,
    label: str,
    share: float = 1.0,
    dot: float = 1.0,
    marker: str = "o",
) -> None:
    if len(where) == 0:
        return
    n_rows = ax.get_xlim()[1]
    inches = ax.get_figure(root=True).get_size_inches()[0]  # type: ignore[union-attr]
    spacing = 72.0 * 0.85 * float(inches) / n_rows  # points from one row to the next
    low, high = ax.get_ylim()
    ends = np.clip(interval, 2.0 * low - high, 2.0 * high - low)
    width, alpha = share * float(np.clip(0.62 * spacing, 0.4, 7.0)), 0.75 if share == 1.0 else 1.0
    ax.vlines(where, ends[:, 0], ends[:, 1], color=colour, linewidth=width, alpha=alpha)
    size = dot * float(np.clip(0.5 * spacing, 0.8 if marker == "o" else 3.2, 5.0))
    point = {"marker": marker, "color": INK, "markeredgewidth": 0.0}
    ax.plot(where, center, linestyle="none", markersize=size, zorder=3, **point)  # type: ignore[arg-type]
    shown = {**point, "color": colour, "markerfacecolor": INK, "markersize": 4.0, "alpha": alpha}
    ax.plot([], [], linewidth=5.0, solid_capstyle="butt", label=label, **shown)  # type: ignore[arg-type]


def _decorate(
    ax: Axes, quantity: str, title: str | None, center: str = "prediction, missing values at mid-interval"
) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_ylabel(quantity)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    ax.plot([], [], linestyle="none", marker="o", markersize=4, color=INK, label=center)
    finish(ax, "rows, sorted by prediction", title)
