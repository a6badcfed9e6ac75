"""Every ceiling of the server side by side, each with its reason. ``docs/limits.md`` repeats them for readers.

Over a limit the API answers 413 (size) or 400 (value), with a message that names it.
"""

from typing import Final

from capture_sdk.keys import ID_MAX_LENGTH
from capture_sdk.wire import CHARGE_NUMBER_MAX

MIB: Final = 1024 * 1024

# Characters of a table's or agent's id: the width of the columns that hold it.
ID_LENGTH: Final = ID_MAX_LENGTH
# Characters of a service key's name, which stands in every line of the access log.
KEY_NAME_LENGTH: Final = 100
# Characters of an X-Request-Id that is taken over; a UUID has 36.
REQUEST_ID_LENGTH: Final = 128

# Seconds for which a key that the database knew still opens the buffer without it.
KEYS_REMEMBERED_SECONDS: Final = 300
# Keys that a process remembers for that: a few hundred kilobytes.
KEYS_REMEMBERED: Final = 1_000

# Bytes of a command's JSON: it names a hand and an agent; more is a mistake.
COMMAND_BYTES: Final = 64 * 1024
# Bytes of a batch's JSON, decompressed: several prompts of 10 MB.
BATCH_BYTES: Final = 64 * MIB
# Items a batch: keeps one within a request's time.
BATCH_ITEMS: Final = 1_000
# Bytes of a body read at a time, so that a bomb is stopped at the limit and not after it.
BODY_CHUNK_BYTES: Final = 256 * 1024

# Seconds for which nobody waits again for a durable store that has just not answered.
OUTAGE_SECONDS: Final = 2

# Hands a page: each costs a few reads of the buffer.
RECENT_HANDS: Final = 200
# Hands that a page is looked for one by one: ten milliseconds.
RECENT_WALK_HANDS: Final = 20_000
# Newest hands whose clients are asked what they lost, for the figures above the list.
FIGURE_HANDS: Final = 10
# Keys among which envelopes are counted for them: some twenty milliseconds.
FIGURE_KEYS: Final = 20_000
# Turns a pipeline: bounds one reply of Redis to a few megabytes.
BUFFER_CHUNK_TURNS: Final = 100
# Bytes of an envelope: a frame that grows beyond this is not ours.
ENVELOPE_BYTES: Final = 64 * MIB

# Fields of a run that the buffer gives at a time: bounds one reply to a few megabytes.
RUN_CHUNK_FIELDS: Final = 1_000
# Artifacts a pipeline: most are a few kilobytes, and the largest go nearly alone.
RUN_CHUNK_ARTIFACTS: Final = 20
# Rows an INSERT of a kept run: events of a kilobyte or two.
RUN_CHUNK_ROWS: Final = 1_000
# Bytes of an event's body, packed, that comes by HTTP: what is larger belongs into an artifact.
RUN_BODY_BYTES: Final = MIB
# Floors of an event's body: what readers that go down floor by floor come back from.
RUN_BODY_DEPTH: Final = 300
# Events of a run that the API gives at a time: a megabyte or two.
RUN_EVENTS_PAGE: Final = 5_000
# Seconds for which an event may be sent again, as an agent's retries are: what is later in a run is another event.
RUN_SENT_AGAIN_SECONDS: Final = 60
# Runs a page: each costs a reading of its head.
RUN_PAGE: Final = 200
# Agents whose runs in the buffer are looked through where no agent is named: a reading of their lists each.
RUN_LIST_AGENTS: Final = 200
# Runs that a page is looked for one by one: some tenths of a second.
RUN_LIST_LOOKED: Final = 2_000

# Tokens, or millionths of the currency, of one charge: sums of millions of the largest stay within 64 bits.
CHARGE_NUMBER: Final = CHARGE_NUMBER_MAX
# Rows an INSERT: keeps one statement under a few hundred kilobytes.
LEDGER_BATCH_ROWS: Final = 500

