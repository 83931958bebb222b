"""Where the rows are: blocks of rows, and sums over them."""
