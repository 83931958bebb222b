"""Enclosures of the scores of a block's rows over all completions, which every certificate starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipub.numeric.rounding import Array, down, sum_upper, up
from ipub.promises import Uncertainty
from ipub.rows import Block


@dataclass(frozen=True)
class ScoreRanges:
    """Scores of a block's rows under w, with certain bounds."""

    score: Array
    """The score at the center, as computed."""
    score_lower: Array
    score_upper: Array
    """The exact score ``x_i.w`` at the center lies between these (fp-sums)."""
    lower: Array
    upper: Array
    """The exact score of every completion lies between these."""
    incomplete: NDArray[np.bool_]
    """Rows with an uncertain cell or a missing category."""

    @property
    def intervals(self) -> tuple[Array, Array, Array, Array]:
        """All four ends: of every completion's score, then of the center's."""
        return self.lower, self.upper, self.score_lower, self.score_upper


def score_ranges(block: Block, w: Array, uncertainty: Uncertainty) -> ScoreRanges:
    """Enclose the scores of a block under w, at the center and over all completions; reads the norms of columns."""
    score, error = block.center @ w, block.score_error(w)
    score_lower, score_upper = down(score - error), up(score + error)
    incomplete = block.incomplete
    holed = np.flatnonzero(incomplete)
    spread = sum_upper(uncertainty.score_change(block, w)[holed], block.center.shape[1] + 1)
    lower, upper = score_lower.copy(), score_upper.copy()
    lower[holed], upper[holed] = down(lower[holed] - spread), up(upper[holed] + spread)
    return ScoreRanges(score, score_lower, score_upper, lower, upper, incomplete)
