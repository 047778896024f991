"""The real files' tokenizers and templates, and a pet's turns on SmolLM2. `nox -s ggufs` runs it."""

import os
from functools import cache
from pathlib import Path

import pytest
from test_real_ggufs import GEMMA3, PROMPTS, SMOLLM2, TEXTS

from tokenling import engine
from tokenling.engine.request import GenerationRequest
from tokenling.gguf import GgufTokenizer, chat_template, gguf_tokenizer, open_gguf, open_gguf_brain
from tokenling.runtime import Cancellation, decode, make_receipt, open_lane, plan_turn, reply_of, verify

FOLDER = Path(os.environ["TOKENLING_GGUFS"])


@cache
def tokenizer(name: str) -> GgufTokenizer:
    with open_gguf(FOLDER / name) as file:
        return gguf_tokenizer(file)


@pytest.mark.parametrize("name", PROMPTS)
@pytest.mark.parametrize("place", range(len(TEXTS)))
def test_ids_are_llama_cpps(name: str, place: int) -> None:
    assert list(PROMPTS[name][place]) == tokenizer(name).encode(TEXTS[place])


def test_smollm2s_chat_is_read_as_its_own_special_tokens() -> None:
    with open_gguf(FOLDER / SMOLLM2) as file:
        template = chat_template(file)
    assert template is not None
    with template:
        prompt = template.render([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}])
    assert "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n" == prompt
    ids = tokenizer(SMOLLM2).encode(prompt, special=True, bos=False)
    assert (3, 2) == (ids.count(1), ids.count(2))
    assert 1 not in tokenizer(SMOLLM2).encode(prompt)


def test_gemma_is_a_base_model_without_a_template() -> None:
    with open_gguf(FOLDER / GEMMA3) as file:
        assert chat_template(file) is None
    assert (2, 1) == (tokenizer(GEMMA3).bos_id, tokenizer(GEMMA3).eos_id)
    assert {1, 106} == set(tokenizer(GEMMA3).stop_ids)


def requests() -> list[GenerationRequest]:
    """What a young pet asks when it is spoken to."""
    state = engine.new_pet(pet_seed="otter", name="Pip", time_zone="Etc/UTC", brain_id="any", weather_seed="w",
                           now_ms=1_770_000_000_000)  # fmt: skip
    found = []
    now = 1_770_000_000_000 + 3 * 86_400_000
    for text in ("hello little one", "are you hungry?", "what do you see outside?", "good night"):
        state = engine.advance(state, now).state
        while turn := engine.pending_turn(state):
            state = engine.skip_turn(state, turn, "owner_came").state
            state = engine.advance(state, now).state
        state = engine.apply_command(state, engine.parse_command({"kind": "say", "text": text}), now).state
        step = engine.advance(state, now)
        assert step.turn is not None
        found.append(engine.build_request(step.state, step.turn))
        state, now = engine.skip_turn(step.state, step.turn, "failed").state, now + 600_000
    return found


def test_smollm2_answers_a_pets_turns_with_legal_tags_alone_and_its_turns_are_proved(tmp_path: Path) -> None:
    brain = open_gguf_brain(FOLDER / SMOLLM2, graphs=tmp_path / "graphs")
    lane = open_lane(brain)
    lane.warm_up()
    for request in requests():
        plan = plan_turn(request, brain)
        generation = decode(lane, plan, cancel=Cancellation())
        text = reply_of(generation).text
        tags = {part.split("]")[0] for part in text.split("[")[1:]}
        literal = {tag[1:-1] for tag in request.tags if "…" not in tag}
        free = tuple(tag[1:].split("…")[0] for tag in request.tags if "…" in tag)
        assert all(tag in literal or tag.startswith(free) for tag in tags)
        receipt = make_receipt(plan, generation, brain, lane, request=request)
        assert "identical" == verify(receipt.owner_json(), brain).kind
