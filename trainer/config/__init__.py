"""What a run is configured with: the keys, where their values come from, and the presets."""
