"""A pet lives on a GGUF file: a real host process, from the file to the words and their receipts."""

import json

import httpx
import pytest
from home_process import HomeProcess, Owner
from saves import quiet_save
from test_exit_codes import run
from tiny_gguf import tiny_gguf

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.cli.brain_loader import load_brain
from tokenling.cli.brain_opening import BrainChoice, open_chosen
from tokenling.engine.request import GenerationRequest
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.settings import read_settings
from tokenling.runtime import Cancellation, decode, open_lane, plan_turn


@pytest.fixture(scope="module")
def brain_dir(tmp_path_factory):
    return tiny_gguf(tmp_path_factory.mktemp("brain") / "gguf")


@pytest.fixture(scope="module")
def home(brain_dir, tmp_path_factory):
    with HomeProcess.preview(tmp_path_factory.mktemp("gguf") / "state", "--brain", str(brain_dir)) as home:
        yield home


@pytest.fixture
def release(home):
    return httpx.get(f"{home.address}/api/health", timeout=60, trust_env=False).json()["release"]


@pytest.fixture
def environ(tmp_path, brain_dir):
    return {"SUBTOKENLING_LISTEN": "127.0.0.1:0", "SUBTOKENLING_DB": str(tmp_path / "pets.sqlite"),
            "SUBTOKENLING_MODEL_DIR": str(brain_dir), "SUBTOKENLING_ALLOWED_ORIGIN": "https://pets.example",
            "SUBTOKENLING_THREADS": "1"}  # fmt: skip


def test_a_pet_lives_and_talks_on_a_gguf_file_and_its_turn_is_proved(home, release, brain_dir, tmp_path):
    with Owner(home) as owner:
        owner.adopt(quiet_save(release))
        owner.say("hello little one")
        owner.await_view(lambda view: not view["thinking"] and owner.receipts())
        receipts = owner.receipts()
    assert ("gguf", release) == (receipts[-1]["precision"], receipts[-1]["brainId"])
    assert list(receipts[-1]["files"]) == ["tiny.gguf"]
    receipt = tmp_path / "receipt.json"
    receipt.write_text(json.dumps(receipts[-1]))
    done = run("verify", receipt, "--brain", brain_dir)
    assert (0, "identical\n", "") == (done.returncode, done.stdout, done.stderr)


def test_a_pet_in_the_terminal_talks_with_a_gguf_file(brain_dir, tmp_path):
    done = run("talk", "--brain", brain_dir, "--state", tmp_path / "pet.json", "--seed", "4", "--json",
               stdin="hello little one\n")  # fmt: skip
    assert (0, "") == (done.returncode, done.stderr)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert "turn" in {line["kind"] for line in told}
    assert "failed" not in {line["kind"] for line in told}


def test_its_brain_is_named_by_the_files_digest_and_offers_nothing_to_a_page(home, release):
    assert release.startswith("gguf-")
    answer = httpx.get(f"{home.address}/app/site.json", timeout=60, trust_env=False)
    if answer.status_code == 404:
        pytest.skip("the browser app is not built")
    site = answer.json()
    assert (None, "not_portable", release) == (site["brain"], site["brainMissing"], site["hostBrain"])
    for name in ("tiny.gguf", "tokenizer.json", "config.json"):
        assert 404 == httpx.get(f"{home.address}/brain/{release}/{name}", timeout=60, trust_env=False).status_code


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_it_starts_again_from_the_kept_graph_and_keeps_only_the_one_in_use(environ, tmp_path, numerics):
    environ["SUBTOKENLING_NUMERICS"] = numerics
    kept = tmp_path / "pets.sqlite.graphs"
    stale = kept / ("0" * 64)
    stale.mkdir(parents=True)
    assert 0 == run("serve", "--check", environ=environ).returncode
    (graph,) = kept.iterdir()
    written = (graph / "built.json").stat().st_mtime_ns
    assert 0 == run("serve", "--check", environ=environ).returncode
    assert [graph] == list(kept.iterdir())
    assert written == (graph / "built.json").stat().st_mtime_ns


def test_id_and_features_can_be_set(environ):
    chosen = {"SUBTOKENLING_MODEL_ID": "my-model.1", "SUBTOKENLING_FEATURES": '["lookups"]'}
    brain = load_brain(read_settings(environ | chosen, cores=1).settings)
    assert ("my-model.1", ("lookups",), "gguf") == (brain.brain_id, brain.features, brain.precision)


