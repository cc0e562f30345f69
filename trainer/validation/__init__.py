"""HRM against GPT-2 on programming problems, and checkpoints on the benchmarks that people know."""
