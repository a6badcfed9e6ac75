"""Every ceiling of the server side by side, each with its reason. ``docs/limits.md`` repeats them for readers.

Over a limit the API answers 413 (size) or 400 (value), with a message that names it.
"""

from typing import Final

from capture_sdk.keys import ID_MAX_LENGTH

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
BUFFER_CHUNK_TURNS: Final = 100  # turns a pipeline: bounds one reply of Redis to a few megabytes
ENVELOPE_BYTES: Final = 64 * MIB  # an envelope's frame that grows beyond this is not ours

# Ledger
CHARGE_NUMBER: Final = (
    10**12
)  # tokens, or millionths of the currency, of one charge: nine million of the largest
#                                still add up within 64 bits
LEDGER_BATCH_ROWS: Final = 500  # rows an INSERT: keeps one statement under a few hundred kilobytes

# Search text
SEARCH_TEXT_BYTES: Final = 256 * 1024  # of one part, in UTF-8: Postgres refuses a tsvector of a megabyte

# Seeding
SEED_ROWS: Final = (
    1_000_000_000  # synthetic charges: ten times what the ledger is made for, and 30 years a second apart
)
SEED_CHUNK_HANDS: Final = (
    10_000  # hands an INSERT: a quarter of a million rows, a few seconds, 100 MB of sorting
)