def test_a_model_that_was_trained_with_a_beginning_gets_it(tmp_path):
    folder = tiny_gguf(tmp_path / "brain", tokenizer="spm-llama")
    brain = open_chosen(BrainChoice(folder))
    plan = plan_turn(GenerationRequest("It rains.", ("a: hi",), "b:", "line", ("[nap]",), {}, 8, 1, 0, 0, 64, 1), brain)
    assert 1 == plan.prompt_ids[0]
    assert "It rains.\na: hi\nb:" == brain.tokenizer.decode(plan.prompt_ids).removeprefix(" ")
    generation = decode(open_lane(brain), plan, cancel=Cancellation())
    assert 1 <= len(generation.token_ids) <= 8


def test_a_database_of_other_pets_is_refused_with_its_own_exit_code(brain_dir, tmp_path):
    with HomeProcess.preview(tmp_path / "state") as shipped:
        brain = httpx.get(f"{shipped.address}/api/health", timeout=60, trust_env=False).json()["release"]
        with Owner(shipped) as owner:
            owner.adopt(quiet_save(brain))
    done = run("preview", "--port", "0", "--state", tmp_path / "state", "--brain", brain_dir)
    assert 4 == done.returncode
    assert brain in done.stderr


REFUSALS = {
    "a precision was chosen": ({"SUBTOKENLING_MODEL_DTYPE": "q4"}, None, "gguf_precision", "SUBTOKENLING_MODEL_DTYPE"),
    "an id that is none": ({"SUBTOKENLING_MODEL_ID": "a"}, "two", "gguf_several", "SUBTOKENLING_MODEL_DIR"),
    "an architecture that pets cannot live on": ({}, "qwen", "model_type_unsupported", "SUBTOKENLING_MODEL_DIR"),
    "a file cut short": ({}, "cut", "tensor_truncated", "blk.1.ffn_down.weight"),
    "no GGUF at all": ({}, "text", "(magic)", "found"),
    "no end of a text": ({}, "endless", "eos_missing", "tokenizer.ggml.eos_token_id"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_stands_in_the_way_is_told_and_ends_with_the_brains_exit_code(case, environ, tmp_path):
    more, spoilt, code, named = REFUSALS[case]
    folder = spoil(tiny_gguf(tmp_path / "brain"), spoilt)
    settings = read_settings(environ | more | {"SUBTOKENLING_MODEL_DIR": str(folder)}, cores=1).settings
    with pytest.raises(HostRefused) as refused:
        load_brain(settings)
    assert (ExitCode.BRAIN, 1) == (refused.value.exit_code, len(refused.value.lines))
    assert code in refused.value.lines[0]
    assert named in refused.value.lines[0]
    assert not list(tmp_path.glob("*.sqlite.graphs/*"))


def test_a_chosen_precision_ends_a_host_with_exit_code_3_and_names_the_setting(environ):
    done = run("serve", "--check", environ=environ | {"SUBTOKENLING_MODEL_DTYPE": "q4"})
    assert (3, 1) == (done.returncode, done.stderr.count("\n"))
    assert done.stderr.endswith("tiny.gguf runs in its own bits (gguf_precision); see SUBTOKENLING_MODEL_DTYPE\n")


def spoil(folder, how):
    path = folder / "tiny.gguf"
    data = path.read_bytes()
    if how == "two":
        (folder / "other.gguf").write_bytes(data)
    elif how == "qwen":
        tiny_gguf(folder, architecture="qwen2")
    elif how == "cut":
        path.write_bytes(data[:-1000])
    elif how == "text":
        path.write_bytes(b"not a model" * 100)
    elif how == "endless":
        path.write_bytes(data.replace(b"tokenizer.ggml.eos_token_id", b"tokenizer.ggml.eos_token_no")
                         .replace(b"<|endoftext|>", b"<|endofworld>"))  # fmt: skip
    return folder


def test_a_directory_with_a_config_is_an_exported_brain_whatever_else_lies_in_it(tmp_path):
    folder = tiny_gguf(tmp_path / "brain")
    for path in shipped_brain_dir().rglob("*"):
        if path.is_file():
            copy = folder / path.relative_to(shipped_brain_dir())
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(path.read_bytes())
    assert "q4" == open_chosen(BrainChoice(folder)).precision
