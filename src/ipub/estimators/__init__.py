"""The public estimators: scikit-learn estimators whose predictions come with certified bounds."""

from ipub.estimators.classifier import BoundedClassifier
from ipub.estimators.regressor import BoundedRegressor

__all__ = ["BoundedClassifier", "BoundedRegressor"]
