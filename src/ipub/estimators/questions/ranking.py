"""Who is among the first k rows."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ipub.errors import IpubError
from ipub.estimators.questions.asked import Asked
from ipub.tables.new_frames import frame_of
from ipub.training import Training


class Ranking(Asked):
    """Who is among the first k rows."""

    def top(self, X: Any, k: int, *, label: Any = None) -> Any:
        """Return who is among the k rows with the greatest scores for every filling, for none, or for some.

        The bounds of single scores overlap long before two rows may really change places: the same filling gives both
        their scores, so it is their difference that is bounded, for the pairs nearest to the cut.

        Parameters
        ----------
        X : array, DataFrame or IntervalMatrix of shape (m, n_features)
            Rows to rank. Missing values of theirs may be anything in the intervals of their columns, each row by
            itself.
        k : int
            How many are selected. If there are fewer rows, all of them are in.
        label : class label, optional
            The class whose scores count: ``classes_[1]`` of two classes, if not said otherwise. Of more it must be
            named; the score is then that of this class against the others, as in `decision_function`.

        Returns
        -------
        TopRows
            ``.rows`` is a DataFrame of the library of X, by rank: ``row`` (the index label, or the position),
            ``probability`` (``score`` of losses without, ``prediction`` in a regression) and ``rank`` of the model of
            `predict`; ``best_rank`` and ``worst_rank``: no filling gives the row a place before or after them (proved;
            for another `uncertainty` than ``"worst"``, ``.promise`` says what for); and ``state``: ``"in"`` if it is
            among the first k for every filling, ``"out"`` if for none, and ``"open"`` if neither is proved. Equal
            scores may be in either order: of two equal rows at the cut none is in. ``.above`` is an array of booleans,
            shape (m, m): for which pairs of rows the first is proved to have the greater score.

        Examples
        --------
        >>> import numpy as np
        >>> from ipub import BoundedClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 3))
        >>> y = X[:, 0] + X[:, 1] > rng.normal(size=200)
        >>> X[:30, 2] = np.nan
        >>> top = BoundedClassifier(alpha=0.03).fit(X[:150], y[:150]).top(X[150:], 5)
        >>> top
        The first 5 of 50 rows: 4 in and 42 out whatever the missing values are (proved), 4 open; .rows has each of them
        """
        from ipub.answers.metrics.ranges import promise_of_metrics
        from ipub.answers.ranking import TopRows, possible_ranks

        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise IpubError(f"k is {k!r}: give a whole number of rows, at least 1.")
        training = self.training_
        training.check_certified()
        model, side = _model_and_side(training, label)
        rows, scores = self._uncertain_rows(training, X), side * self._scores(training, X)[:, model]
        bounds = training.score_bounds(rows, effort=self.effort, verbose=self.verbose)
        of_model = bounds if bounds.ndim == 2 else bounds[:, model]
        of_model = of_model if side > 0.0 else -of_model[:, ::-1]
        ranks = possible_ranks(training, rows, scores, of_model, int(k), model, side)
        name, values = _shown(training, scores)
        states, order = ranks.states(int(k)), np.argsort(ranks.rank)
        index = X.index if hasattr(X, "iloc") else np.arange(len(order))
        frame = {
            "row": [index[row] for row in order],
            name: values[order],
            "rank": ranks.rank[order],
            "best_rank": ranks.best[order],
            "worst_rank": ranks.worst[order],
            "state": states[order],
        }
        return TopRows(
            int(k),
            frame_of(frame, like=X),
            ranks.is_above(),
            states,
            *promise_of_metrics(training, self.uncertainty),
        )


def _model_and_side(training: Training, label: Any) -> tuple[int, float]:
    """Return which model gives the score of a class, and whether it is the negative of that."""
    if training.classes is None:
        if label is not None:
            raise IpubError(f"label={label!r} names a class, and this is a regression: leave it out.")
        return 0, 1.0
    classes = training.classes.tolist()
    if label is None and len(classes) == 2:
        return 0, 1.0
    if label not in classes:
        raise IpubError(f"label={label!r} is no class of the model: use one of {', '.join(map(repr, classes))}.")
    number = classes.index(label)
    return (0, 1.0 if number else -1.0) if len(classes) == 2 else (number, 1.0)


def _shown(training: Training, scores: np.ndarray) -> tuple[str, np.ndarray]:
    if training.classes is None:
        return "prediction", scores
    if len(training.classes) == 2 and training.loss.has_probability:
        return "probability", training.loss.link(scores)
    return "score", scores
