"""Elements of SVG: text is always escaped, colours are classes of the page's style."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

STATES = ("certain", "open", "unproved")


def element(name: str, *children: object, **attributes: object) -> Markup:
    """Return an element; ``class_`` is its class, other underscores are hyphens, numbers have two decimals.

    Examples
    --------
    >>> element("text", "a < b", x=1.0, text_anchor="end")
    Markup('<text x="1" text-anchor="end">a &lt; b</text>')
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is not None:
            shown = plain(value) if isinstance(value, float) else escape(value)
            parts.append(f' {key.rstrip("_").replace("_", "-")}="{shown}"')
    inside = "".join(map(escape, children))
    return Markup("".join([*parts, f">{inside}</{name}>" if inside else "/>"]))


def plain(value: float) -> str:
    """Return a coordinate with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"


def figure(width: float, height: float, name: str, *children: object, class_: str = "figure") -> Markup:
    """Return an image with a name for those who do not see it."""
    box = f"0 0 {plain(width)} {plain(height)}"
    return element(
        "svg", *children, viewBox=box, width=width, height=height, role="img", aria_label=name, class_=class_
    )


def path(steps: Iterable[str], class_: str) -> Markup:
    """Return one path of many strokes; nothing if there are none."""
    strokes = "".join(steps)
    return element("path", d=strokes, class_=class_) if strokes else Markup()


def mark(state: str, x: float, y: float, size: float) -> str:
    """Return the shape of a state as strokes of a path: a circle, a triangle or a square, of about the same area."""
    if state == "open":
        r = size * 0.62
        return f"M{plain(x)} {plain(y - 1.05 * r)}l{plain(r)} {plain(1.8 * r)}h{plain(-2 * r)}z"
    if state == "unproved":
        r = size * 0.43
        return f"M{plain(x - r)} {plain(y - r)}h{plain(2 * r)}v{plain(2 * r)}h{plain(-2 * r)}z"
    r = size * 0.5
    arc = f"a{plain(r)} {plain(r)} 0 1 0"
    return f"M{plain(x - r)} {plain(y)}{arc} {plain(2 * r)} 0{arc} {plain(-2 * r)} 0z"


def symbol(state: str) -> Markup:
    """Return the mark of a state, to stand in a line of text beside its name."""
    inside = path([mark(state, 6.0, 6.2, 10.0)], f"mark {state}")
    return element("svg", inside, viewBox="0 0 12 12", width=12, height=12, class_="symbol", aria_hidden="true")


class Scale(NamedTuple):
    """A range of numbers on a range of coordinates."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return where a number is; what is outside is at the end."""
        span = self.high - self.low or 1.0
        share = min(1.0, max(0.0, (value - self.low) / span)) if not math.isnan(value) else 0.0
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Return round numbers within the range."""
        span = self.high - self.low
        if not (span > 0.0 and math.isfinite(span)):
            return [self.low]
        rough = span / most
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(size * each for each in (1.0, 2.0, 5.0, 10.0) if size * each >= rough * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def finite_range(values: Iterable[float], margin: float = 0.03) -> tuple[float, float]:
    """Return a range that holds all finite numbers, with a margin."""
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    more = margin * (high - low or abs(high) or 1.0)
    return low - more, high + more


def horizontal_axis(scale: Scale, y: float, title: str, labels: Sequence[str] | None = None) -> list[Markup]:
    """Return the ticks and the title below a figure."""
    parts = [element("path", d=f"M{plain(scale.start)} {plain(y)}H{plain(scale.end)}", class_="axis")]
    for k, value in enumerate(scale.ticks()):
        x = scale.at(value)
        parts.append(element("path", d=f"M{plain(x)} {plain(y)}v4", class_="axis"))
        shown = labels[k] if labels is not None else f"{value:g}"
        parts.append(element("text", shown, x=x, y=y + 17.0, text_anchor="middle", class_="tick"))
    middle = (scale.start + scale.end) / 2.0
    parts.append(element("text", title, x=middle, y=y + 36.0, text_anchor="middle", class_="title"))
    return parts


def vertical_axis(scale: Scale, left: float, right: float, title: str, is_percent: bool = False) -> list[Markup]:
    """Return grid lines with their numbers, and a title above the figure."""
    parts = []
    for value in scale.ticks(5):
        y = scale.at(value)
        parts.append(element("path", d=f"M{plain(left)} {plain(y)}H{plain(right)}", class_="grid"))
        shown = f"{100.0 * value:g} %" if is_percent else f"{value:g}"
        parts.append(element("text", shown, x=left - 7.0, y=y + 4.0, text_anchor="end", class_="tick"))
    parts.append(element("text", title, x=4.0, y=14.0, class_="title"))
    return parts
