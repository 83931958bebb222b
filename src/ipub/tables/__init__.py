"""What is uncertain, and where the rows are."""
