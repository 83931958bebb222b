"""What scikit-learn has trained, in the terms of this package: pipelines, their steps and models."""

from ipub.sklearn_models.classes import refuse, split
from ipub.sklearn_models.models import FittedModel, read_model
from ipub.sklearn_models.steps import Steps, read_steps

__all__ = ["FittedModel", "Steps", "read_model", "read_steps", "refuse", "split"]
