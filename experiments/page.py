"""The page of results: Markdown written from measurements, never by hand."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.methods import FIT_ROWS
from experiments.results import METHODS, SettingResult, TableResult

WORDS = {
    "sphere": "sphere (IPUB)",
    "columns": "INewton (weights)",
    "inewton": "INewton (whitened)",
    "tight": "tight",
    "attained": "attained",
}


@dataclass(frozen=True)
class About:
    """Facts about the run that the page states.

    Attributes
    ----------
    command : str
        The command that repeats it.
    version : str
    machines, dates : tuple of str
        Of the measurements, some of which may be older than the page.
    is_quick : bool
        Whether tables were cut.
    figures : str
        Folder of the figures, seen from the page.
    """

    command: str
    version: str
    machines: tuple[str, ...]
    dates: tuple[str, ...]
    is_quick: bool
    figures: str


def write_page(results: Sequence[TableResult], about: About) -> str:
    """Return the page."""
    parts = [_head(about), _summary(results), _data(results)]
    parts += ["## Lengths of the intervals", LENGTHS]
    parts += [f"### {result.name}\n\n{_picture(result, about)}\n\n{_lengths(result)}" for result in results]
    parts += ["## Times", TIMES]
    parts += [f"### {result.name}\n\n{_times(result)}" for result in results]
    parts += ["## Imputation", IMPUTATION]
    parts += [f"### {result.name}\n\n{_imputation(result)}" for result in results]
    parts += [_notes(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


LENGTHS = """\
Median length of the interval of the predicted probability over all test rows, as in the paper's histograms. The last
two lengths are medians over fewer, seeded, rows, for which fillings were searched that move the prediction down and
up and the model was retrained on them: what was *attained*, and *tight* on those same rows. *Narrower*: share of the
test rows on which the interval of the score is narrower. *Over attained*: median, over the rows where both are known,
of the length of the certified interval of the score over the length of the attained one. The exact range lies between
the two, so 1 is perfect. Interval Newton, which the paper does not describe in detail, is here in two forms, both
stronger than plain interval arithmetic: with a box in the coordinates of the weights, and with one in coordinates in
which the Hessian is the identity (whitened), the strongest form known to us. The paper's own histograms are pictures,
so that its lengths cannot be quoted."""

TIMES = """\
Seconds from the table of intervals to the bounds of all test rows, training included, medians of runs in turn, in one
process. Interval Newton is timed with its own start. *Paper*: the ratio IPUB / INewton in the paper's Table 3,
measured on another machine, with other implementations of both, and on the whole data sets. *Attained*: seconds for
the rows measured; *extrapolated* is that time per row, times the number of test rows: it was not measured."""

IMPUTATION = f"""\
What is commonly done about holes, on the rows for which attained ranges are known, over all settings of the table.
Multiple imputation draws the holes from regressions on the other columns (scikit-learn's IterativeImputer with
sample_posterior), fitted for each table on {FIT_ROWS:,} rows drawn at random (all, if it has fewer); it
does not use the intervals.
*Misses*: share of the rows for which retraining on some filling gave a score outside of what the method reports (for
a single number: anything else than it). *Covered*: median share of the attained range that the reported interval
covers; in brackets the lowest and the highest of the settings. A certificate must miss nothing and cover all. *Time*:
median seconds over the settings; *time / tight*: median over the settings of the ratio to `tight`. Certificates bound
all test rows in this time, the others predict only those searched."""


def _head(about: About) -> str:
    quick = "**A quick run: two settings, on tables cut to a few rows; it does not represent the paper's tables.**"
    return (
        "# The paper's experiments, reproduced\n\n"
        f"Written by `{about.command}` (ipub {about.version}); every number below was computed by that command, except "
        f"those called the paper's.\n\nMeasured {' to '.join(dict.fromkeys((about.dates[0], about.dates[-1])))} on: "
        f"{'. And on: '.join(about.machines)}." + (f"\n\n{quick}" if about.is_quick else "")
    )


def _summary(results: Sequence[TableResult]) -> str:
    """Summarize the tables in a few lines."""
    every = [each for result in results for each in result.settings]
    excess = {method: [each.excess(method) for each in every] for method in METHODS}
    paper = [ratio for result in results for each in result.settings if (ratio := each.paper_ratio(result.paper_name))]
    missed = sum(int(each.covered(method).exceeded.sum()) for each in every for method in METHODS)
    checked = len(METHODS) * sum(len(each.rows) for each in every)
    times = {
        WORDS[method]: [each.seconds("sphere") / each.seconds(method) for each in every]
        for method in ("columns", "inewton")
    }
    lines = [
        f"The sphere, the paper's method, is narrower on most test rows than {WORDS['columns']} in "
        f"{_wins(every, 'sphere', 'columns')}, and than {WORDS['inewton']} in {_wins(every, 'sphere', 'inewton')}; "
        f"`tight` is narrower than the former in {_wins(every, 'tight', 'columns')}, and than the latter in "
        f"{_wins(every, 'tight', 'inewton')}; on every single test row than the latter in "
        f"{sum(each.narrower('tight', 'inewton') == 1.0 for each in every)} of {len(every)}.",
        "Certified over attained length, median of each setting: "
        + "; ".join(f"{WORDS[method]} {_range(excess[method], '.3g')}" for method in METHODS)
        + ".",
        "Time of the sphere over that of "
        + "; ".join(f"{method}: {_range(ratios, '.1e')}" for method, ratios in times.items())
        + (f"; {_range(paper, '.1e')} in the paper." if paper else "."),
        f"Attained ranges outside of a certified interval: {missed} of {checked:,}.",
    ]
    return "## In short\n\n" + "\n".join(f"- {line}" for line in lines)


def _wins(every: Sequence[SettingResult], method: str, other: str) -> str:
    return f"{sum(each.narrower(method, other) > 0.5 for each in every)} of {len(every)} settings"


def _data(results: Sequence[TableResult]) -> str:
    header = ["table", "training rows", "test rows", "features", "rows and classes used"]
    rows = [[result.name, *(f"{size:,}" for size in result.shape), result.words] for result in results]
    return (
        "## Data\n\nPrepared as in the paper's Appendix B: values beyond the 0.5 and 99.5 percentiles of the training "
        "part are moved there, and each feature is brought to [0, 1]. A share b of the training cells, at random, is "
        "missing; each lies between the (1 - a)/2 and the (1 + a)/2 quantile of its column. Logistic loss, L2 "
        "penalty λ, no intercept.\n\n" + markdown_table(header, rows)
    )


def _picture(result: TableResult, about: About) -> str:
    return f"![Histograms of the lengths on {result.name}]({about.figures}/{result.slug}.png)"


def _lengths(result: TableResult) -> str:
    compared = (("sphere", "columns"), ("sphere", "inewton"), ("tight", "inewton"))
    header = ["λ", "b", "a", *(WORDS[method] for method in METHODS), "tight, same rows", WORDS["attained"]]
    header += [f"{one} narrower than {WORDS[other]}" for one, other in compared]
    rows, ratios = [], []
    for each in result.settings:
        lengths = [*(each.lengths(method) for method in METHODS), each.lengths("tight")[each.rows]]
        medians = [f"{np.median(values):.2e}" for values in (*lengths, each.lengths("attained"))]
        shares = [f"{each.narrower(*pair):.1%}" for pair in compared]
        rows.append([*_setting(each), *medians, *shares])
        excess = [f"{each.excess(method):.4g}" for method in METHODS]
        ratios.append([*_setting(each), *excess, str(len(each.rows))])
    over = ["λ", "b", "a", *(f"{WORDS[method]}, over attained" for method in METHODS), "rows"]
    return f"{markdown_table(header, rows)}\n\n{markdown_table(over, ratios)}"


def _times(result: TableResult) -> str:
    pairs = [("sphere", "columns"), ("sphere", "inewton"), ("tight", "inewton")]
    header = ["λ", "b", "a", *(f"{WORDS[method]} s" for method in METHODS)]
    header += [f"{one} / {WORDS[other]}" for one, other in pairs]
    header += ["paper: IPUB / INewton", "attained s", "extrapolated to all rows s"]
    rows = []
    for each in result.settings:
        spent = [f"{each.seconds(method):.3g}" for method in METHODS]
        ratios = [f"{each.seconds(one) / each.seconds(other):.1e}" for one, other in pairs]
        paper = each.paper_ratio(result.paper_name)
        attained = float(each.attained.figures["seconds"])
        extrapolated = attained / max(1, len(each.rows)) * result.shape[1]
        searched = [f"{attained:.3g} ({len(each.rows)} rows)", f"{extrapolated:.3g}"]
        rows.append([*_setting(each), *spent, *ratios, "-" if paper is None else f"{paper:.1e}", *searched])
    return markdown_table(header, rows)


def _imputation(result: TableResult) -> str:
    methods = [*dict.fromkeys(name for each in result.settings for name in each.imputation.arrays), *METHODS]
    rows = []
    for method in methods:
        where = [each for each in result.settings if method in each.imputation.arrays or method in METHODS]
        missed = np.concatenate([each.covered(method).exceeded for each in where])
        covered = [float(np.median(each.covered(method).share)) for each in where]
        seconds = [_seconds(each, method) for each in where]
        ratios = [spent / each.seconds("tight") for spent, each in zip(seconds, where, strict=True)]
        note = "" if len(where) == len(result.settings) else f" (in {len(where)} of {len(result.settings)} settings)"
        share = f"{statistics.median(covered):.1%} ({min(covered):.1%} to {max(covered):.1%})"
        times = [f"{statistics.median(seconds):.3g}", f"{statistics.median(ratios):.3g}"]
        rows.append([_method_in_words(method) + note, f"{missed.mean():.1%}", share, *times])
    return markdown_table(["method", "misses", "covered", "time s", "time / tight"], rows)


def _seconds(each: SettingResult, method: str) -> float:
    if method in METHODS:
        return each.seconds(method)
    return float(each.imputation.figures["seconds"][method.split("_")[0]])


def _method_in_words(method: str) -> str:
    """Name a method of imputation: ``multiple20_range`` is the range over 20 imputations."""
    if found := re.fullmatch(r"multiple(\d+)_(\w+)", method):
        what = {"range": "range of the predictions", "pooled": "pooled mean ± 1.96 standard deviations"}[found[2]]
        return f"multiple imputation, T = {found[1]}: {what}"
    return {"single": "single imputation: a number", "complete": "complete cases: a number"}.get(
        method, f"certified: {WORDS.get(method, method)}"
    )


def _notes(results: Sequence[TableResult]) -> str:
    """List the notes of the methods."""
    said: dict[str, list[str]] = {}
    for result in results:
        for each in result.settings:
            for method, note in each.bounds.figures["notes"].items():
                if note:
                    said.setdefault(f"{WORDS[method]}: {note}", []).append(f"{result.name}, {_in_words(each)}")
    if not said:
        return ""
    lines = [f"- {note} ({len(where)} settings, the first {where[0]})" for note, where in said.items()]
    return "## Notes of the methods\n\n" + "\n".join(lines)


def _setting(each: SettingResult) -> list[str]:
    return [f"{each.setting.lam:g}", f"{each.setting.b:g}", f"{each.setting.a:g}"]


def _in_words(each: SettingResult) -> str:
    return "λ = {}, b = {}, a = {}".format(*_setting(each))


def _range(values: Iterable[float], form: str) -> str:
    finite = [value for value in values if np.isfinite(value)]
    if not finite:
        return "unknown"
    return f"{min(finite):{form}} to {max(finite):{form}}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, numbers to the right."""
    is_number: Callable[[str], bool] = lambda cell: bool(re.match(r"[-\d.]", cell))  # noqa: E731
    right = [all(is_number(row[k]) for row in rows) for k in range(len(header))]
    rule = ["---:" if each else "---" for each in right]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *rows))
