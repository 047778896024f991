"""Chat templates give what Transformers gives, the committed cases and random dialogues."""

import random

import pytest
from chat_templates import CASES, TOOLS, Case
from hostile_text import hostile_texts
from transformers.utils.chat_template_utils import render_jinja_template

from tokenling.gguf import ChatTemplate, TemplateRefused


def theirs(case: Case) -> str:
    (found,), _ = render_jinja_template(
        conversations=[case.messages],
        tools=case.tools,
        chat_template=case.template,
        add_generation_prompt=case.add_generation_prompt,
        **case.special,
    )
    return str(found)


@pytest.mark.parametrize("name", CASES)
def test_the_committed_prompts_are_those_of_transformers(name: str) -> None:
    assert CASES[name].prompt == theirs(CASES[name])


def test_the_same_names_are_defined() -> None:
    names = ("messages", "tools", "documents", "add_generation_prompt", "strftime_now", "raise_exception", "namespace")
    source = " ".join(f"{{{{ {name} is defined }}}}" for name in (*names, "bos_token", "anything"))
    with ChatTemplate(source, {}) as template:
        assert theirs(Case(source, "", [])) == template.render([])


@pytest.mark.parametrize("name", CASES)
def test_random_dialogues_become_the_prompts_of_transformers(name: str) -> None:
    chance = random.Random(name)  # noqa: S311 - dialogues, not keys
    case = CASES[name]
    with ChatTemplate(case.template, case.special) as template:
        for _ in range(60):
            given = Case(case.template, "", dialogue(chance), chance.choice((None, TOOLS)), case.special,
                         chance.random() < 0.5)  # fmt: skip
            try:
                found = template.render(
                    given.messages, tools=given.tools, add_generation_prompt=given.add_generation_prompt
                )
            except TemplateRefused:
                with pytest.raises(Exception, match=r".*"):
                    theirs(given)
            else:
                assert theirs(given) == found


def dialogue(chance: random.Random) -> list[dict[str, object]]:
    """Turns of roles mostly in order, with texts of any kind."""
    texts = hostile_texts(20, chance.randrange(10**6))
    roles = ["system"] * (chance.random() < 0.5) + ["user", "assistant"] * chance.randint(1, 3)
    if chance.random() < 0.2:
        chance.shuffle(roles)
    return [{"role": role, "content": next(texts)} for role in roles]
