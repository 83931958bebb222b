"""What may vary: one protocol and the sets that follow it, and what a user may ask for."""

from ipub.promises.base import AnyFilling, CellMoves, LargestValues, Uncertainty, WrongLabels, largest_sum
from ipub.promises.budget import Budget
from ipub.promises.draws import Draws

__all__ = [
    "AnyFilling",
    "Budget",
    "CellMoves",
    "Draws",
    "LargestValues",
    "Uncertainty",
    "WrongLabels",
    "largest_sum",
]
