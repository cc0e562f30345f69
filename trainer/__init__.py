"""The HRM trainer: the reference patient of hrmdoc. It meets the agent in files only (the run directory)."""
