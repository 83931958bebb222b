"""From rows to certificates: training on any filling; where asked for, around a filled-in table or on draws."""

from ipub.training.fit import certify_as_promised, fit_training
from ipub.training.models import problem_of, train
from ipub.training.training import Around, Training, certify_models, train_and_certify

__all__ = [
    "Around",
    "Training",
    "certify_as_promised",
    "certify_models",
    "fit_training",
    "problem_of",
    "train",
    "train_and_certify",
]
