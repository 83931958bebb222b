"""Certified prediction bounds for models trained on data with missing values."""

from ipub.data.holes import IntervalWarning
from ipub.data.interval_matrix import IntervalMatrix
from ipub.data.levels import CategoryWarning
from ipub.data.sentinels import SentinelWarning
from ipub.errors import IpubError, IpubWarning
from ipub.estimators import BoundedClassifier, BoundedRegressor
from ipub.imputation_check import ImputationReport, imputation_report
from ipub.penalty_path import PenaltyPath, penalty_path
from ipub.sklearn_models.certify import certify
from ipub.uncertainty import Budget, Draws

__version__ = "0.1.0"
__all__ = [
    "BoundedClassifier",
    "BoundedRegressor",
    "Budget",
    "CategoryWarning",
    "Draws",
    "ImputationReport",
    "IntervalMatrix",
    "IntervalWarning",
    "IpubError",
    "IpubWarning",
    "PenaltyPath",
    "SentinelWarning",
    "__version__",
    "certify",
    "imputation_report",
    "penalty_path",
]
