"""Lines that differ in digits alone, read by column."""
