"""Bounds for all tables that differ little from a filled-in one: budgets of holes and wrong cells (section 14)."""

from ipub.certificates.around_filling.attempt import AroundAttempt, certify_around
from ipub.certificates.around_filling.bounds import FilledBounds, FilledEllipsoid
from ipub.certificates.around_filling.moves import BudgetMoves
from ipub.certificates.around_filling.units import HOLES, WRONG_CELLS, MovableRows

__all__ = [
    "HOLES",
    "WRONG_CELLS",
    "AroundAttempt",
    "BudgetMoves",
    "FilledBounds",
    "FilledEllipsoid",
    "MovableRows",
    "certify_around",
]
