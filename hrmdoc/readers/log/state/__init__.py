"""What is known while a log is read, by rank, and what was found so far."""
