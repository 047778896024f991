import dataclasses
import re
from pathlib import Path

import pytest

from tokenling.host import setting_values, settings
from tokenling.host.setting_values import Address
from tokenling.host.settings import PREFIX, TABLE, SettingsRefused, read_settings, show_settings
from tokenling.runtime.row_graph import ROWS_MAX

ROOT = Path(__file__).parents[2]
SECRET = "otter-lamp-42"


@pytest.fixture
def good(tmp_path):
    """The least that a host needs."""
    return {
        "SUBTOKENLING_LISTEN": "127.0.0.1:0",
        "SUBTOKENLING_DB": str(tmp_path / "pets.sqlite"),
        "SUBTOKENLING_MODEL_DIR": str(tmp_path),
        "SUBTOKENLING_ALLOWED_ORIGIN": "https://pets.example",
    }


def problems_of(environ, cores=4):
    with pytest.raises(SettingsRefused) as refused:
        read_settings(environ, cores=cores)
    return refused.value.problems


def test_the_required_settings_are_enough_and_the_rest_have_the_seeds_defaults(good, tmp_path):
    assert settings.Settings(
        listen=Address("127.0.0.1", 0),
        database=tmp_path / "pets.sqlite",
        model_dir=tmp_path,
        precision="q4",
        model_id=None,
        origins=("https://pets.example",),
        threads=2,
        gpu_device=None,
        pets_max=64,
        weather_seed="",
        features=None,
        numerics="exact",
        cpu_lanes=4,
        enrol_code=None,
        allowed_hosts=None,
    ) == (read_settings(good, cores=8).settings)


def test_every_wrong_setting_is_listed_in_one_go_each_on_one_line(good):
    bad = good | {"SUBTOKENLING_LISTEN": "8460", "SUBTOKENLING_THREADS": "0", "SUBTOKENLING_MODEL_DTYPE": "q5"}
    del bad["SUBTOKENLING_DB"]
    problems = problems_of(bad)
    assert [PREFIX + name for name in ("LISTEN", "DB", "MODEL_DTYPE", "THREADS")] == [p.name for p in problems]
    assert str(problems[2]) == "SUBTOKENLING_MODEL_DTYPE: found 'q5'; allowed: q4, q8 or fp32"
    assert all("\n" not in str(problem) for problem in problems)


@pytest.mark.parametrize("name", ["LISTEN", "DB", "MODEL_DIR", "ALLOWED_ORIGIN"])
def test_a_required_setting_that_is_missing_is_named(good, name):
    del good[PREFIX + name]
    assert [(PREFIX + name, "nothing (it is required)")] == [(p.name, p.found) for p in problems_of(good)]


REFUSED = [
    ("LISTEN", "localhost:8460"),
    ("LISTEN", "127.0.0.1"),
    ("LISTEN", "127.0.0.1:65536"),
    ("LISTEN", "127.0.0.256:80"),
    ("LISTEN", "::1:80"),
    ("LISTEN", "[127.0.0.1]:80"),
    ("LISTEN", "127.0.0.1:-1"),
    ("LISTEN", "127.0.0.1:٣"),
    ("LISTEN", ""),
    ("DB", ""),
    ("DB", "/"),
    ("DB", "/no/such/directory/pets.sqlite"),
    ("MODEL_DIR", ""),
    ("MODEL_DIR", "/no/such/directory"),
    ("MODEL_DTYPE", ""),
    ("MODEL_DTYPE", "Q4"),
    ("MODEL_DTYPE", "int8"),
    ("MODEL_ID", ""),
    ("MODEL_ID", "../up"),
    ("MODEL_ID", "a" * 65),
    ("MODEL_ID", "sprout 0"),
    ("ALLOWED_ORIGIN", "*"),
    ("ALLOWED_ORIGIN", "https://*.example"),
    ("ALLOWED_ORIGIN", "http://pets.example"),
    ("ALLOWED_ORIGIN", "http://127.0.0.1.example"),
    ("ALLOWED_ORIGIN", "http://192.168.0.2"),
    ("ALLOWED_ORIGIN", "https://pets.example/"),
    ("ALLOWED_ORIGIN", "https://pets.example/app"),
    ("ALLOWED_ORIGIN", "https://pets.example?x"),
    ("ALLOWED_ORIGIN", "https://owner@pets.example"),
    ("ALLOWED_ORIGIN", "https://pets.example:99999"),
    ("ALLOWED_ORIGIN", "https://"),
    ("ALLOWED_ORIGIN", "pets.example"),
    ("ALLOWED_ORIGIN", "null"),
    ("ALLOWED_ORIGIN", "ftp://pets.example"),
    ("ALLOWED_ORIGIN", "https://pets.example,,https://b.example"),
    ("ALLOWED_ORIGIN", "https://pets.example, *"),
    ("ALLOWED_ORIGIN", ""),
    ("ALLOWED_ORIGIN", ",".join(f"https://h{n}.example" for n in range(65))),
    ("THREADS", "0"),
    ("THREADS", "-1"),
    ("THREADS", "two"),
    ("THREADS", "1.5"),
    ("THREADS", "257"),
    ("THREADS", " 4"),
    ("GPU_DEVICE", "-1"),
    ("GPU_DEVICE", "cuda:0"),
    ("GPU_DEVICE", ""),
    ("MAX_PETS", "0"),
    ("MAX_PETS", "1000001"),
    ("MAX_PETS", "9" * 400),
    ("WEATHER_SEED", "x" * 65),
    ("WEATHER_SEED", "a\nb"),
    ("WEATHER_SEED", "west wind"),
    ("FEATURES", "lookups"),
    ("FEATURES", '{"a": 1}'),
    ("FEATURES", "[1]"),
    ("FEATURES", '["Look Up"]'),
    ("FEATURES", '["a", "a"]'),
    ("FEATURES", "[" * 50_000),
    ("FEATURES", ""),
    ("NUMERICS", "precise"),
    ("CPU_LANES", "0"),
    ("CPU_LANES", "5"),
    ("BATCH_ROWS", "0"),
    ("BATCH_ROWS", "17"),
    ("BATCH_ROWS", "many"),
    ("BRAIN_PROCESS", "yes"),
    ("BRAIN_PROCESS", "OWN"),
    ("ENROL_CODE", "short"),
    ("ENROL_CODE", "has a space in it"),
    ("ENROL_CODE", "x" * 129),
    ("ALLOWED_HOSTS", "*"),
    ("ALLOWED_HOSTS", "https://pets.example"),
    ("ALLOWED_HOSTS", "pets.example/"),
    ("ALLOWED_HOSTS", "pets.example:443"),
    ("ALLOWED_HOSTS", "::1"),
    ("ALLOWED_HOSTS", "[10.0.0.1]x"),
    ("ALLOWED_HOSTS", "pets example"),
    ("METRICS_LISTEN", "0.0.0.0:9100"),
    ("METRICS_LISTEN", "192.0.2.1:9100"),
    ("METRICS_LISTEN", "9100"),
    ("TRUSTED_PROXIES", "proxy.example"),
    ("TRUSTED_PROXIES", "10.0.0.1/8"),
    ("TRUSTED_PROXIES", ""),
]


