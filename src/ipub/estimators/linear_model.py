"""What both estimators share: reading the user's data, training, certifying."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from rich.progress import Progress
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from ipub.attained import attained_bounds
from ipub.certificates import CERTIFICATES, MOST_TRIED, Certificate, bounds_of_uncertain_rows, pointwise_bounds
from ipub.data.interval_matrix import Indices, IntervalMatrix
from ipub.data.missing_category import NOTHING_MISSING, MissingCategories
from ipub.engine.rows import InterceptRows, Rows
from ipub.estimators.inputs import TableReader
from ipub.estimators.outputs import FrameOutput
from ipub.losses import LOSSES, Loss
from ipub.parallel import single_threaded_blas
from ipub.penalties import ElasticNet
from ipub.problem import Problem
from ipub.rounding import Array, check_arithmetic
from ipub.solvers import Solution, solve
from ipub.user_warnings import warn_user

RETRAINING_ERROR = 1e-7
"""What rounding may add to the score of a retrained model, at most."""


class BoundedLinearModel(TableReader, FrameOutput):
    """Base of the estimators: training at the center and the certificate, whatever the loss."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_lower": True, "X_upper": True}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "l1_ratio": [Interval(Real, 0, 1, closed="left")],
        "fit_intercept": ["boolean"],
        "certificate": [StrOptions(set(CERTIFICATES))],
        "intervals": [str, Mapping, "array-like"],
        "interval_level": [Interval(Real, 0, 1, closed="right")],
        "scale": [StrOptions({"standard", "minmax"}), None],
        "precision": [Interval(Real, 0, None, closed="left"), Mapping, None],
        "handle_unknown": [StrOptions({"error", "any"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    loss: str
    alpha: float
    l1_ratio: float
    fit_intercept: bool
    certificate: str
    tol: float
    max_iter: int
    verbose: int

    @property
    def _loss(self) -> Loss:
        return LOSSES[self.loss]

    def _penalty(self) -> ElasticNet:
        alpha, l1_ratio = float(self.alpha), float(self.l1_ratio)
        return ElasticNet(alpha * (1.0 - l1_ratio), alpha * l1_ratio, n_free=int(self.fit_intercept))

    def _problem(self, rows: Rows) -> Problem:
        return Problem(InterceptRows(rows) if self.fit_intercept else rows, self._loss, self._penalty())

    def _train(self, rows: Rows, start: Array | None = None) -> tuple[Problem, Solution]:
        """Train one model on its rows, from weights that may be near."""
        problem = self._problem(rows)
        return problem, solve(problem, tol=self.tol, max_iter=self.max_iter, start=start, verbose=self.verbose)

    def _certify(self, *trained: tuple[Problem, Solution]) -> None:
        """Certify from the solutions of one problem, or of several: one for each class."""
        check_arithmetic()
        make = CERTIFICATES[self.certificate]
        with single_threaded_blas(trained[0][0].rows.n_features):
            self._keep_certificates(trained, tuple(make(problem, solution) for problem, solution in trained))
        for problem, _ in trained:
            problem.rows.forget()

    def _keep_certificates(
        self, trained: tuple[tuple[Problem, Solution], ...], certificates: tuple[Certificate, ...]
    ) -> None:
        """Keep what was trained and certified, one for each class, as attributes."""
        self._training = trained
        self.n_iter_ = max(solution.n_iter for _, solution in trained)
        self.dual_gap_ = max(solution.gap for _, solution in trained)
        n_columns = trained[0][0].rows.n_features
        d = n_columns - self.fit_intercept
        bounds = np.stack([certificate.score_bounds(np.eye(n_columns)) for certificate in certificates])
        intercept_bounds = bounds[:, d] if self.fit_intercept else np.zeros((len(trained), 2))
        self.certificate_: Certificate | tuple[Certificate, ...] = certificates
        self.coef_bounds_, self.intercept_bounds_ = bounds[:, :d], intercept_bounds
        if len(trained) == 1:
            self.certificate_, self.coef_bounds_ = certificates[0], bounds[0, :d]
            self.intercept_bounds_ = intercept_bounds[0]
        weights = np.stack([solution.w for _, solution in trained])
        self._keep(weights[:, :d], weights[:, d] if self.fit_intercept else np.zeros(len(trained)))

    def _keep(self, coef: Array, intercept: Array) -> None:
        """Keep the weights and the intercept of each model as attributes."""
        raise NotImplementedError

    @property
    def _certificates(self) -> tuple[Certificate, ...]:
        return self.certificate_ if isinstance(self.certificate_, tuple) else (self.certificate_,)

    def _by_model(self, parts: list[Array]) -> Array:
        """Return the bounds of one model as they are, (m, 2), those of several as (m, n_classes, 2)."""
        return parts[0] if len(parts) == 1 else np.stack(parts, axis=1)

    def _score_bounds(self, X: Any) -> Array:
        """Bound the scores of rows, holes of their own included."""
        center, cells, choices = self._extended(self._read_uncertain_rows(X))
        first = self._certificates[0]
        if first.name == "pointwise" and not first.note and not hasattr(self, "_training"):
            warn_user(
                "Pointwise bounds need the training table; a model that was loaded from a file, unpickled or copied "
                "has none, so these are the bounds of 'tight'. Call fit again for pointwise bounds.",
                UserWarning,
            )
        coef_bounds = self.coef_bounds_.reshape(len(self._certificates), -1, 2)
        with single_threaded_blas(center.shape[1]):
            parts = [
                bounds_of_uncertain_rows(
                    partial(self._certain_bounds, k),
                    center,
                    cells,
                    coef_bounds[k],
                    choices,
                    0 if self._is_pointwise(k) else MOST_TRIED,
                )
                for k in range(len(self._certificates))
            ]
        return self._by_model(parts)

    def _is_pointwise(self, k: int) -> bool:
        """Whether rows are bounded by retraining for each of them."""
        certificate = self._certificates[k]
        return certificate.name == "pointwise" and not certificate.note and hasattr(self, "_training")

    def _certain_bounds(self, k: int, table: Array) -> Array:
        """Bound the scores of rows without holes under model k."""
        certificate = self._certificates[k]
        if not self._is_pointwise(k):
            return certificate.score_bounds(table)
        problem, solution = self._same_training()[k]
        with Progress(disable=not self.verbose) as bar:
            task = bar.add_task("Retraining for each row", total=len(table))
            return pointwise_bounds(
                problem, solution, certificate, table, lambda done, _: bar.update(task, completed=done)
            )

    def _extended(self, rows: IntervalMatrix) -> tuple[Array, tuple[Indices, Indices, Array], MissingCategories]:
        """Return the center of rows, with the ones that an intercept sees, their uncertain cells and choices."""
        in_row, columns, _, radii = rows.cells(slice(0, rows.shape[0]))
        center = rows.center_rows(slice(0, rows.shape[0]))
        if self.fit_intercept:
            center = np.column_stack([center, np.ones(len(center))])
        return center, (in_row, columns, radii), rows.choices

    # --- what completions attain -------------------------------------------------------------------

    def attained_bounds(self, X: Any, *, return_completions: bool = False) -> Any:
        """Return (m, 2): a lowest and a highest score that fillings of the training table really give.

        With more than two classes, (m, n_classes, 2). Holes of a row in X are filled as well, for each model with the
        ends of their intervals that give its lowest and its highest score.

        Each end is the score of a model trained on one filling, found by a search. So the exact range of the score
        contains these bounds, and is contained in the certified ones: where both are close, both are nearly exact.
        With at most 12 holes in a small table all fillings with every hole at an end of its interval are looked at.
        It retrains many times, and needs the training table: it looks at the one given to `fit`, not at a copy. A
        model that was pickled or comes from a model file has none. Progress is shown if `verbose` is positive.

        Parameters
        ----------
        X : array, DataFrame or IntervalMatrix of shape (m, n_features)
        return_completions : bool, default=False
            Whether to return the fillings too.

        Returns
        -------
        bounds : array of shape (m, 2)
        completions : list of m pairs
            Only if asked for: the fillings of the training table that give the lower and the upper end of each row;
            with more than two classes, lists of such pairs, one for each class. ``table()`` of one is
            the filled training table, ``positions`` is -1, 0 or 1 for each hole, row by row: at the lower end, the
            middle or the upper end of its interval (holes whose interval is a point have none); then the number of
            the level for each missing category. If there is a `scaling_`, the table is scaled. Where labels are
            uncertain, ``targets()`` and ``weights()`` are those of the filling; a row of unknown class is in the table
            twice, and one of the two has no weight.

        Examples
        --------
        >>> import numpy as np
        >>> from ipub import BoundedRegressor
        >>> X, y = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 1.5], [3.0, 0.5]]), [1.0, 2.0, 3.0, 4.0]
        >>> reg = BoundedRegressor(alpha=1.0, intervals={1: (0.5, 1.5)}).fit(X, y)
        >>> bounds, completions = reg.attained_bounds([[1.5, 1.0]], return_completions=True)
        >>> lowest, highest = completions[0]
        >>> highest.table()[1]
        array([1. , 1.5])
        >>> again = BoundedRegressor(alpha=1.0).fit(highest.table(), y)
        >>> bool(np.isclose(again.predict([[1.5, 1.0]])[0], bounds[0, 1]))
        True
        """
        center, cells, choices = self._extended(self._read_uncertain_rows(X))
        parts = [self._attained(k, center, cells, choices, return_completions) for k in range(len(self._certificates))]
        bounds = self._output(self._by_model([part[0] for part in parts]), X)
        if not return_completions:
            return bounds
        pairs = [part[1] for part in parts]
        return bounds, pairs[0] if len(pairs) == 1 else [list(each) for each in zip(*pairs, strict=True)]

    def _attained(
        self, k: int, center: Array, cells: tuple[Indices, Indices, Array], choices: MissingCategories, keep: bool
    ) -> tuple[Array, Any]:
        """Search for what completions attain under model k.

        Missing categories of the rows take the levels that the trained model puts lowest, or highest.
        """
        problem, solution = self._same_training()[k]
        if len(choices):
            ends, pairs = [], []
            for side in (-1.0, 1.0):
                chosen = np.zeros(len(choices), dtype=np.intp)
                for some, levels in choices.by_category():
                    chosen[some] = np.argmax(side * solution.w[levels.columns])
                filled = center.copy()
                choices.put(filled, chosen)
                bounds, completions = self._attained(k, filled, cells, NOTHING_MISSING, keep)
                ends.append(bounds)
                pairs.append(completions)
            mixed = [(low[0], high[1]) for low, high in zip(*pairs, strict=True)]
            return np.column_stack([ends[0][:, 0], ends[1][:, 1]]), mixed
        radius = np.zeros_like(center)
        radius[cells[0], cells[1]] = cells[2]
        with Progress(disable=not self.verbose) as bar:
            task = bar.add_task("Retraining on completions", total=1.0)
            attained = attained_bounds(
                problem,
                solution,
                center,
                radius=radius,
                keep_completions=keep,
                progress=lambda share: bar.update(task, completed=share),
            )
        # The exact score of each completion is inside the certified bounds; retraining is exact up to rounding only.
        coef_bounds = self.coef_bounds_.reshape(len(self._certificates), -1, 2)[k]
        low, high = bounds_of_uncertain_rows(self._certificates[k].score_bounds, center, cells, coef_bounds).T
        inside = np.clip(attained.bounds, low[:, None], high[:, None])
        rounding = np.abs(attained.bounds - inside) <= RETRAINING_ERROR * (1.0 + np.abs(inside))
        return np.where(rounding, inside, attained.bounds), attained.completions

    def _same_training(self) -> tuple[tuple[Problem, Solution], ...]:
        """Return what `fit` trained on and found, if it is still there as it was."""
        if not hasattr(self, "_training"):
            raise NotFittedError(
                "attained_bounds needs the training table, and a model that was loaded from a file, unpickled or "
                "copied has none: call fit again."
            )
        for problem, _ in self._training:
            problem.rows.forget()
        problem, solution = self._training[0]
        now = problem.evaluate(solution.w, solution.dual_loss, solution.dual_w).primal
        if not np.isclose(now, solution.primal, rtol=1e-9, atol=0.0, equal_nan=True):
            raise ValueError(
                "The training table has been changed since fit, which keeps no copy of it: call fit again."
            )
        return self._training

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training table out of pickles, as out of model files."""
        return {name: value for name, value in super().__getstate__().items() if name != "_training"}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
