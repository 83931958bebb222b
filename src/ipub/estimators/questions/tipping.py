"""Why a row is open, and what would change it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.estimators.questions.asked import Asked
from ipub.tables.levels import CategoryWarning
from ipub.training import Training


class Tipping(Asked):
    """Why a row is open, and what would change it."""

    def explain(self, row: Any, *, threshold: float | None = None) -> Any:
        """Explain one prediction: its bounds, what would change it, and which missing values matter.

        Parameters
        ----------
        row : array of shape (n_features,), Series, or table of one row
            Missing values of its own may be anything in the intervals of their columns.
        threshold : float, optional
            Of a regression: the number on whose sides predictions are told apart.

        Returns
        -------
        Explanation
            ``.bounds`` (of the probability, the score or the prediction, as ``.quantity`` says) and ``.status``.
            ``.tipping`` is ``(at_least, at_most)``: how many missing values of the training table must differ from the
            filled-in ones before the class changes; fewer than `at_least` cannot change it (proved), and `at_most` do:
            ``.changes`` lists them, with ``row``, ``column``, ``filled_in`` and ``value``, and ``.filling`` is the
            whole training table with them, whose model was trained and has the other class. (No filling with fewer
            changes was found: there may be one.) ``.top_cells`` are the missing values that alone move the prediction
            most, to first order. ``.parts`` says how much of the width is the row's own, how much the training
            table's. ``.growth`` is the factor by which intervals may grow with a certain row still certain; it takes
            some certificates, and is computed when it is asked for. ``print`` it, or ``.plot()``.

        Notes
        -----
        Values are filled in as the `Budget` of the fit says; without one at the middle of their intervals and the
        commonest level. Observed values, labels and rows stay as they are, whatever a `Budget` allows. With `Draws`,
        or uncertain labels, there is no such table to count from: ``.tipping`` is None, and ``.notes`` say so.

        Examples
        --------
        >>> from ipub import BoundedClassifier
        >>> from ipub.datasets import load_mammographic_masses
        >>> X, y = load_mammographic_masses()
        >>> clf = BoundedClassifier(alpha=0.05, scale="standard").fit(X[:600], y[:600])
        >>> why = clf.explain(X[904])
        """
        from ipub.answers.tipping.explaining import Question, explain_row
        from ipub.estimators.linear_model import unknown_levels

        training = self.training_
        X, label = one_row(row)
        threshold = _threshold(training, threshold, is_required=False)
        with unknown_levels(self) as unknown:  # type: ignore[arg-type]
            center = training.table.filled_rows(X, unknown)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CategoryWarning)  # said once
            scores = self._scores(training, X)
            prediction = self.predict(X)[0]  # type: ignore[attr-defined]
            rows = self._uncertain_rows(training, X)
        asked = Question(
            X,
            rows,
            center,
            label,
            prediction,
            scores,
            threshold,
            _scale(training, scores, threshold),
            self.effort,
            self.verbose,
        )
        return explain_row(training, asked)

    def tipping_points(self, X: Any, *, threshold: float | None = None) -> Any:
        """Return how many missing values must differ from the filled-in ones before predictions change.

        Parameters
        ----------
        X : array, DataFrame or IntervalMatrix of shape (m, n_features)
            Missing values of a row may be anything in their intervals, whatever differs: a row that they alone change
            has 0 and 0.
        threshold : float
            Of a regression, where it is required: predictions change if they cross it.

        Returns
        -------
        TippingPoints
            ``.rows`` is a DataFrame with ``row``, ``at_least`` (fewer missing values cannot change the prediction:
            proved), ``at_most`` (so many do: found by a search that retrains) and ``status``. ``.share`` is the
            tipping share of the table, ``(proved, found)``: the largest share of the missing values that may differ
            with no prediction changed, whichever they are, is between the two (rows that
            their own missing values change are left out). ``.benchmarks`` looks at single columns:
            how many of the rows that are not left out stay as they are, and how many are known to change, if
            all missing values of that column are anything and all others are the filled-in ones. ``print`` it
            for all of this in sentences.

        Notes
        -----
        Values are filled in as the `Budget` of the fit says; without one at the middle of their intervals and the
        commonest level. Observed values, labels and rows stay as they are.

        What is proved is kept: a second call is faster, and has the same numbers; so is `explain`, which says
        infinity where bounds over any filling prove more.

        Examples
        --------
        >>> from ipub import BoundedClassifier
        >>> from ipub.datasets import load_mammographic_masses
        >>> X, y = load_mammographic_masses()
        >>> clf = BoundedClassifier(alpha=0.05, scale="standard").fit(X[:600], y[:600])
        >>> points = clf.tipping_points(X[940:])
        >>> bool((points.rows["at_least"] <= points.rows["at_most"]).all())
        True
        """
        from ipub.answers.tipping.brackets import brackets_of
        from ipub.answers.tipping.of_tables import tipping_points

        training = self.training_
        at = _threshold(training, threshold, is_required=True)
        rows = self._uncertain_rows(training, X)
        brackets = brackets_of(training, rows, at, effort=self.effort, verbose=self.verbose)
        index = list(X.index) if hasattr(X, "iloc") else list(range(rows.shape[0]))
        return tipping_points(brackets, index, _what(training, at), X, self.verbose)

    def shift_grid(
        self,
        X: Any,
        columns: Any,
        deltas: Any,
        *,
        how: Any = "add",
        training_rows: Any = None,
        threshold: float | None = None,
    ) -> Any:
        """Return where predictions tip if missing values of one or two columns are shifted from the filled-in ones.

        The tipping-point analysis of clinical statistics, with proofs: what if values are missing because they are
        lower than those that were observed, and by how much lower would they have to be?

        Parameters
        ----------
        X : array, DataFrame or IntervalMatrix of shape (m, n_features)
            Rows to predict. Missing values of theirs may be anything in their intervals, whatever is shifted.
        columns : column, or list of one or two
            Names, or numbers of an array, of columns with missing values in the training table. A column may be there
            twice, with different `training_rows`.
        deltas : sequence, or list of two of them
            What is added to the filled-in values of each column, in its units: numbers that increase. For a category
            the levels that its missing values take, or None for what is filled in.
        how : {"add", "multiply"}, or a list of two, default="add"
            With ``"multiply"`` filled-in values are multiplied by the deltas.
        training_rows : array, or list of two (or None), optional
            Only missing values of these training rows are shifted, such as those of one class, or one arm of a trial:
            booleans for all rows, or positions.
        threshold : float
            Of a regression, where it is required: predictions tip if they cross it.

        Returns
        -------
        ShiftGrid
            ``.table`` is a DataFrame with a line for each point of the grid and a ``state``: ``"safe"``, no row
            changes its prediction (proved); ``"tips"``, one does (a model was trained); or ``"unproved"``. If
            ``whole_cell`` is true, the first is proved not only at the point, but for every shift halfway to its
            neighbours, even if each value is shifted by another one: where cells of neighbours are so, nothing lies
            between them. ``.states`` and ``.row_states`` are arrays, ``print`` it for sentences, and
            `ipub.plots.ShiftGridDisplay` draws it. All other missing values are the filled-in ones, as in `explain`.
            Rows that their own missing values change, whatever is shifted, are left out, and counted by ``.n_own``.
            Shifted values may leave their intervals: that is the point of the analysis.

        Examples
        --------
        >>> from ipub import BoundedClassifier
        >>> from ipub.datasets import load_mammographic_masses
        >>> X, y = load_mammographic_masses()
        >>> clf = BoundedClassifier(alpha=0.05, scale="standard").fit(X[:300], y[:300])
        >>> grid = clf.shift_grid(X[900:905], 1, [-1.0, 0.0, 1.0])
        >>> grid.table["state"].tolist()
        ['safe', 'safe', 'safe']
        """
        from ipub.answers.tipping.asked_rows import AskedRows
        from ipub.answers.tipping.filled_in import FilledIn
        from ipub.answers.tipping.shift_grids import grid_of

        training = self.training_
        at = _threshold(training, threshold, is_required=True)
        training.check_certified()
        filled = FilledIn.of(training)
        shifts = _shifts(filled.missing, columns, deltas, how, training_rows)
        asked = AskedRows.of(training, self._uncertain_rows(training, X))
        return grid_of(filled, asked, at, shifts, _what(training, at), X, self.verbose)


def _shifts(missing: Any, columns: Any, deltas: Any, how: Any, training_rows: Any) -> Any:
    """Return what is shifted, checked."""
    from ipub.answers.tipping.shifts import Shift

    if not isinstance(columns, list | tuple):
        columns, deltas, training_rows = [columns], [deltas], [training_rows]
    if len(columns) not in (1, 2):
        raise IpubError(f"columns has {len(columns)} columns: give one or two.")
    hows = [how] * len(columns) if isinstance(how, str) else list(how)
    chosen = [None] * len(columns) if training_rows is None else list(training_rows)
    if len(deltas) != len(columns) or len(hows) != len(columns) or len(chosen) != len(columns):
        raise IpubError(
            f"There are {len(columns)} columns: give a list of as many deltas (each a sequence), how and training_rows."
        )
    given = zip(columns, deltas, hows, chosen, strict=True)
    shifts = tuple(Shift.of(missing, *each) for each in given)
    if len(shifts) == 2 and len(np.intersect1d(shifts[0].which, shifts[1].which)):
        raise IpubError("The two columns have missing values in common: choose other columns, or other training_rows.")
    return shifts


def _what(training: Training, threshold: float) -> str:
    """Return what a row does that tips."""
    return "changes its class" if training.classes is not None else f"crosses {threshold:g}"


def one_row(row: Any) -> tuple[Any, Any]:
    """Return a row as a table of one row, and its index label, or 0.

    Examples
    --------
    >>> one_row([1.0, 2.0])
    (array([[1., 2.]]), 0)
    """
    if hasattr(row, "to_frame") and hasattr(row, "iloc") and row.ndim == 1:
        row = row.to_frame().T.infer_objects()
    elif not hasattr(row, "shape"):
        row = np.asarray(row)
    if len(row.shape) == 0:
        raise IpubError("explain takes one row: give a row, such as X[[3]] or X.iloc[[3]].")
    if len(row.shape) == 1:
        row = np.asarray(row)[None]
    if row.shape[0] != 1:
        raise IpubError(f"explain takes one row, and this has {row.shape[0]:,}: give one of them, such as X[:1].")
    return row, row.index[0] if hasattr(row, "iloc") else 0


def _threshold(training: Training, threshold: float | None, *, is_required: bool) -> Any:
    """Return where the score of a row changes its side; None in a regression without a threshold."""
    if training.classes is None:
        if threshold is None and is_required:
            raise IpubError("Say threshold=..., in the units of the target: a prediction tips if it crosses it.")
        return None if threshold is None else float(threshold)
    if threshold is not None:
        raise IpubError(f"threshold={threshold!r} is for a regression: classes change where `predict` does.")
    return 0.0


def _scale(training: Training, scores: NDArray[Any], threshold: float | None) -> Any:
    """Return what is bounded, as users read it."""
    from ipub.answers.tipping.explaining import Scale
    from ipub.estimators.classifier import probability_bounds

    classes, loss = training.classes, training.loss

    def same(values: Any) -> Any:
        return values

    if classes is None:
        return Scale("prediction", lambda s: s[:, 0], same, same, threshold)
    if len(classes) == 2:
        if not loss.has_probability:
            return Scale(f"score of {classes[1]}", lambda s: s[:, 0], same, same, 0.0)

        def of_two(bounds: Any) -> Any:
            return probability_bounds(loss, bounds)

        return Scale(f"probability of {classes[1]}", lambda s: loss.link(s[:, 0]), of_two, of_two, 0.5)
    first = int(np.argmax(scores[0]))
    if not loss.has_probability:
        return Scale(f"score of {classes[first]}", lambda s: s[:, first], lambda b: b[:, first], same, None)

    def value(s: Any) -> Any:
        alone = loss.link(s)
        return alone[:, first] / alone.sum(axis=1)

    def of_all(bounds: Any) -> Any:
        return probability_bounds(loss, bounds)

    return Scale(f"probability of {classes[first]}", value, lambda b: of_all(b)[:, first], of_all, None)