# Bytes of one searchable text, in UTF-8: Postgres refuses words that add up to a megabyte.
SEARCH_TEXT_BYTES: Final = 256 * 1024

# Hands a chunk of a rebuild: writers wait for one at most.
REBUILD_CHUNK_HANDS: Final = 2_000
# Seconds that a chunk waits for writers, while others queue behind it.
LEDGER_LOCK_SECONDS: Final = 1.0
# Waits before a rebuild gives up: a writer's transaction takes milliseconds.
LEDGER_LOCK_TRIES: Final = 60
# Hands a transaction of a pruning: some ten thousand charges.
PRUNE_BATCH_HANDS: Final = 500
# Rows of the access log that a transaction of a pruning deletes.
PRUNE_BATCH_ROWS: Final = 5_000
# Kept runs that a transaction of a pruning deletes, each with its events.
PRUNE_BATCH_RUNS: Final = 20
# Pinned turns a transaction of the backfill.
BACKFILL_BATCH_ROWS: Final = 1_000

# Seconds for which a probe waits for a store: more than a connection's own two.
STORE_ANSWER_SECONDS: Final = 3.0
# Threads that may wait for a store at one time: a hung store holds no more than these.
STORE_ASKERS: Final = 8
# Keys looked at for strangers: one SCAN, and a tenth as many at random.
FOREIGN_KEY_SAMPLE: Final = 200
# Newest hands compared with the ledger: twice as many look-ups by index.
HAND_SAMPLE: Final = 200
# Seconds by which clocks may differ before expiry and order become doubtful.
CLOCK_SECONDS: Final = 2.0
# Characters of a service key in the environment: 128 bits need 22 in base64.
SERVICE_KEY_LENGTH: Final = 24
# Different characters in one: 24 random hex digits have fewer 3 times in 100,000.
SERVICE_KEY_VARIETY: Final = 8

# Turns whose text is made in one transaction: a rebuild that is stopped loses a second of work.
SEARCH_BATCH_TURNS: Final = 100

# Rows a query of a walk over everything that is pinned: their ids and sizes alone.
WALK_ROWS: Final = 500
# Bytes of stored records in memory at once on such a walk; a larger one goes alone.
WALK_BYTES: Final = 32 * MIB
# Turns that a report names one by one; the others it counts.
LISTED_TURNS: Final = 1_000

# Bytes of an exported hand: a hundred turns of 10 MB, and far below what needs the zip64 form.
EXPORT_FILE_BYTES: Final = 1024 * MIB
# Turns and envelopes of an exported hand; zip's own directory holds 65,535.
EXPORT_MEMBERS: Final = 20_000
# Bytes of the file's directory: 200 a member.
EXPORT_DIRECTORY_BYTES: Final = 4 * MIB
# Bytes of its manifest's JSON, and of the charges': 800 a member.
EXPORT_MANIFEST_BYTES: Final = 16 * MIB
# Bytes of one record or envelope in it: a decoded one ends at 64 MiB.
EXPORT_MEMBER_BYTES: Final = 65 * MIB
# Values of a record's own map, its frozen parts being one each: an SDK's has dozens.
RECORD_VALUES: Final = 100_000
# Values of a frozen part: at most 200 MB in memory, since an empty list takes one byte.
FROZEN_VALUES: Final = 2_000_000
# Characters of who kept a turn: each import adds a few words.
PINNED_BY_LENGTH: Final = 1_000

