"""Capture runs: what any agent saw, decided and did, event by event."""
