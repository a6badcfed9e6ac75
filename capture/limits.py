"""Every ceiling of the server side by side, each with its reason. ``docs/limits.md`` repeats them for readers.

Over a limit the API answers 413 (size) or 400 (value), with a message that names it.
"""

from typing import Final

from capture_sdk.keys import ID_MAX_LENGTH
from capture_sdk.wire import CHARGE_NUMBER_MAX

MIB: Final = 1024 * 1024

# Ids and names
ID_LENGTH: Final = (
    ID_MAX_LENGTH  # characters of a table's or agent's id: the width of the columns that hold it
)
KEY_NAME_LENGTH: Final = (
    100  # characters of a service key's name: it is shown in every line of the access log
)
REQUEST_ID_LENGTH: Final = 128  # characters of an X-Request-Id that is taken over; a UUID has 36

# Requests
COMMAND_BYTES: Final = 64 * 1024  # of a command's JSON: it names a hand and an agent; more is a mistake
BATCH_BYTES: Final = 64 * MIB  # of a batch's JSON, decompressed: several prompts of 10 MB
BATCH_ITEMS: Final = 1_000  # items a batch: keeps one within a request's time
BODY_CHUNK_BYTES: Final = (
    256 * 1024
)  # read at a time, so that a bomb is stopped at the limit and not after it

# Reads
RECENT_HANDS: Final = 200  # hands a page: each costs a few buffer reads
RECENT_WALK_HANDS: Final = 20_000  # hands that a page is looked for one by one: ten milliseconds
BUFFER_CHUNK_TURNS: Final = 100  # turns a pipeline: bounds one reply of Redis to a few megabytes
ENVELOPE_BYTES: Final = 64 * MIB  # an envelope's frame that grows beyond this is not ours

# Ledger
CHARGE_NUMBER: Final = CHARGE_NUMBER_MAX  # of one charge, tokens or cost: sums stay within 64 bits
LEDGER_BATCH_ROWS: Final = 500  # rows an INSERT: keeps one statement under a few hundred kilobytes

# Search text
SEARCH_TEXT_BYTES: Final = 256 * 1024  # of one part, in UTF-8: Postgres refuses a tsvector of a megabyte

# Maintenance
REBUILD_CHUNK_HANDS: Final = 2_000  # hands a chunk of a rebuild: writers wait for one at most
LEDGER_LOCK_SECONDS: Final = 1.0  # that a chunk waits for writers, while others queue behind it
LEDGER_LOCK_TRIES: Final = 60  # waits before a rebuild gives up: a writer's transaction takes milliseconds
PRUNE_BATCH_HANDS: Final = 500  # hands a transaction of a pruning: some ten thousand charges
PRUNE_BATCH_ROWS: Final = 5_000  # rows of the access log a transaction
BACKFILL_BATCH_ROWS: Final = 1_000  # pinned turns a transaction
