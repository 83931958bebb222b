"""Row sums (sec-row-sums): a score as a sum over the rows, each at its own worst."""
