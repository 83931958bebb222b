"""Half-balls around references that are tilted towards a row: an upper bound of its score (thm-tilted)."""