# Bytes of a file of recorded runs: read, it takes some ten times as much memory.
IMPORT_FILE_BYTES: Final = 64 * MIB
# Bytes that the members of a zipped log unfold to, all together: what a file may have that is not zipped.
IMPORT_UNFOLDED_BYTES: Final = 64 * MIB
# Bytes of long texts that are put back where a sample refers to them: once for each turn that saw them.
IMPORT_PUT_BACK_BYTES: Final = 256 * MIB
# Members of a zipped log: three for each sample of a large one.
IMPORT_MEMBERS: Final = 20_000
# Values of one JSON text of an imported file: at most some 500 MB in memory.
IMPORT_VALUES: Final = 5_000_000
# Floors of such a text: recorded ones have fewer than 30, and readers recurse.
IMPORT_DEPTH: Final = 200
# Files that one import looks through: a folder with more is given in parts.
IMPORT_FILES: Final = 100_000
# Bytes of an imported value that stands in its event; a larger one is an artifact.
IMPORT_INLINE_BYTES: Final = 16 * 1024

# Keys a pipeline of the statistics: a few hundred small answers, or their turns' bytes.
STATS_PIPELINE_KEYS: Final = 200
# Turns that the statistics read, a minute's work; beyond them these stand for the others.
STATS_READ_TURNS: Final = 100_000
# Rows that are counted one by one; above, Postgres's own estimate is given.
STATS_EXACT_ROWS: Final = 1_000_000

# Hands a statement of the ledger's seeding: a quarter of a million rows, 100 MB of sorting.
SEED_CHUNK_HANDS: Final = 10_000
# Synthetic charges: ten times what the ledger is made for, and 30 years a second apart.
SEED_ROWS: Final = 1_000_000_000

# Bytes of a long text that are shown at a time: three times a usual prompt, and far less than a page can hurt.
WINDOW_BYTES: Final = 65_536
# Lines of it: a text of line ends alone would be a page of megabytes.
WINDOW_LINES: Final = 2_000
# Matches of a search within a text that are counted; beyond it a count says "over".
FIND_COUNTED: Final = 10_000
# Characters of what is looked for in a text: a line's worth.
FIND_LENGTH: Final = 200
# Characters of one value of a turn's card or list, a name or an action, that are shown; the download has all of it.
SHOWN_VALUE: Final = 300
# Bytes of an answer or a reasoning that are shown on a turn's card; its own page has all of it.
SHOWN_TEXT: Final = 65_536
# Characters of one known item, or one message, on a turn's card: a screen of it.
SHOWN_ITEM: Final = 8_192
# Known items, messages or attempts on a turn's card.
SHOWN_ITEMS: Final = 200
# Agents of a hand that the list names.
SHOWN_AGENTS: Final = 24
# Rows of a run's timeline a page: a minute's reading, and a page of some hundred kilobytes.
RUN_ROWS: Final = 100
# Characters of a value in a run's timeline that are shown; its own page has all of it.
RUN_SHOWN_VALUE: Final = 600
# Fields of an event, and artifacts of a field, that its row shows: no kind of ours has more than eight.
RUN_SHOWN_FIELDS: Final = 12
# Bytes of JSON that are laid out for reading: half a second of work; a longer text is read as it was recorded.
RUN_LAYOUT_BYTES: Final = MIB
# Events of a run whose quality report comes with its page; that of a larger one is made when it is asked for.
RUN_REPORTED_EVENTS: Final = 2_000

# Turns that a search gives their text before it looks: a second of work at most; the rest is said to be left out.
SEARCH_NOW_TURNS: Final = 100
# Turns without text that are counted after it; beyond it the count says "at least".
SEARCH_PENDING_COUNTED: Final = 1_000
# Seconds for which Postgres looks: a rare phrase of frequent words may take longer, and nobody waits for it.
SEARCH_SECONDS: Final = 3.0
# Texts a page of hits: each is read whole for its excerpt, a quarter of a megabyte at most.
SEARCH_PAGE: Final = 20
# Newest texts that are read one by one before the index is asked: a word in one of a hundred fills its page there.
SEARCH_WALK_TEXTS: Final = 2_000
# Bytes of those: Postgres makes the words of four megabytes in a second.
SEARCH_WALK_BYTES: Final = 2 * 1024 * 1024
# Characters of an excerpt: three lines.
SEARCH_EXCERPT: Final = 320
# Words marked in an excerpt.
SEARCH_MARKS: Final = 40
# Newest hands that are looked through turn by turn.
LIVE_HANDS: Final = 50
# Turns that such a search shows.
LIVE_TURNS: Final = 200
# Seconds that it takes at most, one hand more or less: fifty hands of sixty turns take a second.
LIVE_SECONDS: Final = 1.5

