"""Speed and accuracy, measured."""
