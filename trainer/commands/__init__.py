"""What `hrmdoc train`, `hrmdoc evaluate`, `hrmdoc dataset` and `hrmdoc validate` do."""
