"""Losses of a row as functions of its score. One file for each loss; this file is the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ipub.losses.base import Loss, LossParameter, Task
from ipub.losses.clipped import ClippedLine
from ipub.losses.hinge import Hinge
from ipub.losses.huber import Huber
from ipub.losses.logistic import Logistic
from ipub.losses.smoothed_hinge import SmoothedHinge
from ipub.losses.squared import Squared
from ipub.losses.squared_hinge import SquaredHinge

__all__ = [
    "LOSSES",
    "ClippedLine",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "SmoothedHinge",
    "Squared",
    "SquaredHinge",
    "Task",
    "loss_names",
    "loss_parameters",
    "make_loss",
]

LOSSES: dict[str, Loss] = {
    loss.name: loss for loss in (Squared(), Hinge(), Logistic(), SquaredHinge(), SmoothedHinge(), Huber())
}
"""Each loss by its name, with its default parameters."""


def make_loss(name: str, parameters: Mapping[str, Any]) -> Loss:
    """Return the loss of this name with the parameters of an estimator; what the loss does not declare is ignored."""
    loss = LOSSES[name]
    given = {each.field: parameters[key] for key, each in loss.parameters.items() if key in parameters}
    return type(loss)(**given) if given else loss


def loss_names(task: Task) -> list[str]:
    """Return the names of the losses of a task."""
    return [name for name, loss in LOSSES.items() if loss.task == task]


def loss_parameters(task: Task) -> dict[str, LossParameter]:
    """Return the parameters, all of them positive numbers, that the losses of a task add to its estimator."""
    return {key: each for name in loss_names(task) for key, each in LOSSES[name].parameters.items()}
