"""What a training step changes, and its checkpoints."""
