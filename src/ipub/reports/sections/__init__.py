"""The parts of a summary, one file for each section of the report."""
