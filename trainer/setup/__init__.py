"""From a configuration to a job that is ready to run."""
