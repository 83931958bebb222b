"""Draws of an imputer: the missing values have a law near that of an imputer (thm-draws)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

from sklearn.utils import check_random_state

from ipub.errors import IpubError
from ipub.promises.described import Described, percent_of_success

IMPUTERS = ("hot_deck", "chained")
"""Imputers that are known by name."""

KINDS = (
    f"{', '.join(map(repr, IMPUTERS))}, an imputer of scikit-learn, or a callable that takes X and a "
    "numpy.random.Generator and returns X filled in"
)
"""What an imputer may be, for messages."""

PIECES = 64
"""Into so many pieces half the probabilities are cut: how near a bound of thm-draws-class is."""

MOST_COUNTED = 10_000
"""More draws fail no more often than so many, which is what is said of them: time of exact numbers."""

MOST_RADIUS = 1.0
"""Beyond so many half-widths the neighbourhood of every draw contains the whole interval."""


@dataclass(frozen=True, repr=False)
class Draws(Described):
    """Certified multiple imputation: bounds that hold, with a probability, for laws near that of an imputer.

    The imputer draws `n_draws` fillings of the training table. A model is trained on each, and a certificate bounds the
    models of all tables in a neighbourhood of it: every missing number in its interval, within `radius` half-widths
    from the drawn value. The range over all draws holds with probability ``1 - 2 / (n_draws + 1)`` for each row that is
    chosen before the draws, over the draws and the missing values (thm-draws-score), for every law of the
    missing values that can be coupled to that of the imputer within the neighbourhood. That of an imputer with an error
    of up to `radius` half-widths in every value, in whatever direction and for all of them together, is such a law. One
    with wrong categories is not. For a class fewer draws are enough: of such a law, and a row that is chosen before the
    draws, a class is certain under 37 draws and another one is that of the true table with probability below 1 %.

    The law is that of the missing values given *everything observed, the labels included*. An imputer that does not
    look at the labels has another one if missing values depend on them: the radius is there to make up for that.

    Parameters
    ----------
    imputer : "hot_deck", "chained", imputer of scikit-learn or callable, default="hot_deck"
        ``"hot_deck"`` takes for each missing value a random observed value of its column, ``"chained"`` a random
        observed value among those that rounds of regressions on the other columns find most like it. An imputer of
        scikit-learn must draw at random, as ``IterativeImputer(sample_posterior=True)`` does, and have a parameter
        `random_state`: it is cloned, and fitted to X, for each draw. A callable takes X and a
        ``numpy.random.Generator`` and returns X filled in.
    n_draws : int, default=199
        Number of draws: for bounds of scores 199 for a probability of 99 %, 39 for 95 %, 19 for 90 %; for classes 37
        for 99 %.
    radius : float, default=0.1
        Radius of the neighbourhood, in half-widths of the interval of each cell; 0 for the law of the imputer alone,
        which `fit` warns of.
    cells : int, default=0
        How many missing values may, besides, differ from the drawn ones by any amount inside their intervals, or have
        another level: wherever they are. The loss must be logistic or squared, and the penalty L2; else bounds are
        those of any filling.
    clip : bool, default=False
        Whether values that an imputer draws outside the intervals are moved to the nearer end; the law is then that of
        the values after that. Else they raise an error.
    n_jobs : int or None, default=None
        Number of processes, as in joblib. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the draws; None takes that of the estimator. With an int every fit draws the same.

    Examples
    --------
    >>> from ipub.promises import Draws
    >>> Draws(n_draws=19).probability, Draws(n_draws=37).class_probability
    (0.9, 0.99)
    >>> print(Draws(radius=0).promise)
    With probability 99 %, for each row by itself, chosen before the draws, the score is within its bounds: over 199
    fillings drawn by the imputer 'hot_deck' and over the missing values, if these have, given everything observed, the
    labels included, the law of that imputer. Under the same conditions the probability is at least 1 - m 2/200 for m
    rows together, chosen before the draws.
    """

    imputer: Any = "hot_deck"
    n_draws: int = 199
    radius: float = 0.1
    cells: int = 0
    clip: bool = False
    n_jobs: int | None = None
    random_state: Any = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Draws:
        """Return the object itself: nothing of it changes, and a copy of an imputer would not equal it."""
        return self

    def check(self) -> None:
        """Raise an error if a parameter has a value that it cannot have."""
        imputer = self.imputer
        if isinstance(imputer, str):
            if imputer not in IMPUTERS:
                raise IpubError(f"imputer={imputer!r} is not known: use {KINDS}.")
        elif isinstance(imputer, type):
            raise IpubError(f"imputer is the class {imputer.__name__}: give an object, {imputer.__name__}(...).")
        elif isinstance(imputer, Integral) and not isinstance(imputer, bool):
            raise IpubError(f"imputer is {imputer}: did you mean n_draws={imputer}? An imputer is {KINDS}.")
        elif not (hasattr(imputer, "fit_transform") or callable(imputer)):
            raise IpubError(f"imputer is a {type(imputer).__name__}: use {KINDS}.")
        self._check_n_draws()
        radius = self.radius
        if not isinstance(radius, Real) or isinstance(radius, bool) or not 0.0 <= float(radius) <= MOST_RADIUS:
            raise IpubError(f"radius is {radius!r}: give a number of half-widths from 0 to {MOST_RADIUS:g}.")
        if not isinstance(self.cells, Integral) or isinstance(self.cells, bool) or self.cells < 0:
            raise IpubError(f"cells is {self.cells!r}: give a whole number of missing values, at least 0.")
        if not isinstance(self.clip, bool):
            raise IpubError(f"clip is {self.clip!r}: give True or False.")
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or self.n_jobs == 0):
            raise IpubError(
                f"n_jobs is {self.n_jobs!r}: give a number of processes, -1 for all cores, or None for one."
            )
        try:
            check_random_state(self.random_state)
        except ValueError:
            raise IpubError(
                f"random_state is {self.random_state!r}: give a whole number, at least 0, or None."
            ) from None

    def _check_n_draws(self) -> None:
        if not isinstance(self.n_draws, Integral) or isinstance(self.n_draws, bool) or self.n_draws < 2:
            raise IpubError(
                f"n_draws is {self.n_draws!r}: give a whole number, at least 2. Few draws promise little: 19 are the "
                "least that are sensible, for bounds that hold with probability 90 %; 37 for classes with 99 %."
            )

    @property
    def probability(self) -> float:
        """With which probability, at least, the bounds of one row hold (thm-draws-score)."""
        self._check_n_draws()
        return (self.n_draws - 1) / (self.n_draws + 1)

    @property
    def class_probability(self) -> float:
        """With which probability, at least, no class is certain and wrong (thm-draws-class), to three digits."""
        return float(Decimal(percent_of_success(self._class_failure, digits=3)) / 100)

    @property
    def _class_failure(self) -> Decimal:
        self._check_n_draws()
        return _rounded_up(class_failure(int(self.n_draws)))

    @property
    def name(self) -> str:
        """How messages name the imputer."""
        if isinstance(self.imputer, str):
            return repr(self.imputer)
        return str(getattr(self.imputer, "__name__", type(self.imputer).__name__))

    def stored(self) -> Draws:
        """Return what a model file holds: an imputer by its name."""
        return self if isinstance(self.imputer, str) else replace(self, imputer=self.name, random_state=None)

    @property
    def promise(self) -> str:
        """What the bounds promise of a row, then of several, with all conditions; and what makes laws near."""
        return self.promise_for(1)

    def promise_for(self, n_scores: int, *, is_of_classes: bool = False, labels_may_differ: bool = False) -> str:
        """Return the same for rows with so many scores, one for each of more than two classes (thm-draws-rows).

        If they are scores of classes, it begins with what is promised of a row's class (thm-draws-class). If labels may
        be wrong or unknown, those of the true table are to be among the ones that are allowed for.
        """
        several = f"the {n_scores} scores of each of m rows together" if n_scores > 1 else "m rows together"
        of_scores = f"at least 1 - m {2 * n_scores}/{self.n_draws + 1} for {several}, chosen before the draws"
        percent, conditions = self.percent, self._conditions(labels_may_differ=labels_may_differ)
        if not is_of_classes:
            return (
                f"With probability {percent} %, for each row by itself, chosen before the draws, the score is within "
                f"its bounds: {conditions} Under the same conditions the probability is {of_scores}.{self._nearness}"
            )
        failure = self._class_failure
        return (
            f"With probability {percent_of_success(failure, digits=3)} %, for each row by itself, chosen before the "
            f"draws, it does not happen that a class is certain and another one is that of the true table: "
            f"{conditions} Under the same conditions the probability of that is at least "
            f"1 - m {_three_digits_up(failure)} for m rows together, chosen before the draws; and the score is within "
            f"its bounds with probability {percent} %, for each row by itself, and with {of_scores}.{self._nearness}"
        )

    def promise_of_metric(self, *, labels_may_differ: bool = False) -> str:
        """Return what is promised of the range of a metric of given rows over all draws.

        One metric is as one score (thm-draws-score), several as several rows (thm-draws-rows).
        """
        return (
            f"With probability {self.percent} %, for each metric of given rows by itself, chosen with the rows before "
            f"the draws, the metric is within its range: {self._conditions(labels_may_differ=labels_may_differ)} Under "
            f"the same conditions the probability is at least 1 - k 2/{self.n_draws + 1} for k metrics together, "
            f"chosen before the draws.{self._nearness}"
        )

    @property
    def percent(self) -> str:
        """The probability of thm-draws-score, in per cent, rounded down."""
        self._check_n_draws()
        return percent_of_success(Decimal(2) / (int(self.n_draws) + 1))

    @property
    def _near(self) -> str:
        """How far a law may be from that of the imputer; "" if not at all."""
        if not (self.radius > 0.0 or self.cells):
            return ""
        return f"within {self.radius:g} half-widths" + (
            f", but for at most {self.cells:,} values," if self.cells else ""
        )

    def _conditions(self, *, labels_may_differ: bool) -> str:
        """Return over what a probability is and under which conditions, as the end of its sentence."""
        law = f"a law {self._near} of that imputer's" if self._near else "the law of that imputer"
        labels = (
            ", and if the labels of the true table are among those that are allowed for" if labels_may_differ else ""
        )
        return (
            f"over {self.n_draws} fillings drawn by the imputer {self.name} and over the missing values, if these "
            f"have, given everything observed, the labels included, {law}{labels}."
        )

    @property
    def _nearness(self) -> str:
        """Return a sentence that says what it is to be near the law of the imputer."""
        if not self._near:
            return ""
        others = (
            f", but for at most {self.cells:,} of them, which may be anywhere in their intervals, or of any level"
            if self.cells
            else ""
        )
        return (
            f" A law is {self._near} of the imputer's if it can be coupled to it so that every missing number is in "
            f"its interval, within {self.radius:g} half-widths from the drawn one, and every missing category is the "
            f"drawn one{others}."
        )


def class_failure(n_draws: int) -> Fraction:
    """Bound ``max p^T (1 - p) + (1 - p)^T p`` for T draws from above, exactly (thm-draws-class).

    Examples
    --------
    >>> class_failure(2) >= Fraction(1, 4), float(class_failure(37)) < 0.01 < float(class_failure(36))
    (True, True)
    """
    T = min(n_draws, MOST_COUNTED)
    peak = Fraction(T, T + 1)
    ends = [Fraction(PIECES + k, 2 * PIECES) for k in range(PIECES + 1)]
    bounds = (_missed(T, min(max(low, peak), high)) + _missed(T, 1 - low) for low, high in pairwise(ends))
    return max(bounds)


def _missed(T: int, p: Fraction) -> Fraction:
    """Return the probability that what has probability p happens T times and then does not."""
    return p**T * (1 - p)


def _rounded_up(value: Fraction) -> Decimal:
    """Return at least a fraction."""
    return Context(prec=9, rounding=ROUND_CEILING).divide(Decimal(value.numerator), Decimal(value.denominator))


def _three_digits_up(value: Decimal) -> str:
    return f"{Context(prec=3, rounding=ROUND_CEILING).plus(value):f}"
