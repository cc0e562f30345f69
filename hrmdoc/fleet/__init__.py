"""Many runs at once: each is examined by itself, on all cores, and what comes back of it is a summary."""
