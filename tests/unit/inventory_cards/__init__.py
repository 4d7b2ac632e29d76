"""Cards, their use, and who sees whose names."""
