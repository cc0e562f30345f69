"""The run directory: all that a run writes, and the actions it takes from files."""
