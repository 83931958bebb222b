"""What scikit-learn has trained, in the terms of this package: pipelines, their steps and models."""

from ipub.trained.classes import refuse, split
from ipub.trained.models import FittedModel, read_model
from ipub.trained.steps import Steps, read_steps

__all__ = ["FittedModel", "Steps", "read_model", "read_steps", "refuse", "split"]
