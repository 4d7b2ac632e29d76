"""Foreign manifests put right: what is wrong, and the few edits that repair it."""
