"""How a certificate is made: one call for all of them, with what each needs declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ipub.certificates.slopes.hint import NO_HINT, Hint
from ipub.model_sets.certificate import Certificate
from ipub.problem.objective import Point, Problem, Sum
from ipub.problem.solvers import Solution


@dataclass(frozen=True)
class Recipe:
    """A way to certify, by name."""

    name: str
    make: Callable[..., Certificate]
    """Takes a problem and its solution; if `takes_hints`, also the keywords of `__call__`."""
    uses_matrices: bool = False
    """Whether it makes matrices of all pairs of columns, where a table allows them."""
    needs_matrices: bool = False
    """Whether it is not available without."""
    retrains: bool = False
    """Whether its bounds retrain for each row."""
    unsupported_reason: Callable[[Problem], str | None] = lambda _: None
    """Returns why a problem is not supported, and what is used instead; None if it is supported."""
    takes_hints: bool = False
    """Whether the keywords of `__call__` save it work."""
    needed_sum: Callable[[Problem, Point], Sum] | None = None
    """Returns the sum that it needs at the trained point, which training can compute in its last pass."""

    def __call__(
        self, problem: Problem, solution: Solution, *, hint: Hint = NO_HINT, in_columns: bool = False
    ) -> Certificate:
        """Certify; where the problem is not supported another certificate is used, and the note says so.

        Parameters
        ----------
        problem : Problem
        solution : Solution
        hint : Hint
            Results for the same table with another penalty or with other values of its holes, which save time.
        in_columns : bool
            Whether uncertain cells are to be bounded column by column and not one by one; see `Certificate.in_columns`.
        """
        options = {"hint": hint, "in_columns": in_columns} if self.takes_hints else {}
        certificate = self.make(problem, solution, **options)
        return certificate.in_columns() if in_columns else certificate

    def sum_for_last_pass(self, problem: Problem) -> Callable[[Point], Sum] | None:
        """Return `needed_sum` of a problem; None if there is none, or the problem is not supported."""
        if self.needed_sum is None or self.unsupported_reason(problem) is not None:
            return None
        return partial(self.needed_sum, problem)
