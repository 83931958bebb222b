"""Figures of a report, as SVG that follows the colours of the page."""
