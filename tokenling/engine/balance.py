"""The balance of a life: one table of named integers. Meters in millionths, rates per hour, spans in minutes.

A rate is divided by 60 without a rest (checked below), so a tick is exact and any split of time is the same time.
"""

HOUR = 60
DAY = 1_440

# --- meters --------------------------------------------------------------------------------------------------
NEWBORN = {
    "fullness": 620_000,
    "energy": 900_000,
    "mood": 600_000,
    "hygiene": 850_000,
    "warmth": 600_000,
    "bond": 250_000,
}
METER_FLOOR = 40_000
"""A neglected pet grows quiet; no meter ends at nothing."""
SLOW_BELOW = 200_000
"""Under this a meter sinks at a quarter of its rate: a weekend alone is forgiven."""

# rates per hour by stage (egg, hatchling, child, adult)
FULLNESS_AWAKE = (0, 57_000, 51_000, 48_000)
FULLNESS_ASLEEP = (0, 24_000, 21_000, 18_000)
ENERGY_AWAKE = (0, 45_000, 42_000, 39_000)
ENERGY_ASLEEP = (0, 84_000, 78_000, 72_000)
HYGIENE_AWAKE = (0, 18_000, 21_000, 15_000)
HYGIENE_ASLEEP = (0, 6_000, 6_000, 6_000)
WARMTH_PACE = 90_000
MOOD_PACE = 60_000
BOND_LOSS = 480
BOND_FLOOR = 100_000
SLEEPING_MOOD_PACE = 30_000

# --- warmth: what the room gives -----------------------------------------------------------------------------
WARMTH_BY_SEASON = {"winter": 380_000, "spring": 560_000, "summer": 760_000, "autumn": 500_000}
WARMTH_BY_WEATHER = {
    "sun": 60_000, "cloud": 0, "wind": -40_000, "fog": -20_000, "rain": -50_000, "storm": -80_000, "snow": -90_000,
}  # fmt: skip
WARMTH_BY_PLACE = {"nest": 60_000, "window": 0, "hearth": 180_000, "garden": -60_000, "pond": -80_000, "attic": -20_000}
WARMTH_LAMP = 160_000
WARMTH_TUCKED = 220_000
WARMTH_NIGHT = -60_000

# --- sleep ---------------------------------------------------------------------------------------------------
# energy below which it falls asleep, by local hour
SLEEP_BELOW_BY_HOUR = (
    930_000, 930_000, 930_000, 930_000, 930_000, 850_000, 250_000, 120_000, 120_000, 120_000, 120_000, 120_000,
    160_000, 240_000, 160_000, 120_000, 120_000, 120_000, 120_000, 150_000, 220_000, 480_000, 860_000, 930_000,
)  # fmt: skip
# energy above which it may wake, by local hour
WAKE_ABOVE_BY_HOUR = (
    970_000, 970_000, 970_000, 970_000, 970_000, 940_000, 820_000, 600_000, 400_000, 400_000, 400_000, 400_000,
    420_000, 460_000, 420_000, 400_000, 400_000, 400_000, 420_000, 500_000, 640_000, 800_000, 960_000, 970_000,
)  # fmt: skip
WAKE_SLOPE = 90_000
"""Wake chance per tick, in millionths, for each whole meter of energy above the hour's mark."""
WAKE_DISTURBED = 120_000
"""Wake chance per tick at full disturbance."""
WAKE_TUCKED_PERCENT = 50
DISTURB_FADE = 20_000
"""Disturbance lost per tick."""
DISTURB = {"say": 260_000, "feed": 200_000, "wash": 500_000, "tuck": 0, "stroke": 60_000, "lamp": 160_000}
KEPT_UP_MINUTES = 15
"""With its owner this lately about, an untucked pet does not nod off at the hour's mark, whatever the hour …"""
KEPT_UP_SLEEP_BELOW = 220_000
"""… but at this one: a stranger who comes at midnight meets somebody, and a weary pet still sleeps."""
TUCK_SLEEP_BELOW = 800_000
"""Tucked in with less energy than this, it falls asleep at once."""
NAP_ENERGY_MAX = 800_000

# --- growth --------------------------------------------------------------------------------------------------
HATCH_MINUTES = 10
"""An egg nobody touches hatches by itself; the owner's first act hatches it at once."""
GROWTH_PER_CARE = 90
"""Minutes of growth that one care is worth."""
CARE_COUNTS_EVERY_MINUTES = 15
GROWTH_CHILD = 4_320
GROWTH_ADULT = 24_000

# --- care ----------------------------------------------------------------------------------------------------
FEED_FULLNESS = 340_000
FAVOURITE_FULLNESS = 400_000
WASH_HYGIENE = 700_000
TUCK_WARMTH = 120_000
STROKE_MOOD = 40_000
CARE_MOOD = {"feed": 50_000, "wash": 20_000, "tuck": 30_000, "stroke": STROKE_MOOD, "lamp": 0}
CARE_BOND = {"feed": 16_000, "wash": 12_000, "tuck": 12_000, "stroke": 10_000, "lamp": 0}
TALK_MOOD = 20_000
TALK_BOND = 10_000
FAVOURITE_MOOD = 50_000
FEED_SNACKS = 1
"""What is left over from a meal: the pet may eat it later by itself."""
STROKE_ASKS_EVERY_MINUTES = 10
"""Strokes come in dozens; one in ten minutes gets words."""

