"""What a person runs and reads: the command line, its screen, the demo."""
