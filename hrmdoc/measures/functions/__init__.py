"""Functions that expressions call, by idea. The folder is the registry: what is decorated is known."""
