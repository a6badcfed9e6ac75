"""What recording a turn costs, measured beside a bare minimum and three tracing SDKs: ``make bench``."""
