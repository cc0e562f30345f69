"""What `hrmdoc train`, `hrmdoc evaluate` and `hrmdoc dataset` do."""
