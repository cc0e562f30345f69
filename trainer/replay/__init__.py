"""Training programs of `hrmdoc replay` that are no HRM. `python -m hrmdoc.trainer.replay.classify CONFIG`."""
