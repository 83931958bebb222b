"""Models and pipelines that scikit-learn has trained, translated into the terms of this package."""

from ipub.estimators.sklearn_models.classes import refuse, split
from ipub.estimators.sklearn_models.models import FittedModel, read_model
from ipub.estimators.sklearn_models.steps import Steps, read_steps

__all__ = ["FittedModel", "Steps", "read_model", "read_steps", "refuse", "split"]
