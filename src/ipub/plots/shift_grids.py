"""Where predictions tip if missing values of one or two columns are shifted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ipub.errors import IpubError
from ipub.plots.style import CERTAIN, INK, MARKERS, OPEN, UNPROVED, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOOKS = {
    "safe": (CERTAIN, MARKERS["certain"]),
    "tips": (OPEN, MARKERS["open"]),
    "unproved": (UNPROVED, MARKERS["unproved"]),
}
CIRCLE: dict[str, Any] = {"markersize": 13, "fillstyle": "none", "color": INK, "label": "as filled in"}
WORDS = {"safe": "safe (proved)", "tips": "tips (found)", "unproved": "unproved"}


class ShiftGridDisplay:
    """A grid of shifts, with a colour and a mark for each point: safe, tips or unproved.

    Points of which the whole cell is proved, halfway to their neighbours, are filled; at the others only the point is.

    Attributes
    ----------
    states : array of shape (n_1,) or (n_1, n_2)
        ``"safe"``, ``"tips"`` or ``"unproved"``.
    deltas : list of one or two lists
        The shifts of each column.
    names : list of str
        What is shifted, for the axes.
    whole_cell : array of the shape of `states`
    filled_in_at : list of int or None
        Which of the deltas of each column shifts nothing, if one does.
    ax_, figure_
        Where it was drawn last.

    Examples
    --------
    >>> from ipub.plots import ShiftGridDisplay
    >>> display = ShiftGridDisplay.from_predictions(["safe", "safe", "tips"], [[-1.0, 0.0, 1.0]], ["age"])
    >>> display.ax_.get_xlabel()
    'age'
    """

    ax_: Axes
    figure_: Any

    def __init__(
        self,
        *,
        states: ArrayLike,
        deltas: list[list[Any]],
        names: list[str],
        whole_cell: ArrayLike | None = None,
        filled_in_at: list[int | None] | None = None,
    ) -> None:
        self.states, self.deltas, self.names = np.asarray(states, dtype=str), [list(each) for each in deltas], names
        if self.states.shape != tuple(map(len, self.deltas)) or len(names) != len(self.deltas):
            raise IpubError(f"states has shape {self.states.shape}: it needs one for each combination of the deltas.")
        unknown = sorted(set(self.states.ravel().tolist()) - LOOKS.keys())
        if unknown:
            raise IpubError(f"states has {', '.join(map(repr, unknown))}: use {', '.join(LOOKS)}.")
        self.filled_in_at = list(filled_in_at or [])
        is_safe = self.states == "safe"
        self.whole_cell = is_safe if whole_cell is None else np.asarray(whole_cell, dtype=bool)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, columns: Any, deltas: Any, *, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Ask a fitted estimator for a grid (`shift_grid`, with its options), and draw."""
        return cls.from_grid(estimator.shift_grid(X, columns, deltas, **options), ax=ax)

    @classmethod
    def from_grid(cls, grid: Any, *, ax: Axes | None = None) -> Self:
        """Draw what `shift_grid` returned."""
        how = {"add": "shifted by", "multiply": "multiplied by", "": "all"}
        names = [f"{len(each.which)} missing values of {each.column}, {how[each.how]}" for each in grid.shifts]
        deltas = [["filled in" if delta is None else delta for delta in each.deltas] for each in grid.shifts]
        at = [each.neutral for each in grid.shifts]
        return cls.from_predictions(grid.states, deltas, names, grid.whole_cell, at, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        states: ArrayLike,
        deltas: list[list[Any]],
        names: list[str],
        whole_cell: ArrayLike | None = None,
        filled_in_at: list[int | None] | None = None,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw states that were computed before."""
        given = {"states": states, "deltas": deltas, "names": names, "whole_cell": whole_cell}
        return cls(**given, filled_in_at=filled_in_at).plot(ax=ax)  # type: ignore[arg-type]

    def plot(self, *, ax: Axes | None = None, title: str | None = None) -> Self:
        """Draw a cell and a mark for each point; the first column goes across, the second up."""
        ax = new_axes() if ax is None else ax
        states = self.states if self.states.ndim == 2 else self.states[:, None]
        whole = self.whole_cell.reshape(states.shape)
        across, up = np.meshgrid(*map(np.arange, states.shape), indexing="ij")
        for state, (colour, marker) in LOOKS.items():
            here = states == state
            if not here.any():
                continue
            ax.scatter(across[here], up[here], c=colour, marker=marker, s=30.0, label=f"{WORDS[state]}: {here.sum()}")
            filled = here & (whole if state == "safe" else False)
            for x, y in zip(across[filled].tolist(), up[filled].tolist(), strict=True):
                (left, right), (low, high) = self._cell(0, x), self._cell(1, y)
                ax.fill_between([left, right], low, high, color=colour, alpha=0.25, linewidth=0.0)
        if (whole & (states == "safe")).any():
            ax.fill_between([], [], color=CERTAIN, alpha=0.25, label="safe throughout (proved)")
        self._mark_nothing(ax)
        ax.set_xticks(np.arange(states.shape[0]), [_shown(each) for each in self.deltas[0]])
        ax.set_xlim(-0.6, states.shape[0] - 0.4)
        ax.set_ylim(-0.6, states.shape[1] - 0.4)
        if len(self.deltas) == 2:
            ax.set_yticks(np.arange(states.shape[1]), [_shown(each) for each in self.deltas[1]])
            ax.set_ylabel(self.names[1])
        else:
            ax.set_yticks([])
        finish(ax, self.names[0], title)
        ax.grid(visible=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _cell(self, axis: int, number: int) -> tuple[float, float]:
        """Return from where to where the cell of a point goes: halfway to its neighbours, at an end not beyond it."""
        deltas = self.deltas[axis] if axis < len(self.deltas) else ["alone"]
        if any(isinstance(each, str) for each in deltas):
            return number - 0.5, number + 0.5
        return max(number - 0.5, 0.0), min(number + 0.5, len(deltas) - 1.0)

    def _mark_nothing(self, ax: Axes) -> None:
        """Mark what is not shifted at all, if it is in the grid."""
        if self.filled_in_at and None not in self.filled_in_at:
            across, up = [*self.filled_in_at, 0][:2]
            ax.plot([float(across or 0)], [float(up or 0)], "o", **CIRCLE)


def _shown(delta: Any) -> str:
    return f"{delta:.4g}" if isinstance(delta, int | float) else str(delta)
