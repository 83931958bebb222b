"""The inner bound: predictions that models retrained on completions really give.

A certificate bounds the range of a prediction from outside; this bounds it from inside. The ratio of the two
widths says by how much a certificate can be too wide.
"""

from ipub.answers.attained.bounds import RETRAINING_ERROR, Attained, attained_bounds, has_two_sides, search_fillings
from ipub.answers.attained.within_budget import BudgetSearch

__all__ = ["RETRAINING_ERROR", "Attained", "BudgetSearch", "attained_bounds", "has_two_sides", "search_fillings"]
