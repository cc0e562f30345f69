"""Which device a run computes on, and how."""
