"""What can be wrong with an installation: each finding with what was seen, what it means and the remedy.

    capture.E001  a service key entry is malformed
    capture.E002  the capture Redis does not answer                        (check --deploy)
    capture.E003  the capture Redis wants a password, or another one       (check --deploy)
    capture.E004  the capture Redis is loading                             (check --deploy)
    capture.E005  the capture Redis is older than 6.2
    capture.E006  the capture Redis is a replica
    capture.E007  the capture Redis is a node of a cluster
    capture.E008  migrations are missing                                   (check --deploy)
    capture.E009  two service keys are the same
    capture.E010  a service key can be guessed                             (check --deploy)
    capture.W001  the capture Redis does not evict by ``volatile-ttl``
    capture.W002  the capture Redis has no ``maxmemory``
    capture.W003  neither could be looked up
    capture.W004  the capture Redis holds keys of somebody else
    capture.W005  a service key can be guessed
    capture.W006  migrations could not be looked up                        (check --deploy)

The doctor knows these and its own, ``capture.D…``, see ``capture.doctor``. No finding repeats a key, a password
or the name of a key in Redis. Everything here is pure: facts in, findings out.
"""

from capture.findings.durable import of_missing_migrations, of_unknown_migrations
from capture.findings.finding import Finding
from capture.findings.hot import of_foreign_keys, of_redis_kind, of_redis_settings, of_silent_redis
from capture.findings.keys import of_same_keys, of_weak_keys

__all__ = [
    "Finding",
    "of_foreign_keys",
    "of_missing_migrations",
    "of_redis_kind",
    "of_redis_settings",
    "of_same_keys",
    "of_silent_redis",
    "of_unknown_migrations",
    "of_weak_keys",
]
