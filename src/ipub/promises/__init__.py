"""What may vary: one protocol and the sets that follow it, and what a user may ask for."""

from ipub.promises.base import AnyFilling, LargestValues, Uncertainty, WrongLabels, largest_sum
from ipub.promises.budget import Budget
from ipub.promises.draws import Draws

__all__ = [
    "AnyFilling",
    "Budget",
    "Draws",
    "LargestValues",
    "Uncertainty",
    "WrongLabels",
    "largest_sum",
]
