"""What the words and numbers of a metric line mean: names, counters, splits, units."""
