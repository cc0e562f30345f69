"""The model in C on one CPU thread, for small models."""
