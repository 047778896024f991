"""Every bound of the engine beside its reason. What a pet holds at all of them at once is below `SAVE_BYTES_MAX`."""

TICK_MS = 60_000
"""Time moves in whole minutes aligned to the epoch."""
MINUTES_OF_DAY = 1_440

TIME_MS_MIN = 946_684_800_000
"""2000-01-01: an executor's clock before that is broken, and zones were stranger then."""
TIME_MS_MAX = 7_258_118_400_000
"""2200-01-01: far enough for a pet, well inside what dates and 2^53 hold."""
INTEGER_MAX = 9_007_199_254_740_991
"""2^53 - 1: what JavaScript's numbers hold exactly."""
COUNT_MAX = 1_000_000_000_000
"""Counters that grow by owner acts or minutes; never reached in a life, and sums of two stay below 2^53."""
METER_MAX = 1_000_000
"""Meters and chances are in millionths."""

GAP_TICKS_MAX = 400 * MINUTES_OF_DAY
"""A longer gap is quiet time in closed form (design section 3)."""
CLOCK_SLACK_MS = 5 * TICK_MS
"""A clock at most this far behind is jitter (NTP steps, two cores): the pet stands still. A guess."""
LATE_SLOTS_MAX = 48
"""Missed idle slots that are lived late one by one: a day at normal chatter (design section 3)."""
LOOK_AHEAD_TICKS_MAX = 180
"""How far `due_ms` looks for the next visible change: about 0.3 ms of work. A guess."""
CANCELS_MAX = 2
"""Owner input may replace a turn this often in a row; the next one is unstoppable (design section 3)."""

NAME_MAX = 24
"""Code points of a pet's name: it stands in every prompt line."""
SEED_MAX = 64
"""Code points of a pet or weather seed: 32 bytes as hexadecimal."""
BRAIN_ID_MAX = 64
ZONE_MAX = 64
"""The longest zone key is below 40 characters."""
TEXT_MAX = 400
"""Code points of what an owner says and of a line that a pet says (design section 5)."""
RAW_TEXT_MAX = 16_000
"""Code points looked at before cleaning: longer text is refused unread. A guess."""
DIARY_TEXT_MAX = 360
"""Code points of a diary page: what 96 text tokens hold, and 366 of them fit the save."""
MEMORY_MAX = 40
"""Code points of a memory: the free text of a tag."""
RAW_REPLY_MAX = 8_000
"""Code points of a model's raw text that are read; 96 text tokens are far shorter."""

ITEM_MAX = 16
"""Characters of what an event is about: a member of a list, an hour; ASCII, since it stands in prompts."""
KEEPSAKE_MAX = 40
"""Bytes of a keepsake's name, which is ours and ASCII."""

CHAT_MAX = 200
MEMORIES_MAX = 64
DIARY_MAX = 366
EVENTS_MAX = 200
EFFECTS_MAX = 32
TREASURES_MAX = 12
"""Toys and gifts the pet keeps: all of the lists fit, and the page can draw that many. A guess."""
SNACKS_MAX = 6
SCORE_MAX = 999
EXTRA_BYTES_MAX = 65_536
"""Unknown fields of a save in all, as canonical JSON."""
SAVE_BYTES_MAX = 1_048_576
SAVE_DEPTH_MAX = 16
"""Nesting of a save; ours needs four."""

PROMPT_LINES_MAX = 8
"""Chat lines in a prompt: a small brain looks no further back."""
PROMPT_IDLE_LINES_MAX = 4
PROMPT_PET_LINES_IN_A_ROW_MAX = 2
PROMPT_MEMORIES_MAX = 3
PROMPT_MEMORY_BYTES_MAX = 200
"""UTF-8 bytes of the memories in a header: with one text token a byte, header and prefix still fit the context."""
TOPIC_BYTES_MAX = 24
"""UTF-8 bytes of a topic to recall: longer words are no topics, for the same reason."""
PROMPT_LATELY_MAX = 3
RECALL_TOPICS_MAX = 4
"""Topics a prompt offers to recall."""
LINE_NEW_TOKENS_MAX = 48
DIARY_NEW_TOKENS_MAX = 96
PROMPT_TODAY_MAX = 8
"""Events in a diary prompt."""
