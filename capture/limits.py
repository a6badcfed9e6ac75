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
SEARCH_BATCH_TURNS: Final = 100  # turns a transaction: a rebuild that is stopped loses a second of work

# Walks over everything that is pinned
WALK_ROWS: Final = 500  # rows a query: their ids and sizes alone
WALK_BYTES: Final = 32 * MIB  # of stored records in memory at once; a larger one goes alone
LISTED_TURNS: Final = 1_000  # turns that a report names one by one; the others it counts

# Exported hands: a file that is imported comes from anywhere
EXPORT_FILE_BYTES: Final = 1024 * MIB  # a hundred turns of 10 MB; and far below what needs the zip64 form
EXPORT_MEMBERS: Final = 20_000  # turns and envelopes of a hand; zip's own directory holds 65,535
EXPORT_DIRECTORY_BYTES: Final = 4 * MIB  # of the zip's directory: 200 bytes a member
EXPORT_MANIFEST_BYTES: Final = 16 * MIB  # of the manifest's JSON, and of the charges': 800 bytes a member
EXPORT_MEMBER_BYTES: Final = 65 * MIB  # of one record or envelope: a decoded one ends at 64
RECORD_VALUES: Final = (
    100_000  # values of a record's own map, its frozen parts being one each: an SDK's has dozens
)
FROZEN_VALUES: Final = (
    2_000_000  # values of a frozen part: at most 200 MB in memory; an empty list takes one byte
)
PINNED_BY_LENGTH: Final = 1_000  # characters: each import adds a few words to who kept a turn

# Statistics
STATS_PIPELINE_KEYS: Final = 200  # keys a pipeline: a few hundred small answers, or their turns' bytes
STATS_READ_TURNS: Final = (
    100_000  # turns that are read, a minute's work; beyond them these stand for the others
)
STATS_EXACT_ROWS: Final = (
    1_000_000  # rows that are counted one by one; above, Postgres's own estimate is given
)
