"""The command line, its output, and the demo."""
