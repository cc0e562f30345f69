"""The GPUs of this machine: one file a way to ask for them, and what they say together."""
