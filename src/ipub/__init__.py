"""Certified prediction bounds for models trained on data with missing values."""

from ipub.certify import certify
from ipub.data.categories import CategoryWarning
from ipub.data.holes import IntervalWarning
from ipub.data.intervals import IntervalMatrix
from ipub.data.sentinels import SentinelWarning
from ipub.estimators import BoundedClassifier, BoundedRegressor
from ipub.path import PenaltyPath, penalty_path

__version__ = "0.1.0"
__all__ = [
    "BoundedClassifier",
    "BoundedRegressor",
    "CategoryWarning",
    "IntervalMatrix",
    "IntervalWarning",
    "PenaltyPath",
    "SentinelWarning",
    "__version__",
    "certify",
    "penalty_path",
]
