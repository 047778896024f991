"""Shorter profiles of the benchmarks whose figures are promises (docs/performance.md has the whole ones)."""

import statistics

import pytest

from tools.bench import key_timing, long_poll, poll

ATTEMPTS = 3
"""A neighbour on the same cores may spoil one or two; a broken promise spoils all."""


def test_a_304_by_the_shell_costs_at_most_seven_tenths_of_one_through_quart():
    shares = []
    while len(shares) < ATTEMPTS and (not shares or min(shares) > poll.SHARE_MAX):
        shares.append(poll.measure(rounds=5, times=60).share)
    assert min(shares) <= poll.SHARE_MAX, shares


def test_parked_long_polls_take_little_memory_wake_at_once_and_let_the_host_stop():
    tries = [long_poll.measure(polls=160)]
    while len(tries) < ATTEMPTS and not tries[-1].kept:
        tries.append(long_poll.measure(polls=160))
    assert tries[-1].memory_bytes <= long_poll.MEMORY_BYTES_MAX * 160 / 1000, str(tries[-1])
    assert tries[-1].kept, [str(found) for found in tries]


async def test_time_does_not_tell_an_unknown_pet_from_a_wrong_key():
    spreads = []
    while len(spreads) < ATTEMPTS and (not spreads or min(spreads) > key_timing.SPREAD_MAX):
        spreads.append((await key_timing.measure(asks=3000)).spread)
    assert min(spreads) <= key_timing.SPREAD_MAX, spreads


async def test_an_unknown_pet_and_a_wrong_key_take_one_lookup_and_one_comparison_each(tmp_path, monkeypatch):
    from tokenling.host import dispatch

    compared = []
    compare = dispatch.hmac.compare_digest
    monkeypatch.setattr(dispatch.hmac, "compare_digest", lambda left, right: compared.append(1) or compare(left, right))
    async with key_timing.house(tmp_path) as (polls, kinds):
        store = polls._pets._store
        for kind, pet_id in kinds.items():
            reads = store.statistics().reads
            compared.clear()
            await key_timing.ask(polls, pet_id)
            assert (1, 1) == (store.statistics().reads - reads, len(compared)), kind


def test_a_planted_difference_would_be_seen():
    medians = {"a": statistics.median([100, 101]), "b": 106.0}
    assert key_timing.Timing(medians).spread == pytest.approx(0.0547, abs=1e-3)
