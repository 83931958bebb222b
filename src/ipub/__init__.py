"""Certified prediction bounds for models trained on data with missing values."""

from ipub.certify import certify
from ipub.data.holes import IntervalWarning
from ipub.data.intervals import IntervalMatrix
from ipub.estimators import BoundedClassifier, BoundedRegressor

__version__ = "0.1.0"
__all__ = ["BoundedClassifier", "BoundedRegressor", "IntervalMatrix", "IntervalWarning", "__version__", "certify"]
