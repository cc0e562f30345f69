"""One file per detector: a causal score for every point of a series. The folder is the registry."""
