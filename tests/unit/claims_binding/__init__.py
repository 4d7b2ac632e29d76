"""What a claim waits for, and how to see it."""
