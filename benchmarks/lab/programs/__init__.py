"""Training programs small enough for one CPU thread and a few seconds. Each writes what its framework's users
have."""
