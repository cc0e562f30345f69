"""The model: layers, HRM, its loss and gradients."""
