"""Time: slots, steps, buckets and drawings."""
