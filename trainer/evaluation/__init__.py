"""What a trained model is asked for: scores, text, pictures, exports."""