# Seconds for which Postgres adds up the ledger for the charts: two million charges.
CHART_SECONDS: Final = 5.0
# Lines of one chart: more cannot be told apart, by whatever colour, dash and mark.
CHART_SERIES: Final = 12
# MiB in which their waits are sorted before that goes to disk: a million charges.
CHART_SORT_MIB: Final = 64

# Seconds for which the prompts of a list's hands are hashed: what is left is said to be unchecked.
CHECK_SECONDS: Final = 1.5

# Characters of a verdict's note: some twenty lines; a longer story belongs where the team keeps its stories.
VERDICT_NOTE_LENGTH: Final = 2_000
# Verdicts a page, and the turns of which the stores are then asked whether they are still there.
VERDICT_PAGE: Final = 50

# Bytes of each prompt compared line by line, from the first difference on: more than anybody reads.
DIFF_BYTES: Final = 128 * 1024
# Lines of each prompt compared: together with the edits a few million comparisons, half a second at worst.
DIFF_LINES: Final = 4_000
# Edits by which two texts still count as versions of each other, line by line.
DIFF_EDITS: Final = 400
# Characters of changed lines, all together, that are compared one by one: the work grows with their square.
DIFF_CHARACTERS: Final = 32_768
# Edits by which two lines still count as versions of each other, character by character.
DIFF_LINE_EDITS: Final = 100
# Rows of a comparison that are shown: a page of a few hundred kilobytes.
DIFF_ROWS: Final = 600
# Characters of one stretch of a line that are shown; what is left out is counted.
DIFF_STRETCH: Final = 400
# Changes between two knowledges that are shown; all are counted.
KNOWN_CHANGES: Final = 200
# Values, or changes, that are counted: some tenths of a second; beyond it a count says "at least".
KNOWN_COUNTED: Final = 200_000
# Floors of a knowledge that are walked down: below them a value is compared as one.
KNOWN_DEPTH: Final = 16
# Characters of a known value that are shown in a line.
KNOWN_CHARACTERS: Final = 200
# Known values that are looked for in a prompt.
TOLD_VALUES: Final = 500
# Characters of a known text that is looked for: a longer one is a document, and its parts are not traced.
TOLD_LENGTH: Final = 4_096
# Seconds for which known values are looked for in a prompt of any size: the page stays within two.
TOLD_SECONDS: Final = 0.8
# Entries of one known list that are compared with what others knew: a hand has a few hundred actions.
SEEN_ENTRIES: Final = 2_000
# Entries of all turns of a hand that are compared: some tenths of a second.
SEEN_TOTAL: Final = 100_000
# Characters at the end of an answer in which the parsed action is looked for: agents end with it.
SAID_CHARACTERS: Final = 65_536
# Opening braces that may begin the parsed action: each costs one attempt to read it.
SAID_BRACES: Final = 200

# Items of a run's context inventory, over all of its model calls: a tenth of a second.
INVENTORY_ITEMS: Final = 10_000
# Bytes of requests that are taken apart for it, all together: half a second; calls beyond it are named.
INVENTORY_BYTES: Final = 32 * MIB
# Characters of an item that its list shows; the request has all of it.
INVENTORY_PREVIEW: Final = 200

# Events that one line of a quality report names; all are counted.
REPORT_EVENTS: Final = 1_000
# Events that one reason about a branch point names; all are counted.
BRANCH_EVENTS: Final = 20

# Steps of each run between their common beginning and end that are aligned with each other: a third of a second.
COMPARED_STEPS: Final = 600
# Differing items of two context inventories that a comparison names; all are counted.
COMPARED_ITEMS: Final = 2_000
