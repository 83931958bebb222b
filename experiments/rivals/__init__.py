"""Other methods for missing values, to compare our bounds with."""

from experiments.rivals.imputation import (
    Coverage,
    Imputation,
    complete_cases,
    multiple_imputation,
    share_covered,
    single_imputation,
)
from experiments.rivals.newton_steps import ParameterBox, interval_newton

__all__ = [
    "Coverage",
    "Imputation",
    "ParameterBox",
    "complete_cases",
    "interval_newton",
    "multiple_imputation",
    "share_covered",
    "single_imputation",
]
