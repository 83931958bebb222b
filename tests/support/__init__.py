"""What test modules share: problems, exact oracles, attacks, and how errors are planted."""
