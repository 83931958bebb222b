"""What may vary: one protocol, one file for each set."""

from ipub.promises.any_filling import AnyFilling
from ipub.promises.base import CellMoves, Together, Uncertainty
from ipub.promises.budget import Budget
from ipub.promises.draws import Draws
from ipub.promises.missing_categories import AnyLevel
from ipub.promises.uncertain_labels import UncertainLabels
from ipub.promises.wrong_labels import LargestValues, WrongLabels, largest_sum

__all__ = [
    "AnyFilling",
    "AnyLevel",
    "Budget",
    "CellMoves",
    "Draws",
    "LargestValues",
    "Together",
    "UncertainLabels",
    "Uncertainty",
    "WrongLabels",
    "largest_sum",
]
