"""Over what range metrics and ranks can move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ipub.estimators.questions.asked import Asked
from ipub.tables.new_frames import frame_of
from ipub.training.reading.sources import labels_to_score


class MetricRanges(Asked):
    """Over what range metrics and ranks can move."""

    def score_range(
        self,
        X: Any,
        y: Any,
        scoring: str | Sequence[str] | None = None,
        groups: Any = None,
        *,
        search: bool = True,
    ) -> Any:
        """Return between which values metrics are, whatever the missing values of the training table are.

        A filling gives all rows their scores, and the range knows it: what each row counts for is below a line in its
        score, these lines add up to the score of one made-up row, and of rows that cannot be wrong together only one
        counts as wrong. With more than two classes, whose rows compare
        several models, each row moves by itself, and ranges are wider. `Budget` and `Draws` bound what they promise.

        Parameters
        ----------
        X : array, DataFrame or IntervalMatrix of shape (m, n_features)
            Rows to test on. Missing values of theirs may be anything in the intervals of their columns, each row by
            itself.
        y : array of shape (m,)
            Their labels or targets. A label of a class may be missing (NaN or None): it may then be any class.
        scoring : str or list of str, optional
            ``"accuracy"`` if not given, and ``"r2"`` in a regression. Of two classes ``"accuracy"``,
            ``"balanced_accuracy"``, ``"precision"``, ``"recall"``, ``"f1"``, ``"selection_rate"`` (the share predicted
            to be of ``classes_[1]``), ``"roc_auc"`` (ties count half), ``"neg_log_loss"`` and ``"neg_brier_score"``; of
            more classes ``"accuracy"``, ``"balanced_accuracy"`` and ``"neg_log_loss"``; of a regression ``"r2"``,
            ``"neg_mean_squared_error"`` and ``"neg_mean_absolute_error"``. They are those of scikit-learn's scorers,
            with ``classes_[1]`` as the positive class, and probabilities that are not clipped. Without ``neg_`` a loss
            has its own sign.
        groups : array of shape (m,), optional
            A group for each row, such as the sex of a person: metrics are of each group as well, and the largest
            difference and the least ratio between any two of them. Rows without one are the group "(missing)". Of the
            selection rate these are known as demographic parity, of recall as equal opportunity.
        search : bool, default=True
            Whether fillings are searched for that push the metrics far, for ``.attained_lower`` and
            ``.attained_upper``: up to eight retrainings for each metric, group and side. That needs the training table.

        Returns
        -------
        ScoreRange or DataFrame
            ``.value`` is the metric of the model of `predict`; ``.lower`` and ``.upper`` are certified: for every
            filling (of ``uncertainty="worst"``; else ``.promise`` says what for) the metric of the model trained on it
            is between them. ``.attained_lower`` and ``.attained_upper`` are of models that were trained on fillings, so
            the exact ends are between these and the certified ones; without a search, or the training table, they are
            NaN. A list of metrics, or `groups`, gives a DataFrame of the library of X with a row for each metric and
            group.

            A metric that is not defined for some rows, as recall where no row is of the positive class, is NaN, with a
            warning. Precision is 0 where a model predicts no row to be positive, as in scikit-learn.

        Examples
        --------
        >>> import numpy as np
        >>> from ipub import BoundedClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 3))
        >>> y = X[:, 0] + X[:, 1] > rng.normal(size=300)
        >>> X[:20, 2] = np.nan
        >>> clf = BoundedClassifier(alpha=0.1).fit(X[:200], y[:200])
        >>> found = clf.score_range(X[200:], y[200:])
        >>> found.lower <= clf.score(X[200:], y[200:]) <= found.upper
        True
        >>> frame = clf.score_range(X[200:], y[200:], ["roc_auc", "neg_log_loss"])
        >>> bool((frame["lower"] < frame["upper"]).all())
        True
        """
        from ipub.answers.metrics.known_metrics import metrics_of
        from ipub.answers.metrics.labelled_rows import Group, groups_of, labels_as_numbers
        from ipub.answers.metrics.ranges import ALL_ROWS, score_ranges
        from ipub.answers.metrics.ranges import Asked as AskedMetrics

        training = self.training_
        if scoring is None:
            scoring = "r2" if training.classes is None else "accuracy"
        metrics = metrics_of(training, scoring)
        rows, (labels, _) = self._uncertain_rows(training, X), labels_to_score(X, y)
        m = rows.shape[0]
        numbers = labels_as_numbers(training, labels, m)
        of_rows = [Group(ALL_ROWS, np.arange(m)), *([] if groups is None else groups_of(groups, m))]
        scores = self._scores(training, X)
        found = score_ranges(
            AskedMetrics(
                training,
                rows,
                scores[:, 0] if scores.shape[1] == 1 else scores,
                numbers,
                metrics,
                of_rows,
                self.uncertainty,
                self.effort,
                self.verbose,
                searches=search,
            )
        )
        if isinstance(scoring, str) and groups is None:
            return found[0].range
        columns: dict[str, Any] = {"metric": [each.range.metric for each in found]}
        if groups is not None:
            columns["group"] = [str(each.group) for each in found]
        names = ("value", "lower", "upper", "attained_lower", "attained_upper")
        return frame_of({**columns, **{name: [getattr(each.range, name) for each in found] for name in names}}, like=X)
