"""Which missing values matter, and which to find."""

from __future__ import annotations

import warnings
from typing import Any

from ipub.estimators.questions.asked import Asked
from ipub.tables.levels import CategoryWarning


class WhichValues(Asked):
    """Which missing values matter, and which to find."""

    def influence(self, X: Any = None, by: str = "cell") -> Any:
        """Return how much of the width of predictions each missing value of the training table causes.

        Parameters
        ----------
        X : array, DataFrame or IntervalMatrix of shape (m, n_features), optional
            The rows whose predictions count; missing values of their own are at the middle of their intervals. Without
            X it is the rows of the training table, a thousand of them at most, evenly spaced: the model as a whole.
        by : {"cell", "row", "column", "level"}, default="cell"
            Missing values one by one; all of a row, or of a column, together; or every level that a missing category
            may have.

        Returns
        -------
        DataFrame
            Of the library of the training table, the greatest estimates first: ``row`` (the index label, or the
            position) and ``column`` of the training table, and ``level``, as far as `by` says; and

            - ``lower`` and ``upper``, certified: if the value (or all those of the row, or column) becomes known,
              *whatever it is*, the exact range of the score over all fillings of the others is narrower than the range
              over all fillings by at least `lower` and at most `upper`. With ``by="level"`` that is so for this level.
            - ``estimate``: to first order, how far it moves the score by itself. No bound.

            Each is the mean over the rows of X, in units of `decision_function` (of `predict` in a regression), and of
            more than two classes over their scores. `lower` is 0, and `upper` at most the mean width of bounds, where
            more is not proved: for losses whose derivative jumps, an l1 penalty or uncertain labels always, and where
            the penalty is weak. Around the filled-in table of a `Budget` a value is known once it is found to be as
            filled in, and is left out of the budget. There too `lower` is 0, since another value may take its place,
            and `estimate` is what it does beyond the first value that the budget has no room for.

        Examples
        --------
        >>> import numpy as np
        >>> from ipub import BoundedClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 3))
        >>> y = X[:, 0] + X[:, 1] > rng.normal(size=300)
        >>> X[:4, 0] = X[2:9, 2] = np.nan
        >>> clf = BoundedClassifier(alpha=1.0).fit(X[:200], y[:200])
        >>> found = clf.influence(X[200:], by="column")
        >>> found["column"].tolist()
        [2, 0]
        >>> bool((found["lower"] <= found["estimate"]).all() and (found["estimate"] <= found["upper"]).all())
        True
        """
        from ipub.answers.influence import influence_of_values

        training = self.training_
        rows = None if X is None else training.extended(self._uncertain_rows(training, X)).center
        return influence_of_values(training, rows, by, self.verbose)

    def measurement_plan(
        self, X: Any, budget: float | None = None, cost: Any = None, by: str = "cell", *, threshold: float | None = None
    ) -> Any:
        """Return which missing values of the training table to find so that most predictions of X become certain.

        Parameters
        ----------
        X : array, DataFrame or IntervalMatrix of shape (m, n_features)
            The rows whose predictions are to be certain. Missing values of their own stay unknown.
        budget : float, optional
            What the values may cost together: how many may be found, if each costs 1. Without it all are put in order.
        cost : mapping, optional
            ``{column: cost of a value}``, 1 for other columns. A row or a column costs what its values cost together;
            without `cost` each cell, row or column costs 1.
        by : {"cell", "row", "column"}, default="cell"
            What is found at once: a value, all of a row (one visit, one patient), or all of a column.
        threshold : float, optional
            Of a regression: a prediction is certain if it is certain on which side of the threshold it is.

        Returns
        -------
        MeasurementPlan
            ``.cells`` is a DataFrame of what to find, the best first: ``row`` and ``column`` (as far as `by` says),
            ``cost`` and ``total_cost``. The order is greedy, to first order: an estimate of what is best.
            ``.curve`` says for some numbers of known values, ``n_cells``, how many predictions are certain:

            - ``certain_at_least``: *whatever the values are*, and whichever they are: proved. Each value that is found
              may bring other predictions near the boundary between classes, so this number grows late.
            - ``certain_if_as_filled``: if they turn out to be what is filled in now (the middle of the interval, the
              commonest level, or what a `Budget` starts from): proved, by certificates that are made again.
            - ``certain_estimate``: to first order.

            A prediction is certain if all fillings of the values that are left give one class, which may depend on the
            values that were found. Around the filled-in table of a `Budget` a value is known once it is found to be as
            filled in, and both proved numbers are that of ``certain_if_as_filled``.

        Examples
        --------
        >>> import numpy as np
        >>> from ipub import BoundedClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 3))
        >>> y = X[:, 0] + X[:, 1] > rng.normal(size=300)
        >>> X[:20, 0] = X[10:40, 2] = np.nan
        >>> clf = BoundedClassifier(alpha=0.3).fit(X[:200], y[:200])
        >>> plan = clf.measurement_plan(X[200:], budget=10)
        >>> plan.cells["total_cost"].tolist()[-1]
        10.0
        >>> bool((plan.curve["certain_at_least"] <= plan.curve["certain_if_as_filled"]).all())
        True
        """
        from ipub.answers.measuring import plan_of_measurements

        return plan_of_measurements(self._predictions(X, threshold), budget, cost, by, self.verbose)

    def sufficient_cells(
        self, X: Any, share: float = 1.0, *, values: str = "any", threshold: float | None = None
    ) -> Any:
        """Return missing values of the training table that are enough to make predictions of X certain.

        With these known all other missing values of the training table cannot matter: at least this share of the
        predictions is certain, which means that all fillings of the others give one class. That is proved; that no
        smaller set is enough is not: it is the smallest that a search finds.

        Parameters
        ----------
        X : array, DataFrame or IntervalMatrix of shape (m, n_features)
            The rows whose predictions are to be certain.
        share : float, default=1.0
            Share of them that is to be certain.
        values : {"any", "filled_in"}, default="any"
            What they turn out to be: *whatever it is*, and the class of a prediction may depend on it; or what is
            filled in now (the middle of the interval, the commonest level), so that they need only be imputed. A number
            that can bring a prediction from one class to another brings it, at some value, exactly between them, and
            there every other value that moves it matters. So for ``"any"`` and all predictions nothing less is enough
            than all values that move an open one. Around the filled-in table of a `Budget` it is ``"filled_in"``.
        threshold : float, optional
            Of a regression: a prediction is certain if it is certain on which side of the threshold it is.

        Returns
        -------
        DataFrame
            ``row`` and ``column`` of each, those that matter most first; empty if so many predictions are certain
            anyway.

        Examples
        --------
        >>> import numpy as np
        >>> from ipub import BoundedClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 3))
        >>> y = X[:, 0] + X[:, 1] > rng.normal(size=300)
        >>> X[:20, 0] = np.nan
        >>> clf = BoundedClassifier(alpha=1.0).fit(X[:200], y[:200])
        >>> len(clf.sufficient_cells(X[200:]))
        20
        >>> len(clf.sufficient_cells(X[200:], share=0.97, values="filled_in")) < 20
        True
        """
        from ipub.answers.sufficient import sufficient_values

        predictions = self._predictions(X, threshold)
        return predictions.missing.frame(sufficient_values(predictions, share, values, self.verbose))

    def _predictions(self, X: Any, threshold: float | None) -> Any:
        from ipub.answers.open_rows import Predictions

        training = self.training_
        rows = self._uncertain_rows(training, X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CategoryWarning)  # said once, of the rows
            scores = self._scores(training, X)
        return Predictions.of(training, rows, scores, threshold, self.effort)
