"""The past, recorded and shown."""
