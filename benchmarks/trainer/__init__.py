"""The trainer's speed, the cost of its logs, and what it learns."""
