"""One training from its rows to its certificates, as one object used by estimators, `certify` and penalty paths.

The steps are ``read_training_data`` (`ipub.training.reading`), `train`, `certify_models`, `Training.of`. Every step is
a function that changes none of its arguments, so a step that fails leaves everything as it was.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from ipub.certificates import (
    CERTIFICATES,
    EFFORT,
    MOST_TRIED,
    Certificate,
    PreparedRefinement,
    Region,
    TrainedModel,
    bounds_of_uncertain_rows,
    with_effort,
)
from ipub.certificates.uncertain_rows import count_combinations
from ipub.errors import IpubError, warn_user
from ipub.losses import Loss
from ipub.model_sets.supports import SupportBounds
from ipub.numeric.parallel import longer_slices, row_slices, single_threaded_blas
from ipub.numeric.rounding import Array, check_arithmetic
from ipub.progress_bars import progress
from ipub.rows import engine_of
from ipub.rows.array import device_memory, longer
from ipub.rows.device import to_device
from ipub.rows.sparse import SparseIntervals
from ipub.rows.sparse_array import unit_rows
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.missing_category import MissingCategories
from ipub.tables.movable_units import BudgetMoves, MovableRows
from ipub.training.alpha_choice import AlphaChoice
from ipub.training.deferred import Deferred, done
from ipub.training.models import train
from ipub.training.reading import DeviceIntervals, LearntTable, Parameters, TrainingData

MOST_ROW_TERMS = 1e9
"""Uncertain cells and levels, times rows with every combination of levels, that a call looks at one by one: width
against time, five to ten seconds. A call that would look at more bounds its rows faster: `Certificate.faster`, and rows
with several missing categories by `one_category_each`."""

FASTER = (
    "Many rows: they are bounded faster. Where the penalty is strong, bounds may be 2 to 11 % wider than in calls "
    "with few rows; those of rows with several missing categories, up to 25 %; with an l1 penalty, where signs of "
    "weights are not certain, up to 50 %."
)
ROWS_AT_ONCE = 2048
"""Rows that are bounded between two reports of progress."""


def train_and_certify(parameters: Parameters, data: TrainingData, *, deferred: bool = False) -> Training:
    """Train on what was read, and certify, unless the certificate is None; `deferred` as in `certify_models`."""
    recipe = None if parameters.certificate is None else CERTIFICATES[parameters.certificate]
    return certify_models(parameters, data, train(parameters, data.rows, recipe=recipe), deferred=deferred)


def certify_models(
    parameters: Parameters, data: TrainingData, models: tuple[TrainedModel, ...], *, deferred: bool = False
) -> Training:
    """Certify trained models with the certificate that the parameters name; with none, only combine them.

    With `deferred` that is done at the first request of a bound. Nobody else may then have the arrays of the rows.
    """
    check_arithmetic()
    recipe = None if parameters.certificate is None else CERTIFICATES[parameters.certificate]
    n_columns = models[0].problem.rows.n_features

    def certify() -> Certified:
        check_arithmetic()
        with single_threaded_blas(n_columns):
            certificates = () if recipe is None else tuple(recipe(*model) for model in models)
            certified = Certified.of(certificates, n_columns, parameters.fit_intercept)
        for model in models:
            model.problem.rows.clear_cache()
        return certified

    certified = Deferred(certify)
    if recipe is None or not deferred:
        certified()
    for model in models:
        model.problem.rows.clear_cache()
    return Training.of(parameters, data, models, certified)


class ExtendedRows(NamedTuple):
    """Rows to bound, as the models see them."""

    center: Array
    """With the column of the intercept, uncertain cells at the middle of their intervals."""
    cells: tuple[Indices, Indices, Array]
    """Row, column and radius of each uncertain cell."""
    missing_categories: MissingCategories

    @property
    def is_uncertain(self) -> bool:
        """Whether a row has an uncertain cell, or a missing category."""
        return bool(len(self.cells[0]) or len(self.missing_categories.rows))

    @property
    def n_combinations(self) -> float:
        """The number of rows, each with every combination of the levels of its missing categories."""
        is_plain = not len(self.missing_categories.rows)
        n_rows = len(self.center)
        return float(n_rows if is_plain else count_combinations(self.missing_categories, n_rows).sum())


class Around(NamedTuple):
    """What may differ from a filled-in table."""

    movable: MovableRows
    """Its holes and observed cells, each with the ways in which it may differ."""
    moves: BudgetMoves
    """How many of them may."""
    n_holes: int
    """Number of missing values, those that have one possible value alone included."""


class GivenTable(NamedTuple):
    """The arguments of `fit` that a training table was read from."""

    X: Any
    X_lower: Any
    X_upper: Any

    def own(self) -> GivenTable:
        """Return copies that nobody else has; a frame of a library that changes nothing in place is itself."""
        return GivenTable(*(_own(each) for each in self))


def _own(table: Any) -> Any:
    if isinstance(table, (list, tuple, IntervalMatrix)):
        return copy.deepcopy(table)
    return table.copy() if hasattr(table, "copy") else table


class Certified(NamedTuple):
    """What is proved of K models with d columns."""

    certificates: tuple[Certificate, ...]
    coef_bounds: Array
    """Shape (K, d, 2)."""
    intercept_bounds: Array
    """Shape (K, 2)."""

    @classmethod
    def of(cls, certificates: tuple[Certificate, ...], n_columns: int, has_intercept: bool) -> Certified:
        """Bound the weights, of which the last is the intercept if there is one."""
        bounds = np.empty((len(certificates), n_columns, 2))
        for k, certificate in enumerate(certificates):
            bounds[k] = certificate.in_fit().score_bounds(unit_rows(n_columns))
            certificate.prepare()
        d = n_columns - has_intercept
        return cls(certificates, bounds[:, :d], bounds[:, d] if has_intercept else np.zeros((len(certificates), 2)))


@dataclass(frozen=True, eq=False)
class Training:
    """What was read, trained and certified. There are K models: one, or one for each of more than two classes."""

    table: LearntTable
    """How rows are read, with d columns after encoding."""
    loss: Loss
    alpha: float
    """Strength of the penalty."""
    fit_intercept: bool
    classes: NDArray[Any] | None
    """The labels, sorted; None in a regression."""
    certified: Deferred[Certified]
    """What is proved, for small tables in memory from the first request on."""
    coef: Array
    """Shape (K, d): weights of the models trained at the center."""
    intercept: Array
    """Shape (K,)."""
    n_iter: int
    """Greatest number of Newton steps of a model."""
    dual_gap: float
    """The largest duality gap."""
    models: tuple[TrainedModel, ...] = ()
    """The training problems, with their rows, and their solutions. Empty in a model that was loaded from a file,
    unpickled or copied: it has no training rows."""
    around: Around | None = None
    """What may differ from a filled-in table, on which the models were trained, if that is what the bounds are
    about."""
    alpha_choice: AlphaChoice | None = None
    """How alpha was picked; None if it was given."""
    given: GivenTable | None = None
    """The training table as it was given; None if it is not at hand in memory, or not read from it alone."""

    @classmethod
    def of(
        cls,
        parameters: Parameters,
        data: TrainingData,
        models: tuple[TrainedModel, ...],
        certified: tuple[Certificate, ...] | Deferred[Certified],
    ) -> Training:
        """Combine what was read and trained with what is, or will be, certified."""
        n_columns, has_intercept = models[0].problem.rows.n_features, parameters.fit_intercept
        if not isinstance(certified, Deferred):
            certified = done(Certified.of(certified, n_columns, has_intercept))
        d = n_columns - has_intercept
        weights = np.stack([model.solution.w for model in models])
        return cls(
            data.table,
            parameters.loss,
            parameters.alpha,
            has_intercept,
            data.classes,
            certified,
            coef=weights[:, :d],
            intercept=weights[:, d] if has_intercept else np.zeros(len(models)),
            n_iter=max(model.solution.n_iter for model in models),
            dual_gap=max(model.solution.gap for model in models),
            models=models,
        )

    # --- certified bounds ---------------------------------------------------------------------------------------------

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """Empty if nothing was certified, as ``certificate=None`` asks for; so are the bounds of the weights."""
        return self.certified().certificates

    @property
    def coef_bounds(self) -> Array:
        """Shape (K, d, 2): bounds of each weight over all completions."""
        return self.certified().coef_bounds

    @property
    def intercept_bounds(self) -> Array:
        """Shape (K, 2)."""
        return self.certified().intercept_bounds

    def check_certified(self) -> None:
        """Raise an error if nothing was certified."""
        if not self.certificates:
            raise IpubError(
                "The model was fitted with certificate=None, which trains only and proves no bounds: set "
                "certificate='tight' and call fit again."
            )

    @property
    def can_search(self) -> bool:
        """Whether fillings of the training table can be searched for: it is there, and not too wide."""
        return bool(self.models) and self.models[0].problem.rows.allows_matrices

    def check_search(self) -> None:
        """Raise an error if the training table is too wide, or sparse, to search for its fillings."""
        if self.models and not self.can_search:
            raise IpubError(
                "attained_bounds and flip_distance need matrices of all pairs of columns, which are not made of so "
                f"wide or sparse a table ({self.coef.shape[1]:,} columns): fit a dense array with fewer columns."
            )

    def score_bounds(
        self,
        rows: IntervalMatrix | DeviceIntervals | SparseIntervals,
        *,
        effort: float = EFFORT,
        retrains: bool = True,
        verbose: int = 0,
        n_in_all: int | None = None,
    ) -> Array:
        """Bound the scores of rows, whose own cells may be uncertain, over all completions (lem-uncertain-row).

        If the rows are so many that the call would take long (`MOST_ROW_TERMS`), they are bounded faster, with the loss
        of width that `FASTER` states.

        With `retrains`, pointwise bounds are narrowed for each row; else they are those of the certificate they start
        from. `effort` is the work that they may spend on a row, beyond a few retrainings: about so many seconds of one
        core, but counted (`ipub.certificates.per_row.work`): how fast or busy a machine is plays no part. `n_in_all` is
        the number of rows of a call that is made in parts: it decides whether they are many. The bounds have the shape
        (m, 2), or (m, K, 2) if there is more than one model.
        """
        self.check_certified()
        if isinstance(rows, DeviceIntervals):
            return self._score_bounds_on_device(rows)
        extended = self.extended(rows)
        if not self.models and any(each.refinement is not None for each in self.certificates):
            warn_user(
                "Pointwise bounds need the training table; a model that was loaded from a file, unpickled or copied "
                "has none, so these are the bounds of 'tight'. Call fit again for pointwise bounds.",
                UserWarning,
            )
        with single_threaded_blas(extended.center.shape[1]):
            count = extended.n_combinations
            if n_in_all is not None:
                count *= n_in_all / max(1, len(extended.center))
            refines = [retrains and bool(self.models) and each.refinement is not None for each in self.certificates]
            if any(refines):
                self.unchanged_models()
            parts = []
            for k, certificate in enumerate(self.certificates):
                can_retrain = bool(self.models) and certificate.refinement is not None
                is_many = not can_retrain and count * certificate.terms_per_row > MOST_ROW_TERMS
                if is_many and verbose:
                    print(FASTER)
                if is_many:
                    certificate = certificate.faster()
                plain = _Bounding(self, k, certificate, verbose, combines_levels=not is_many)
                if not refines[k]:
                    parts.append(plain.of_rows(extended))
                    continue
                bounds = replace(plain, refined=self._refined(k, effort)).of_rows(extended)
                if extended.is_uncertain:
                    # A row with holes is retrained for fewer of the ways to fill them.
                    at_least, at_most = plain.of_rows(extended).T
                    bounds = np.column_stack([np.maximum(bounds[:, 0], at_least), np.minimum(bounds[:, 1], at_most)])
                parts.append(bounds)
        return by_model(parts)

    def _refined(self, k: int, effort: float) -> PreparedRefinement:
        """Return what narrows the bounds of single rows of a model; it is prepared once, and with each other effort."""
        if (k, effort) not in self._refinements:
            certificate = with_effort(self.certificates[k], effort)
            assert certificate.refinement is not None
            self._refinements[k, effort] = certificate.refinement.prepared(certificate, self.models[k])
        return self._refinements[k, effort]

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """What answers keep for later calls; it goes with the training table."""
        return {}

    @cached_property
    def _refinements(self) -> dict[tuple[int, float], PreparedRefinement]:
        return {}

    @property
    def bounds_on_device(self) -> bool:
        """Whether rows on a device are bounded there: by certificates whose size does not grow with the table."""
        keeps_rows = any(
            each.keeps_training_rows or each.refinement is not None or each.part(SupportBounds) is not None
            for each in self.certificates
        )
        is_plain = self.table.is_plain and not self.table.precision.any()
        return is_plain and not keeps_rows

    @property
    def bounds_sparse_rows(self) -> bool:
        """Whether sparse rows are bounded as they are: by balls and boxes alone, in a table that is read as it is."""
        is_plain = self.table.is_plain and not self.table.precision.any()
        parts = [part for certificate in self.certificates for part in certificate.parts]
        return is_plain and all(isinstance(part, Region) for part in parts)

    def _score_bounds_on_device(self, rows: DeviceIntervals) -> Array:
        """Bound the scores of rows on a device, there."""
        with device_memory(), longer_slices(longer(rows.center.library)), single_threaded_blas(rows.shape[1]):
            center, cells, _ = self.extended(rows)
            parts = []
            for certificate, coef_bounds in to_device(
                tuple(zip(self.certificates, self.coef_bounds, strict=True)), rows.center.library
            ):
                parts.append(bounds_of_uncertain_rows(certificate.score_bounds, center, cells, coef_bounds))
        return by_model(parts)

    def extended(self, rows: IntervalMatrix | DeviceIntervals | SparseIntervals) -> ExtendedRows:
        """Return the center of rows, with the column of the intercept, their uncertain cells and categories."""
        in_row, columns, _, radii = rows.cells(slice(0, rows.shape[0]))
        center: Any = rows.center_rows(slice(0, rows.shape[0]))
        if self.fit_intercept:
            center = np.column_stack([center, np.ones(len(center), like=center)])
        return ExtendedRows(center, (in_row, columns, radii), rows.missing_categories)

    def release_caches(self) -> None:
        """Give back memory of other machines that engines use between passes."""
        for model in self.models:
            if engine_of(model.problem.rows).keeps_elsewhere:
                model.problem.rows.clear_cache()

    def unchanged_models(self) -> tuple[TrainedModel, ...]:
        """Return the training problems and their solutions, if the training table is unchanged.

        Raises NotFittedError if the model has no training rows. Raises ValueError if the table has been changed since
        it was read.
        """
        if not self.models:
            raise NotFittedError(
                "This needs the training table, and a model that was loaded from a file, unpickled or copied has none: "
                "call fit again."
            )
        for model in self.models:
            model.problem.rows.clear_cache()
        problem, solution = self.models[0]
        now = problem.evaluate(solution.w, solution.dual_loss, solution.dual_w).primal
        if not np.isclose(now, solution.primal, rtol=1e-9, atol=0.0, equal_nan=True):
            raise IpubError("The training table has been changed since fit, which keeps no copy of it: call fit again.")
        return self.models


@dataclass(frozen=True)
class _Bounding:
    """How the scores of rows under one model are bounded: with retraining for each row, or without."""

    training: Training
    model: int
    certificate: Certificate
    verbose: int
    combines_levels: bool
    """Whether a row is bounded for every combination of the levels of its missing categories."""
    refined: PreparedRefinement | None = None
    """What narrows bounds row by row, if anything."""

    def of_rows(self, rows: ExtendedRows) -> Array:
        """Bound the scores of rows, whose own cells may be uncertain."""
        if not rows.is_uncertain:
            return self._of_certain_rows(rows.center)
        return bounds_of_uncertain_rows(
            self._of_certain_rows,
            rows.center,
            rows.cells,
            self.training.coef_bounds[self.model],
            rows.missing_categories,
            MOST_TRIED if self.refined is None else 0,
            self._rough_bounds(),
            combines_levels=self.combines_levels,
        )

    def _rough_bounds(self) -> Callable[[Array], Array] | None:
        """Return a faster way to bound the scores of rows without holes, if there is one."""
        certificate = self.training.certificates[self.model]
        if self.refined is not None:
            return certificate.score_bounds
        return certificate.in_columns().score_bounds if certificate.keeps_training_rows else None

    def _of_certain_rows(self, table: Array) -> Array:
        """Bound the scores of rows without holes."""
        if self.refined is not None:
            bounds = self.certificate.score_bounds(table)
            with progress("Retraining for each row", len(table), bool(self.verbose)) as report:
                return self.refined.narrowed(table, bounds, lambda done, _: report(done))
        slices = row_slices(len(table), 1, ROWS_AT_ONCE) if self.verbose else []
        if len(slices) <= 1:
            return self.certificate.score_bounds(table)
        with progress("Bounding rows", len(table), is_shown=True) as report:
            parts = []
            for rows in slices:
                parts.append(self.certificate.score_bounds(table[rows]))
                report(rows.stop)
        return np.concatenate(parts)


def by_model(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the bounds of one model as they are, (m, 2), those of several as (m, K, 2)."""
    return parts[0] if len(parts) == 1 else np.stack(parts, axis=1)
