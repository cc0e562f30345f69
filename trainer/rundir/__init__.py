"""The run directory: all that a run writes and what it is told through files."""
