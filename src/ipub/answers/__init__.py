"""What users ask next: attained ranges, flips, effects of columns, which predictions are certain."""
