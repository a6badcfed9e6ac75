"""The HTTP API under /internal/agent-capture/, for programs with a service key."""
