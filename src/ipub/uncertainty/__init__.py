"""What may vary: one protocol, one file for each set."""

from ipub.uncertainty.any_filling import AnyFilling
from ipub.uncertainty.base import CellMoves, Together, Uncertainty
from ipub.uncertainty.budget import Budget
from ipub.uncertainty.draws import Draws
from ipub.uncertainty.missing_categories import AnyLevel
from ipub.uncertainty.uncertain_labels import UncertainLabels
from ipub.uncertainty.wrong_labels import LargestValues, WrongLabels, largest_sum

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
