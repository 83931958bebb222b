"""A summary as a page, as what a notebook shows, and as Markdown: templates that only show what they are given."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

try:
    import jinja2
    from markupsafe import Markup
except ImportError as error:
    raise ImportError('Reports are rendered with jinja2: pip install "ipub[report]".') from error

from ipub.reports import words
from ipub.reports.compact import compact_rows
from ipub.reports.drawings import bounds, counts, known, lines, shares
from ipub.reports.drawings.svg import symbol

TEMPLATES = Path(__file__).parent / "templates"
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!$@^=])")
"""What means something to Markdown, anywhere in a line."""


def page(summary: Mapping[str, Any]) -> str:
    """Return the report as a page of its own."""
    return _html().get_template("page.html").render(_view(summary), in_notebook=False)


def in_notebook(summary: Mapping[str, Any]) -> str:
    """Return the report as an output of a notebook, in a shadow root that styles of the notebook do not reach."""
    name = f"ipub-report-{secrets.token_hex(8)}"
    return _html().get_template("notebook.html").render(_view(summary), name=name, in_notebook=True)


def markdown(summary: Mapping[str, Any]) -> str:
    """Return the report as Markdown."""
    text = _markdown().get_template("report.md").render(_view(summary))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def escape_markdown(value: Any) -> str:
    r"""Return a text that Markdown shows as it is: no markup, no link, no HTML, no start of a list.

    Examples
    --------
    >>> print(escape_markdown("<b>*1*</b> | https://a.b"))
    \<b\>\*1\*\</b\> \| https:\/\/a.b
    """
    text = SPECIAL.sub(r"\\\1", str(value)).replace("://", r":\/\/")
    text = re.sub(r"\bwww\.", r"www\\.", text, flags=re.IGNORECASE)
    return re.sub(r"^(\d+(?=[.)](?:\s|$))|(?=[+-]))", r"\1\\", text)


def _view(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the templates show: the summary, its figures, and its rows in few bytes."""
    return {**summary, "figures": _figures(summary), "compact": compact_rows(summary)}


def _figures(summary: Mapping[str, Any]) -> dict[str, Any]:
    found = summary["predictions"]
    limits = bounds.limits_of(found)
    made: dict[str, Any] = {
        "by_row": bounds.by_row(found),
        "quadrants": bounds.quadrants(found),
        "n_drawn": len(bounds.drawn_rows(found)),
        "strip": lambda row: bounds.strip(row, limits, found["threshold"], found["quantity"]),
    }
    headline, departures = summary["headline"]["counts"], summary["departures"]
    if headline is not None:
        made |= {"icons": counts.icon_array(headline), "rows_per_mark": counts.rows_per_mark(headline)}
    if "left_out" not in departures:
        made["shares"] = shares.share_areas(departures)
    if "left_out" not in summary["plan"]:
        made["known"] = known.certain_by_known(summary["plan"])
    return made


@cache
def _html() -> jinja2.Environment:
    environment = _environment(autoescape=True)
    read = {name: (TEMPLATES / name).read_text(encoding="utf-8") for name in ("report.css", "report.js")}
    # These are files of this package: no text of a user is in them.
    style = read["report.css"]
    # In a notebook 1rem is whatever its own styles say.
    fixed = re.sub(r"(\d*\.?\d+)rem\b", lambda size: f"{16.0 * float(size[1]):g}px", style)
    environment.globals |= {"style": Markup(style), "style_in_px": Markup(fixed), "script": Markup(read["report.js"])}
    environment.globals |= {"symbol": symbol, "share_bar": lines.share_bar, "assumed_range": lines.assumed_range}
    environment.globals |= {"metric_range": lines.metric_range}
    return environment


@cache
def _markdown() -> jinja2.Environment:
    return _environment(finalize=escape_markdown)


def _environment(**options: Any) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )
    shown: dict[str, Callable[..., Any]] = {
        name: getattr(words, name) for name in ("number", "lower", "upper", "percent", "percent_at_most", "text")
    }
    environment.filters |= {**shown, "n": _integer, "tipping": _tipping}
    return environment


def _integer(value: float | None) -> str:
    """Return a number of things with commas between thousands."""
    return words.NOTHING if value is None else f"{int(value):,}"


def _tipping(bracket: Mapping[str, float]) -> str:
    """Return how many values must differ before a class changes, as a bracket."""
    at_least, at_most = bracket["at_least"], bracket["at_most"]
    if at_least == float("inf"):
        return "none change it (proved)"
    if at_least == at_most:
        return f"{at_least:,.0f}"
    return f"at least {at_least:,.0f}" + (f", at most {at_most:,.0f}" if at_most < float("inf") else "")
