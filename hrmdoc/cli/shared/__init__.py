"""What several commands share: options and what they mean, and the runs that a command line names."""
