"""The cases of rules: their notation for series, the examples of signatures, and what they must show."""
