"""The parts of the text reader: from bytes to pieces, from pieces to counters, metrics, facts and events."""
