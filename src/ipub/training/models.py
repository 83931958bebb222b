"""Training of each model at the center of its rows."""

from __future__ import annotations

from collections.abc import Sequence

from ipub.certificates import Recipe, TrainedModel
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import Rows, with_intercept_column
from ipub.training.reading import Parameters


def problem_of(parameters: Parameters, rows: Rows) -> Problem:
    """Return the training problem of one model."""
    return Problem(
        with_intercept_column(rows) if parameters.fit_intercept else rows, parameters.loss, parameters.penalty
    )


def train(
    parameters: Parameters,
    models: Sequence[Rows],
    starts: Sequence[Array | None] | None = None,
    hessians: Sequence[Array | None] | None = None,
    recipe: Recipe | None = None,
) -> tuple[TrainedModel, ...]:
    """Train each model at the center of its rows.

    Weights start at `starts`, or at zero; `hessians` are about those of the mean loss there, if the optimum is near.
    `recipe` is the certificate that is made next: the last pass of training computes the sum that it needs.
    """
    trained, unknown = [], [None] * len(models)
    for rows, start, hessian in zip(models, starts or unknown, hessians or unknown, strict=True):
        problem = problem_of(parameters, rows)
        solution = solve(
            problem,
            tol=parameters.tol,
            max_iter=parameters.max_iter,
            start=start,
            verbose=parameters.verbose,
            hessian=hessian,
            beside=None if recipe is None else recipe.sum_for_last_pass(problem),
        )
        trained.append(TrainedModel(problem, solution))
    return tuple(trained)
