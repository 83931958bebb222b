"""A report: its summary, and the forms in which it is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ipub.app.files.atomic import check_folder, whole_file
from ipub.app.plain_json import as_json
from ipub.errors import IpubError
from ipub.reports.asked import Options
from ipub.reports.summary import summarize

SUFFIXES = (".html", ".json", ".md")


class Report:
    """What a fitted model says of some rows, and what the missing values can do to it: one file to send.

    `ipub.report` and the estimators' method `report` make it. In a notebook it shows itself.

    Attributes
    ----------
    summary : dict
        Everything that is said, as `json` writes it; ``summary["schema_version"]`` tells its form.
    """

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = summary

    def html(self) -> str:
        """Return a page that needs no network, and no JavaScript to be read. Needs jinja2: the extra ``report``."""
        from ipub.reports.rendering import page

        return page(self.summary)

    def markdown(self) -> str:
        """Return the report as Markdown, in which names and values are text. Needs jinja2: the extra ``report``."""
        from ipub.reports.rendering import markdown

        return markdown(self.summary)

    def json(self) -> str:
        """Return the summary as JSON; what is no finite number is null."""
        return as_json(self.summary)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report, whole or not at all: a page (.html), Markdown (.md) or JSON (.json)."""
        form = check_path(path)
        text = {".html": self.html, ".md": self.markdown, ".json": self.json}[form]()
        with whole_file(path) as file:
            file.write(text.encode("utf-8"))

    def __repr__(self) -> str:
        return f"Report: {self.summary['headline']['sentence']} .save('report.html') writes it."

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows: the page in a shadow root, out of reach of the notebook's styles."""
        try:
            from ipub.reports.rendering import in_notebook
        except ImportError:
            return None
        return in_notebook(self.summary)


def report(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    labels: Any = None,
    scoring: Sequence[str] | None = None,
    reasons: Mapping[Any, Any] | None = None,
    title: str | None = None,
    context: Mapping[str, Any] | None = None,
) -> Report:
    """Report what missing values can do to the predictions of some rows: one page to read, send and repeat.

    Parameters
    ----------
    estimator : BoundedClassifier or BoundedRegressor
        Fitted. Searches for fillings need its training table: one that was loaded from a file gives a shorter report,
        which says what it leaves out.
    X : array or DataFrame of shape (m, n_features)
        Rows to predict.
    y : array of shape (m,), optional
        Their labels or targets, for ranges of metrics.
    groups : array of shape (m,), optional
        A group for each row, for ranges of metrics by group.
    labels : sequence of m names, optional
        Names of the rows, instead of a pandas index or their numbers.
    scoring : list of str, optional
        Metrics, as of `score_range`; the usual ones if left out.
    reasons : mapping, optional
        Why values are missing, ``{column: text}``; columns without one have room for it.
    title : str, optional
    context : mapping, optional
        More that is needed to repeat the report, such as a command or the name of a file: shown among its settings.

    Returns
    -------
    Report
        Of the training table it shows which values are missing, in which rows, and the least and the greatest value of
        each column; no other value of it.

    Examples
    --------
    >>> from ipub import BoundedClassifier
    >>> from ipub.datasets import load_mammographic_masses
    >>> X, y = load_mammographic_masses()
    >>> clf = BoundedClassifier(alpha=0.1, scale="standard").fit(X[:800], y[:800])
    >>> clf.report(X[940:], y[940:]).summary["headline"]["counts"]
    {'certain': 18, 'open': 3, 'unproved': 0}
    """
    options = Options(y, groups, labels, scoring, reasons or {}, title, context or {})
    return Report(summarize(estimator, X, options, estimator.verbose))


def check_path(path: str | os.PathLike[str]) -> str:
    """Return in which form a report is written; raise an error, before any work is done, if it cannot be."""
    form = Path(path).suffix.lower()
    if form not in SUFFIXES:
        raise IpubError(f"{os.fspath(path)} has the suffix {form!r}: use {', '.join(SUFFIXES)}.")
    check_folder(path)
    return form
