"""Certified prediction bounds for models trained on data with missing values."""

from ipub.certify import certify
from ipub.data.categories import CategoryWarning
from ipub.data.holes import IntervalWarning
from ipub.data.intervals import IntervalMatrix
from ipub.data.sentinels import SentinelWarning
from ipub.estimators import BoundedClassifier, BoundedRegressor

__version__ = "0.1.0"
__all__ = [
    "BoundedClassifier",
    "BoundedRegressor",
    "CategoryWarning",
    "IntervalMatrix",
    "IntervalWarning",
    "SentinelWarning",
    "__version__",
    "certify",
]
