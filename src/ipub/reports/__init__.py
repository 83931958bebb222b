"""Reports of a fitted model: one summary, as a page, as Markdown and as JSON."""
