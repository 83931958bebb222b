"""Everything about some rows on one page."""

from __future__ import annotations

from typing import Any

from ipub.estimators.questions.asked import Asked


class Reporting(Asked):
    """Everything about some rows on one page."""

    def report(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Return a report of what missing values can do to the predictions of some rows; see `ipub.report`.

        Parameters
        ----------
        X : array or DataFrame of shape (m, n_features)
            Rows to predict.
        y : array of shape (m,), optional
            Their labels or targets, for ranges of metrics.
        **options
            `groups`, `labels`, `scoring`, `reasons`, `title` and `context`, as of `ipub.report`.

        Returns
        -------
        Report
            It shows itself in a notebook. ``.html()``, ``.markdown()`` and ``.json()`` return it as text, and
            ``.save("report.html")`` writes it; the suffix says which.

        Examples
        --------
        >>> from ipub import BoundedClassifier
        >>> from ipub.datasets import load_mammographic_masses
        >>> X, y = load_mammographic_masses()
        >>> clf = BoundedClassifier(alpha=0.1, scale="standard").fit(X[:800], y[:800])
        >>> clf.report(X[930:], y[930:])  # doctest: +ELLIPSIS
        Report: Of 31 predictions 27 are certain (proved), 4 open (two fillings disagree; shown), 0 unproved. ...
        """
        import ipub

        return ipub.report(self, X, y, **options)
