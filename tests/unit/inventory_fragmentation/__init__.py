"""How broken up cards are, and how that is told."""
