"""From rows to certificates: training on any filling, around a filled-in table, and on draws of an imputer."""

from ipub.training.filled import certify_filled
from ipub.training.fit import certify_as_promised, fit_training
from ipub.training.models import problem_of, train
from ipub.training.movable import movable_holes
from ipub.training.training import (
    RETRAINING_ERROR,
    Around,
    Training,
    certify_models,
    train_and_certify,
)

__all__ = [
    "RETRAINING_ERROR",
    "Around",
    "Training",
    "certify_as_promised",
    "certify_filled",
    "certify_models",
    "fit_training",
    "movable_holes",
    "problem_of",
    "train",
    "train_and_certify",
]
