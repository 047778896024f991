"""The settings of a native run: the seed's names, defaults and bounds; every wrong one is told."""

import pytest
from native_settings import NativeRefused, read_native

from tokenling.cli.brain_files import shipped_brain_dir

CPU = {"SUBTOKENLING_NATIVE_PROFILE": "cpu"}


def test_the_profile_is_required_and_the_rest_have_the_seeds_defaults(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        NativeRefused, match="PROFILE: found nothing \\(it is required\\); allowed: cpu or gpu or mixed"
    ):
        read_native({})
    found = read_native(CPU)
    assert ((1, 4, 8, 16), 3, 0.0, 850, 5) == (
        found.counts, found.rounds, found.steady_s, found.steady_temperature_milli, found.repetitions
    )  # fmt: skip
    assert {"SUBTOKENLING_MODEL_DIR": str(shipped_brain_dir())} == found.host


REFUSED = [
    ("PROFILE", "cuda"), ("PROFILE", ""), ("COUNTS", ""), ("COUNTS", "0"), ("COUNTS", "1,,4"), ("COUNTS", "65"),
    ("COUNTS", "1 4"), ("ROUNDS", "0"), ("ROUNDS", "101"), ("ROUNDS", "²"), ("STEADY_SECONDS", "301"),
    ("STEADY_SECONDS", "-1"), ("STEADY_SECONDS", "nan"), ("STEADY_TEMPERATURE", "warm"), ("STEADY_TEMPERATURE", "inf"),
    ("OUT", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_a_wrong_setting_is_named_with_what_is_allowed(name, value):
    with pytest.raises(NativeRefused, match=rf"^SUBTOKENLING_NATIVE_{name}: found .*; allowed: "):
        read_native(CPU | {f"SUBTOKENLING_NATIVE_{name}": value})


def test_an_older_receipt_is_never_written_over(tmp_path):
    out = tmp_path / "old.json"
    out.write_text("{}")
    with pytest.raises(NativeRefused, match=r"OUT: found .*not there yet"):
        read_native(CPU | {"SUBTOKENLING_NATIVE_OUT": str(out)})


@pytest.mark.parametrize(("profile", "expected"), [("cpu", None), ("gpu", "3"), ("mixed", "3")])
def test_the_hosts_settings_are_passed_on_and_a_gpu_where_the_profile_has_one(profile, expected):
    environ = {"SUBTOKENLING_NATIVE_PROFILE": profile, "SUBTOKENLING_GPU_DEVICE": "3", "SUBTOKENLING_THREADS": "2"}
    host = read_native(environ).host
    assert (expected, "2") == (host.get("SUBTOKENLING_GPU_DEVICE"), host["SUBTOKENLING_THREADS"])