# --- offers and catch ----------------------------------------------------------------------------------------
OFFER_MINUTES = 180
ACCEPT_FULLNESS = 300_000
ACCEPT_MOOD = {"food": 50_000, "toy": 90_000, "gift": 110_000, "catch": 40_000}
ACCEPT_BOND = {"food": 10_000, "toy": 16_000, "gift": 24_000, "catch": 10_000}
GAME_MINUTES = 3
GAME_MOOD = 120_000
GAME_BOND = 24_000
GAME_ENERGY = -40_000

# --- what the pet does itself: (fullness, energy, mood, hygiene) ---------------------------------------------
ACTION_BODY = {
    "eat": (160_000, 0, 20_000, -10_000),
    "nap": (0, 0, 0, 0),
    "play": (-6_000, -12_000, 50_000, -20_000),
    "wash": (0, -5_000, 10_000, 240_000),
    "explore": (-6_000, -12_000, 40_000, -20_000),
    "sing": (0, -5_000, 30_000, 0),
    "dance": (-6_000, -12_000, 50_000, 0),
    "watch": (0, 0, 20_000, 0),
    "draw": (0, -5_000, 30_000, -10_000),
    "stretch": (0, 10_000, 10_000, 0),
    "hug": (0, 0, 40_000, 0),
    "hide": (0, -5_000, 10_000, -5_000),
    "wake": (0, 0, 0, 0),
}
HUG_BOND = 10_000
HUNGRY_ENOUGH = 900_000
PLAY_ENERGY_MIN = 150_000
SELF_WASH_MAX = 700_000
EXPLORE_FINDS_PPM = 450_000
"""The chance that exploring finds a snack: what keeps a pet alone from an empty bowl."""

# --- wants: the alert of the page ----------------------------------------------------------------------------
WANT_BELOW = {"food": 400_000, "wash": 360_000, "warmth": 260_000, "company": 300_000}
WANT_EVERY_MINUTES = 240
"""A pet asks for something at most once in this time: two or three times a waking day."""
COMPANY_AFTER_MINUTES = 420
WANTS_END_AFTER_MINUTES = 4_320
"""An owner three days away is not called any more: the pet grows quiet."""

# --- the owner's visits --------------------------------------------------------------------------------------
VISIT_GAP_MINUTES = 60
RETURN_GAP_MINUTES = 300
"""After this long away the pet speaks first, whatever the owner does."""
HABIT_DAYS = 2
"""The same hour on this many earlier days makes a habit."""

# --- turns ---------------------------------------------------------------------------------------------------
DIARY_MINUTE = 1_215
"""20:15 local, and a drawn part of `DIARY_SPREAD` more."""
DIARY_SPREAD = 40
MERGE_MINUTES = 30
"""Equal events in a row within this time are one event with a count."""

# --- the sky -------------------------------------------------------------------------------------------------
SEASON_BY_MONTH = (0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0)
WEATHER_HOURS = 3
# weights for sun, cloud, wind, fog, rain, storm, snow
WEATHER_WEIGHTS = {
    "winter": (18, 30, 10, 10, 12, 2, 18),
    "spring": (34, 24, 14, 6, 18, 3, 1),
    "summer": (54, 18, 8, 2, 10, 8, 0),
    "autumn": (22, 28, 16, 14, 16, 4, 0),
}
DAY_PART_BY_HOUR = (
    "night", "night", "night", "night", "night", "dawn", "dawn", "morning", "morning", "morning", "morning", "noon",
    "noon", "noon", "afternoon", "afternoon", "afternoon", "afternoon", "evening", "evening", "evening", "evening",
    "night", "night",
)  # fmt: skip

# --- words from five bands -----------------------------------------------------------------------------------
BANDS = (150_000, 350_000, 650_000, 880_000)

# --- character: percent of a rate, or of a gain --------------------------------------------------------------
# trait: (fullness rate, energy rate, hygiene rate, mood pace, bond gain)
TRAITS = {
    "shy": (100, 100, 90, 90, 80),
    "bold": (105, 105, 110, 105, 110),
    "dreamy": (95, 110, 100, 95, 100),
    "curious": (105, 105, 110, 110, 100),
    "sleepy": (90, 120, 90, 95, 100),
    "greedy": (125, 95, 105, 100, 105),
    "playful": (110, 110, 115, 120, 110),
    "tidy": (100, 100, 70, 100, 100),
    "gentle": (90, 95, 90, 95, 125),
    "cheeky": (110, 100, 120, 115, 100),
    "brave": (100, 90, 105, 105, 105),
    "quiet": (90, 90, 90, 80, 95),
}

for _rates in (FULLNESS_AWAKE, FULLNESS_ASLEEP, ENERGY_AWAKE, ENERGY_ASLEEP, HYGIENE_AWAKE, HYGIENE_ASLEEP):
    assert all(_rate % HOUR == 0 for _rate in _rates)
assert all(_rate % HOUR == 0 for _rate in (WARMTH_PACE, MOOD_PACE, SLEEPING_MOOD_PACE, BOND_LOSS))
