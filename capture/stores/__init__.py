"""What the two stores say of themselves: version, memory, clock, migrations. Nothing of what they hold.

For probes, figures, checks and the doctor. A store that does not answer raises ``StoreSilent``, whose text names
neither address nor password.
"""

from capture.stores.asking import Silence, StoreSilent, begin, within
from capture.stores.durable import (
    hands_out_of_step,
    keys_in_force,
    missing_migrations,
    postgres_answers,
    postgres_clock_ahead,
    postgres_version,
)
from capture.stores.hot import RedisFacts, foreign_keys, redis_answers, redis_clock_ahead, redis_facts

__all__ = [
    "RedisFacts",
    "Silence",
    "StoreSilent",
    "begin",
    "foreign_keys",
    "hands_out_of_step",
    "keys_in_force",
    "missing_migrations",
    "postgres_answers",
    "postgres_clock_ahead",
    "postgres_version",
    "redis_answers",
    "redis_clock_ahead",
    "redis_facts",
    "within",
]
