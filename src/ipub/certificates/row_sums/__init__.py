"""Row sums (section 16 of the theory): a score as a sum over the rows, each at its own worst."""