@pytest.mark.parametrize(("name", "text"), REFUSED, ids=[f"{name}-{text[:24]!a}" for name, text in REFUSED])
def test_what_is_not_allowed_is_refused_by_name_with_what_is_allowed(good, name, text):
    problems = problems_of(good | {PREFIX + name: text})
    allowed = next(setting.allowed for setting in TABLE if setting.name == name).replace("`", "")
    assert [(PREFIX + name, allowed)] == [(problem.name, problem.allowed) for problem in problems]


ACCEPTED = [
    ("LISTEN", "[::1]:8460", "listen", Address("::1", 8460)),
    ("LISTEN", "0.0.0.0:80", "listen", Address("0.0.0.0", 80)),
    ("MODEL_DTYPE", "fp32", "precision", "fp32"),
    ("MODEL_ID", "sprout-0", "model_id", "sprout-0"),
    ("ALLOWED_ORIGIN", "https://Pets.Example:443", "origins", ("https://pets.example",)),
    ("ALLOWED_ORIGIN", "https://pets.example:8443", "origins", ("https://pets.example:8443",)),
    ("ALLOWED_ORIGIN", "http://localhost:8460, http://[::1]", "origins", ("http://localhost:8460", "http://[::1]")),
    ("ALLOWED_ORIGIN", "http://127.0.0.9:1,http://127.0.0.9:1", "origins", ("http://127.0.0.9:1",)),
    ("THREADS", "1", "threads", 1),
    ("GPU_DEVICE", "0", "gpu_device", 0),
    ("MAX_PETS", "1000000", "pets_max", 1_000_000),
    ("WEATHER_SEED", "west.wind-2", "weather_seed", "west.wind-2"),
    ("FEATURES", '["lookups", "tags"]', "features", ("lookups", "tags")),
    ("FEATURES", "[]", "features", ()),
    ("NUMERICS", "fast", "numerics", "fast"),
    ("CPU_LANES", "4", "cpu_lanes", 4),
    ("BATCH_ROWS", "16", "batch_rows", 16),
    ("BRAIN_PROCESS", "host", "brain_process", "host"),
    ("BRAIN_PROCESS", "own", "brain_process", "own"),
    ("ENROL_CODE", SECRET, "enrol_code", SECRET),
    ("METRICS_LISTEN", "[::1]:0", "metrics_listen", Address("::1", 0)),
    ("TRUSTED_PROXIES", "127.0.0.1, 10.0.0.0/8,::1", "trusted_proxies", ("127.0.0.1/32", "10.0.0.0/8", "::1/128")),
    ("ALLOWED_HOSTS", "Pets.Example, [::1],10.0.0.1", "allowed_hosts", ("pets.example", "[::1]", "10.0.0.1")),
]


