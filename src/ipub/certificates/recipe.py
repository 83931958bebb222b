"""How a certificate is made: one call for all of them, with what each needs declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ipub.certificates.certificate import Certificate, Needs
from ipub.certificates.slope.suggestions import AnotherDraw, Neighbour
from ipub.problem import Problem
from ipub.solvers import Solution


def _anything(_: Problem) -> str:
    return ""


@dataclass(frozen=True)
class Recipe:
    """A way to certify, by name.

    Attributes
    ----------
    name : str
    make : callable
        Takes a problem and its solution; if `takes_hints`, also the keywords of `__call__`.
    needs : Needs
        What its bounds require, where the problem is supported.
    unsupported_reason : callable
        Returns why a problem is not supported, and what is used instead; "" if it is supported.
    takes_hints : bool
        Whether the keywords of `__call__` save it work.
    """

    name: str
    make: Callable[..., Certificate]
    needs: Needs
    unsupported_reason: Callable[[Problem], str] = _anything
    takes_hints: bool = False

    def __call__(
        self,
        problem: Problem,
        solution: Solution,
        *,
        hint: Neighbour | AnotherDraw | None = None,
        in_columns: bool = False,
    ) -> Certificate:
        """Certify; where the problem is not supported another certificate is used, and the note says so.

        Parameters
        ----------
        problem : Problem
        solution : Solution
        hint : Neighbour or AnotherDraw, optional
            Results for the same table with another penalty or with other values of its holes, which save time.
        in_columns : bool
            Whether uncertain cells are to be bounded column by column and not one by one; see `Certificate.in_columns`.
        """
        options = {"hint": hint, "in_columns": in_columns} if self.takes_hints else {}
        certificate = self.make(problem, solution, **options)
        return certificate.in_columns() if in_columns else certificate

    def supports(self, problem: Problem) -> str:
        """Return why a problem is not supported, and what is used instead; "" if it is supported."""
        return self.unsupported_reason(problem)
