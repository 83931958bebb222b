"""Small drawings that stand in the lines of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ipub.reports.drawings.svg import Scale, element, figure, finite_range, path, plain

WIDTH = 150.0


def share_bar(share: float, name: str) -> Markup:
    """Draw a share of 1 as a bar."""
    length = max(1.0, 80.0 * share) if share > 0.0 else 0.0
    parts = [element("rect", x=0, y=3, width=80, height=8, class_="bar-ground")]
    if length:
        parts.append(element("rect", x=0, y=3, width=length, height=8, class_="bar"))
    return figure(80.0, 14.0, name, *parts, class_="inline")


def assumed_range(column: Mapping[str, Any]) -> Markup:
    """Draw the assumed interval of a column over the range that was observed."""
    assumed, observed = column["assumed"], column["observed"]
    if assumed is None or not all(map(math.isfinite, assumed)):
        return Markup()
    scale = Scale(*finite_range([*assumed, *(observed or assumed)], 0.0), 4.0, WIDTH - 4.0)
    parts = []
    if observed:
        low, high = map(scale.at, observed)
        parts.append(element("path", d=f"M{plain(low)} 8H{plain(high)}m0 -4v8M{plain(low)} 4v8", class_="observed"))
    low, high = map(scale.at, assumed)
    parts.append(element("rect", x=low, y=5, width=max(2.0, high - low), height=6, class_="assumed"))
    name = f"assumed from {assumed[0]:.6g} to {assumed[1]:.6g}"
    name += f", observed from {observed[0]:.6g} to {observed[1]:.6g}" if observed else ""
    return figure(WIDTH, 16.0, name, *parts, class_="inline")


def metric_range(metric: Mapping[str, Any]) -> Markup:
    """Draw the certified range of a metric as a line, the attained one as a thick one, its value as a stroke.

    Shares are drawn from 0 to 1, others in a range of their own.
    """
    ends = [metric[name] for name in ("lower", "upper", "value") if metric[name] is not None]
    limits = (0.0, 1.0) if all(-1e-9 <= end <= 1.0 + 1e-9 for end in ends) else finite_range(ends, 0.25)
    scale = Scale(*limits, 6.0, 214.0)
    parts = [element("path", d="M6 9H214", class_="grid")]
    low = scale.start if metric["lower"] is None else scale.at(metric["lower"])
    high = scale.end if metric["upper"] is None else scale.at(metric["upper"])
    parts.append(element("path", d=f"M{plain(low)} 9H{plain(high)}m0 -4v8M{plain(low)} 5v8", class_="line certain"))
    if metric.get("attained_lower") is not None and metric.get("attained_upper") is not None:
        ends = [scale.at(metric[name]) for name in ("attained_lower", "attained_upper")]
        parts.append(element("path", d=f"M{plain(ends[0])} 9H{plain(ends[1])}", class_="attained certain"))
    x = scale.at(metric["value"])
    parts.append(path([f"M{plain(x)} 1v16"], "value"))
    return figure(220.0, 18.0, f"{metric['metric']}: {metric['value']:.3g}", *parts, class_="inline")
