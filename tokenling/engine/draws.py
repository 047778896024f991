"""Chance as a function: SHA-256 over (seed, purpose, key), taken modulo. Never `random`."""

from hashlib import sha256

WAKE_BLOCK_TICKS = 8
"""One digest serves eight minutes of sleep: a digest a tick would cost a quarter of the whole budget."""


def draw(seed: str, purpose: str, key: str, modulo: int) -> int:
    """An integer from 0 to modulo - 1, the same for the same arguments everywhere."""
    return int.from_bytes(sha256(f"{seed}\n{purpose}\n{key}".encode()).digest(), "big") % modulo


def wake_draws(seed: str, block: int) -> tuple[int, ...]:
    """Eight draws in millionths, one for each tick of an eight-tick block (block = tick // 8)."""
    digest = sha256(f"{seed}\nwake\n{block}".encode()).digest()
    return tuple(int.from_bytes(digest[at : at + 4], "big") % 1_000_000 for at in range(0, 32, 4))