@pytest.mark.parametrize(("name", "text", "field", "value"), ACCEPTED)
def test_what_is_allowed_arrives_as_its_value(good, name, text, field, value):
    assert value == getattr(read_settings(good | {PREFIX + name: text}, cores=4).settings, field)


@pytest.mark.parametrize(
    ("cores", "lanes", "threads"), [(1, 1, 1), (2, 2, 1), (3, 3, 1), (4, 4, 1), (7, 4, 1), (8, 4, 2), (64, 4, 4)]
)
def test_unset_there_is_a_lane_for_each_core_up_to_four_and_the_operator_is_told(good, cores, lanes, threads):
    found = read_settings(good, cores=cores)
    assert (lanes, threads) == (found.settings.cpu_lanes, found.settings.threads)
    (told,) = found.choices
    assert told.startswith(f"{lanes} CPU lane")
    assert told.endswith("SUBTOKENLING_CPU_LANES chooses")
    chosen = read_settings(good | {"SUBTOKENLING_CPU_LANES": "1"}, cores=cores)
    assert (1, ()) == (chosen.settings.cpu_lanes, chosen.choices)


def test_the_bound_on_rows_is_the_runtime_s():
    assert ROWS_MAX == setting_values.ROWS_MAX


def test_threads_are_clamped_to_cores_over_lanes_and_the_operator_is_told(good):
    found = read_settings(good | {"SUBTOKENLING_THREADS": "8", "SUBTOKENLING_CPU_LANES": "2"}, cores=4)
    assert found.settings.threads == 2
    assert "SUBTOKENLING_THREADS is 8, but each lane gets 2 threads: 4 cores for 2 lanes" in found.remarks
    one = read_settings(good | {"SUBTOKENLING_THREADS": "2"}, cores=1)
    assert "SUBTOKENLING_THREADS is 2, but each lane gets 1 thread: 1 core for 1 lane" in one.remarks


def test_a_default_that_is_clamped_is_nothing_to_tell(good):
    found = read_settings(good, cores=1)
    assert (1, []) == (found.settings.threads, [remark for remark in found.remarks if "THREADS" in remark])


def test_a_secret_is_neither_in_an_error_nor_in_the_shown_settings(good):
    wrong = SECRET + " \x07"
    assert SECRET not in str(SettingsRefused(problems_of(good | {"SUBTOKENLING_ENROL_CODE": wrong})))
    shown = show_settings(good | {"SUBTOKENLING_ENROL_CODE": SECRET})
    assert ("(set, not shown)", "environment") in [(line.value, line.source) for line in shown]
    assert SECRET not in str(shown)


def test_the_shown_settings_name_every_setting_and_where_it_came_from(good):
    sources = {line.variable: line.source for line in show_settings(good)}
    assert [setting.variable for setting in TABLE] == list(sources)
    assert ("environment", "default", "unset") == (
        sources["SUBTOKENLING_DB"],
        sources["SUBTOKENLING_THREADS"],
        sources["SUBTOKENLING_GPU_DEVICE"],
    )


def test_old_names_unknown_names_and_the_library_path_are_each_told_in_one_line(good):
    stray = {"TOKENLING_DB": "x", "TOKENLING_LISTEN": "y", "SUBTOKENLING_LISTN": "z", "ORT_DYLIB_PATH": "w"}
    remarks = [remark for remark in read_settings(good | stray, cores=4).remarks if "Git" not in remark]
    assert 3 == len(remarks)
    assert remarks[0].startswith("TOKENLING_DB, TOKENLING_LISTEN: old names are not read")
    assert remarks[1] == "SUBTOKENLING_LISTN: no such setting, not read; is SUBTOKENLING_LISTEN meant?"
    assert remarks[2].startswith("ORT_DYLIB_PATH is not needed")


def test_a_database_inside_a_git_checkout_is_told(good, tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep").mkdir()
    found = read_settings(good | {"SUBTOKENLING_DB": str(tmp_path / "deep" / "pets.sqlite")}, cores=4)
    assert any("inside the Git checkout" in remark for remark in found.remarks)


def test_a_refused_value_is_shown_on_one_line_and_cut(good):
    (problem,) = problems_of(good | {"SUBTOKENLING_NUMERICS": "x\n" * 400})
    assert "\n" not in str(problem)
    assert len(str(problem)) < 250


def test_the_settings_page_holds_the_generated_table():
    page = (ROOT / "docs" / "settings.md").read_text()
    between = re.search(r"<!-- settings -->\n(.*?)<!-- /settings -->", page, re.DOTALL)
    assert between is not None
    assert settings.settings_markdown() == between[1], "run: python -m tools.settings_page"


def test_every_setting_that_is_read_is_a_field():
    derived = {"precision_is_set"}  # of MODEL_DTYPE: a GGUF file must know whether it was chosen
    assert len(TABLE) == len({field.name for field in dataclasses.fields(settings.Settings)} - derived)
