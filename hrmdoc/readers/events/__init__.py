"""TensorBoard event files: the wire format, framing with checksums, and one event."""
