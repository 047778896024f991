"""What the pet remembers: at most 64; a new one evicts the least recalled, then the oldest."""

from tokenling.engine.bounds import (
    COUNT_MAX,
    MEMORIES_MAX,
    PROMPT_MEMORIES_MAX,
    PROMPT_MEMORY_BYTES_MAX,
    RECALL_TOPICS_MAX,
    TOPIC_BYTES_MAX,
)
from tokenling.engine.records import replace
from tokenling.engine.state import Memory, State
from tokenling.engine.text import shares_word, words_of

_PLAIN = frozenset(
    (
        "that", "this", "with", "from", "your", "have", "they", "their", "them", "what", "when", "where", "which",
        "like", "likes", "loves", "love", "very", "much", "will", "would", "about", "there", "here", "name", "owner",
        "then", "than", "just", "into", "over", "some", "been", "were", "does", "doing", "make", "made", "today",
        "and", "the", "you", "are", "for", "his", "her", "its", "not", "was", "has", "can", "how", "our", "but",
    )
)  # fmt: skip
"""Words that tell nothing by themselves."""


def topic_of(text: str) -> str:
    """The word that a memory is recalled by: its longest telling word, the first of equals; "" when it has none."""
    words = [word for word in words_of(text) if _tells(word) and len(word.encode()) <= TOPIC_BYTES_MAX]
    return max(words, key=len, default="")


def _tells(word: str) -> bool:
    return len(word) >= 3 and word not in _PLAIN


def with_memory(state: State, text: str, at_ms: int) -> State:
    """The memory kept; one that is there already is recalled instead."""
    if any(memory.text == text for memory in state.memories):
        return recalled(state, (text,))
    memories = state.memories
    if len(memories) >= MEMORIES_MAX:
        weakest = min(range(len(memories)), key=lambda at: (memories[at].recalled, memories[at].at_ms, at))
        memories = memories[:weakest] + memories[weakest + 1 :]
    return replace(state, memories=(*memories, Memory(text, at_ms)))


def recalled(state: State, texts: tuple[str, ...]) -> State:
    """The named memories counted as recalled once more."""
    if not texts:
        return state
    memories = tuple(
        replace(memory, recalled=min(memory.recalled + 1, COUNT_MAX)) if memory.text in texts else memory
        for memory in state.memories
    )
    return replace(state, memories=memories)


def fitting(state: State) -> tuple[Memory, ...]:
    """At most three memories for a prompt: those that share words with the owner's last line, then the newest."""
    said = next((line.text for line in reversed(state.chat) if line.who == "owner"), "")
    heard = frozenset(word for word in words_of(said) if _tells(word))
    newest_first = state.memories[::-1]
    shared = [memory for memory in newest_first if shares_word(memory.text, heard)]
    others = [memory for memory in newest_first if memory not in shared]
    shown: list[Memory] = []
    left = PROMPT_MEMORY_BYTES_MAX
    for memory in shared + others:
        left -= len(memory.text.encode())
        if left < 0 or len(shown) == PROMPT_MEMORIES_MAX:
            break
        shown.append(memory)
    return tuple(shown)


def topics(state: State, shown: tuple[Memory, ...]) -> dict[str, str]:
    """At most four topics that can be recalled and are not `shown` in the prompt already, newest first: topic to
    memory."""
    found: dict[str, str] = {}
    for memory in reversed(state.memories):
        if len(found) == RECALL_TOPICS_MAX:
            break
        topic = topic_of(memory.text)
        if topic and topic not in found and memory not in shown:
            found[topic] = memory.text
    return found
