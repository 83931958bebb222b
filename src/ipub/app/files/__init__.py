"""Files: tables, fitted models."""
