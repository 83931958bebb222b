"""What every certificate needs of a block: where the scores of its rows lie, whatever the completion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipub.engine.rows import Block
from ipub.losses import Loss
from ipub.rounding import Array, down, sum_upper, up
from ipub.solvers import Solution


@dataclass(frozen=True)
class ScoreRanges:
    """Scores of a block's rows under w, with certain bounds."""

    score: Array
    """The score at the center, as computed."""
    score_lower: Array
    score_upper: Array
    """The exact score ``x_i.w`` at the center lies between these (F2)."""
    lower: Array
    upper: Array
    """The exact score of every completion lies between these."""
    incomplete: NDArray[np.bool_]
    """Rows with an uncertain cell or a missing category."""

    @property
    def intervals(self) -> tuple[Array, Array, Array, Array]:
        """All four ends: of every completion's score, then of the center's."""
        return self.lower, self.upper, self.score_lower, self.score_upper


def margins(block: Block, solution: Solution) -> ScoreRanges:
    """Enclose the scores of a block."""
    w = solution.w
    score, error = block.center @ w, block.score_error(w)
    score_lower, score_upper = down(score - error), up(score + error)
    incomplete = block.incomplete
    some = np.flatnonzero(incomplete)
    spread = sum_upper(block.row_spread(w)[some], block.center.shape[1] + 1)
    lower, upper = score_lower.copy(), score_upper.copy()
    lower[some], upper[some] = down(lower[some] - spread), up(upper[some] + spread)
    return ScoreRanges(score, score_lower, score_upper, lower, upper, incomplete)


def label_doubt(block: Block, loss: Loss, lower: Array, upper: Array) -> Array:
    """Bound how far weight times derivative can be off for scores in [lower, upper], as labels are uncertain (F14).

    Relative to the weight. What a row pays in regression depends on ``t - y`` alone.
    """
    if block.doubt is None:
        return np.zeros_like(lower)
    shape = (-1,) + (1,) * (lower.ndim - 1)
    radius, share, y = (part.reshape(shape) for part in (block.doubt.radius, block.doubt.share, block.y))
    low, high = down(lower - radius), up(upper + radius)
    slopes, steepest = loss.derivative_range(y, low, high), loss.curvature_range(y, low, high)[1]
    moved = up(np.where(radius > 0.0, steepest * radius, 0.0))
    off = up(up(share * np.maximum(np.abs(slopes[0]), np.abs(slopes[1]))) + up(moved * (1.0 + share)))
    return np.where((radius > 0.0) | (share > 0.0), off, 0.0)
