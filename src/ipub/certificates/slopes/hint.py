"""What is known of a similar problem, and how it saves time: it may change the width of bounds, never their truth."""

from __future__ import annotations

from ipub.certificates.slopes.bounds import FirstRound
from ipub.certificates.slopes.prove_moves import Suggestion
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem


class Hint:
    """What is known of a similar problem, and how it saves time. This one knows nothing of any."""

    is_given = False
    """Whether there is a similar problem: then parts are left out that would hardly narrow bounds."""
    tries_row_sums = True
    """Whether row sums are tried."""
    row_sum_widths: Array | None = None
    """How wide the ranges of row sums were tried when they were proved."""
    tries_slopes = True
    """Whether a set of moves is to be proved without a certificate to start from."""
    slopes_are_enough = False
    """Whether nothing else narrows the bounds by slopes."""
    takes_move_limits = False
    """Whether limits of the intercept's moves do for the ball around zero."""
    wants_mean_value = True
    """Whether bounds by the mean value are made."""

    def suggestion(self, problem: Problem) -> Suggestion | None:  # noqa: ARG002 (nothing is known)
        """Return a set of moves to begin with."""
        return None

    def last_round(self) -> tuple[float, FirstRound | None] | None:
        """Return what stands for excess and first round, if the first round is the last and need not be measured."""
        return None

    def is_narrow_enough(self, excess: float) -> bool:  # noqa: ARG002 (nothing is known)
        """Whether bounds of such an excess need not be narrowed further."""
        return False


NO_HINT = Hint()
