"""From symptoms to ranked causes: an exact noisy-OR network, the clues that feed it, and what to look at
next."""
