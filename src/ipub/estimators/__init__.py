"""The public estimators: scikit-learn estimators whose predictions come with certified bounds."""

from ipub.estimators.classifier import BoundedClassifier, probability_bounds
from ipub.estimators.fitted_state import (
    certificates_of,
    fitted_attributes,
    is_result,
    keep_training,
    restore_fitted,
    stored_parameter,
)
from ipub.estimators.linear_model import (
    CONSTRAINTS,
    FORMER_PARAMETERS,
    check_parameters,
    parameters_of,
    takes_any_level,
)
from ipub.estimators.regressor import BoundedRegressor

__all__ = [
    "CONSTRAINTS",
    "FORMER_PARAMETERS",
    "BoundedClassifier",
    "BoundedRegressor",
    "certificates_of",
    "check_parameters",
    "fitted_attributes",
    "is_result",
    "keep_training",
    "parameters_of",
    "probability_bounds",
    "restore_fitted",
    "stored_parameter",
    "takes_any_level",
]
