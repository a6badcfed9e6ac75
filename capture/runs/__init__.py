"""Capture runs on the server: stored, read back in their order, kept, and looked at as evidence."""
