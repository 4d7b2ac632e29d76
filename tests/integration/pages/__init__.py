"""The pages of the inventory."""
