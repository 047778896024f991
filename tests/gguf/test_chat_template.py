"""Chat templates: the common families' prompts, and templates that mean harm, each of which ends and ends small."""

import importlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from chat_templates import AGAIN, CASES, GEMMA, USER
from gguf_bytes import gguf, write

from tokenling.gguf import ChatTemplate, GgufRefused, TemplateRefused, chat_template, open_gguf

TEMPLATE = "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}"
KEYS = {"general.architecture": "llama", "tokenizer.ggml.tokens": ["<s>", "</s>", "a"],
        "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 1}  # fmt: skip
MEMORY_MAX = 200 * 2**20
SECONDS_MAX = 2.0
"""Of processor time: the machine may be busy with other work."""


def rendered(source: str, **variables: object) -> str:
    with ChatTemplate(source, {}) as template:
        return template.render([USER], **variables)  # type: ignore[arg-type]


# ---- what templates say


@pytest.mark.parametrize("name", CASES)
def test_a_family_gets_the_prompt_it_was_trained_on(name: str) -> None:
    case = CASES[name]
    with ChatTemplate(case.template, case.special) as template:
        found = template.render(
            case.messages,  # type: ignore[arg-type]
            tools=case.tools,  # type: ignore[arg-type]
            add_generation_prompt=case.add_generation_prompt,
        )
    assert case.prompt == found


def test_a_files_template_knows_the_files_special_tokens(tmp_path: Path) -> None:
    path = write(tmp_path / "t.gguf", gguf({**KEYS, "tokenizer.chat_template": TEMPLATE}))
    with open_gguf(path) as file:
        template = chat_template(file)
    assert template is not None
    with template:
        assert "<s>Why 'é'?</s>" == template.render([AGAIN])


def test_a_file_without_a_template_has_none_and_a_named_one_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "t.gguf", gguf({**KEYS, "tokenizer.chat_template.tool_use": "{{ eos_token }}"}))
    with open_gguf(path) as file:
        assert chat_template(file) is None
        assert chat_template(file, name="other") is None
        named = chat_template(file, name="tool_use")
    assert named is not None
    with named:
        assert "</s>" == named.render([])


def test_what_transformers_always_defines_is_defined() -> None:
    source = "{{ documents is none }} {{ tools is none }} {{ add_generation_prompt }} {{ other is defined }}"
    assert "True True True False" == rendered(source)


def test_variables_and_todays_date_reach_the_template() -> None:
    source = "{{ strftime_now('%d %b %Y') }} {{ enable_thinking }} {{ missing is defined }}"
    with ChatTemplate(source, {}, now=lambda: datetime(2026, 2, 3, 4, 5, tzinfo=UTC)) as template:
        assert "03 Feb 2026 False False" == template.render([], enable_thinking=False)


def test_one_process_serves_many_renderings_and_another_follows_a_lost_one() -> None:
    with ChatTemplate("{% if boom %}{{ 'a' * 10 ** 9 }}{% endif %}{{ messages[0].content }}", {}) as template:
        assert [USER["content"]] * 3 == [template.render([USER]) for _ in range(3)]
        with pytest.raises(TemplateRefused, match="template_memory"):
            template.render([USER], boom=True)
        assert USER["content"] == template.render([USER])


def test_a_template_refuses_messages_in_its_own_words_and_never_in_theirs() -> None:
    with ChatTemplate(GEMMA, {}) as template, pytest.raises(TemplateRefused, match="roles must alternate") as refused:
        template.render([USER, USER])
    assert "template_raised" == refused.value.code
    source = "{{ raise_exception('bad: ' + messages[0].content) }}"
    with pytest.raises(TemplateRefused, match="template_raised") as refused:
        rendered(source)
    assert "rain" not in str(refused.value)


def test_errors_of_filters_do_not_quote_messages() -> None:
    with pytest.raises(TemplateRefused, match="template_failed") as refused:
        rendered("{{ messages[0].content | int(base='x') + messages[0].content[messages[0].content] }}")
    assert "rain" not in str(refused.value)


def test_values_that_are_no_json_are_refused() -> None:
    for value in (object(), {1, 2}, b"bytes"):
        with pytest.raises(TemplateRefused, match="template_input"):
            rendered("{{ x }}", x=value)
    with pytest.raises(TemplateRefused, match="template_input"):
        rendered("{{ x }}", x="a" * 2**23)


def test_a_template_beyond_the_bound_is_refused_unread(tmp_path: Path) -> None:
    path = write(tmp_path / "t.gguf", gguf({**KEYS, "tokenizer.chat_template": "a" * (2**18 + 1)}))
    with open_gguf(path) as file, pytest.raises(GgufRefused, match="template_long"):
        chat_template(file)


# ---- templates that mean harm

DOUBLING = "{% set n = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(60) %}{% set n.x = n.x BY n.x %}{% endfor %}"
NESTED = "{% for a in range(99999) %}" * 6 + "{% endfor %}" * 6
HOSTILE: dict[str, tuple[str, str]] = {
    # name: template, code
    "nested loops": (NESTED, "template_time"),
    "nested loops that write": (NESTED.replace("{% endfor %}", "x{% endfor %}", 1), "template_output|template_time"),
    "a loop over a cycle of macros": (
        "{% macro a(n) %}{% for i in range(99999) %}{{ a(n) if n < 3 else '' }}{% endfor %}{% endmacro %}{{ a(0) }}",
        "template_time|template_memory|template_depth"),
    "a macro that calls itself": ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "template_depth"),
    "a loop that recurses": (
        "{% for i in [[[]]] recursive %}{{ loop([i, i]) }}{% endfor %}",
        "template_depth|template_time|template_memory"),
    "a range beyond all": ("{{ range(10 ** 12) | list }}", "template_memory"),
    "a range in pieces": (
        "{% set n = namespace(x=[]) %}{% for i in range(99999) %}{% set n.x = n.x + range(99999) | list %}{% endfor %}",
        "template_memory|template_time"),
    "a text times a billion": ("{{ 'a' * 10 ** 9 }}", "template_memory"),
    "a list times a billion": ("{{ [1] * 10 ** 9 }}", "template_memory"),
    "doubling by ~": (DOUBLING.replace("BY", "~"), "template_memory"),
    "doubling by +": (DOUBLING.replace("BY", "+"), "template_memory"),
    "doubling by join": (
        "{% set n = namespace(x='a' * 99) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] | join %}{% endfor %}",
        "template_memory"),
    "doubling by replace": (
        "{% set n = namespace(x='aa') %}{% for i in range(60) %}{% set n.x = n.x | replace('a', n.x) %}{% endfor %}",
        "template_memory"),
    "a power of powers": ("{{ (10 ** 9) ** (10 ** 9) }}", "template_time|template_memory"),
    "a number as text": ("{{ (2 ** 100000000) | string }}", "template_time|template_failed|template_memory"),
    "a shift by multiplication": (
        "{% set n = namespace(x=3) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}",
        "template_time|template_memory"),
    "centred in a billion": ("{{ 'x' | center(10 ** 9) }}", "template_memory"),
    "indented by a billion": ("{{ 'x\\ny' | indent(10 ** 9) }}", "template_memory"),
    "padded by a format": ("{{ '%1000000000d' | format(1) }}", "template_memory"),
    "padded by a method": ("{{ 'x'.ljust(10 ** 9) }}", "template_memory"),
    "padded by str.format": ("{{ '{:1000000000d}'.format(1) }}", "template_memory|template_failed"),
    "filled in columns": ("{{ [1] | batch(10 ** 9, 'x') | list }}", "template_memory|template_time"),
    "sliced without end": ("{{ [1] | slice(10 ** 9) | list }}", "template_time|template_memory"),
    "words without end": ("{{ lipsum(n=10 ** 9) }}", "template_time|template_memory|template_failed"),
    "wrapped without end": ("{{ ('a ' * 4000000) | wordwrap(1) }}", "template_time|template_memory|template_output"),
    "JSON within JSON": (
        "{% set n = namespace(x='\\\\') %}{% for i in range(60) %}{% set n.x = n.x | tojson %}{% endfor %}",
        "template_memory|template_time"),
    "JSON indented by a billion": ("{{ [1] | tojson(indent=10 ** 9) }}", "template_memory"),
    "JSON of itself": (
        "{% set n = namespace(x=[]) %}{% for i in range(2000) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x | tojson }}",
        "template_depth|template_failed"),
    "permutations by a sort": (
        "{% for i in range(99999) %}{% set x = range(99999) | sort(reverse=true) | list %}{% endfor %}",
        "template_time|template_memory"),
    "much output": ("{% for i in range(99999) %}{{ 'a' * 9999 }}{% endfor %}", "template_output"),
    "brackets without end": ("{{ " + "(" * 50_000 + "1" + ")" * 50_000 + " }}", "template_depth|template_memory"),
    "blocks without end": ("{% if 1 %}" * 20_000 + "{% endif %}" * 20_000,
                           "template_depth|template_memory|template_syntax"),
    "signs without end": ("{{ " + "-" * 100_000 + "1 }}", "template_depth|template_memory|template_time"),
    "sums without end": ("{{ 1" + "+1" * 100_000 + " }}", "template_depth|template_memory|template_time"),
    "a long constant": ("{{ 'a' * 9999999 * 99 }}", "template_memory"),
    "no end of a block": ("{% for x in y %}", "template_syntax"),
    "a tag unknown": ("{% include 'secrets' %}{% frobnicate %}", "template_syntax"),
    "a file included": ("{% include '/etc/passwd' %}", "template_failed"),
    "a file extended": ("{% extends '/etc/passwd' %}", "template_failed"),
    "Python's insides": ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "template_failed"),
    "a function's insides": ("{{ raise_exception.__globals__['sys'].exit(3) }}", "template_failed"),
    "a generator's insides": ("{{ cycler.__init__.__globals__.os.system('true') }}", "template_failed"),
    "insides by attr": ("{{ ('' | attr('__class__')).mro() }}", "template_failed"),
    "insides by format": ("{{ '{0.__class__.__mro__}'.format('')[99999] }}", "template_failed"),
    "a changed message": ("{{ messages.append(1) }}", "template_failed"),
    "a changed variable": ("{{ messages[0].update({'a': 1}) }}", "template_failed"),
    "a name unknown": ("{{ x.y.z }}", "template_failed"),
}  # fmt: skip


@pytest.fixture
def children() -> Iterator[None]:
    """Processor time of the children that a test starts and ends, held to its bound."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < SECONDS_MAX


@pytest.mark.usefixtures("children")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_template_that_means_harm_ends_and_ends_small(name: str) -> None:
    source, codes = HOSTILE[name]
    started = time.process_time()
    with pytest.raises(TemplateRefused) as refused:
        rendered(source)
    assert refused.value.code in codes.split("|")
    assert time.process_time() - started < 0.5  # what it cost this process


def test_no_harmful_template_takes_much_memory() -> None:
    # in a process of its own: the greatest of all its children is then that of a template
    code = (
        "import json, resource, sys; from tokenling.gguf import ChatTemplate, TemplateRefused\n"
        "for source in json.load(sys.stdin):\n"
        "    try: ChatTemplate(source, {}).render([])\n"
        "    except TemplateRefused: pass\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    sources = json.dumps([source for source, codes in HOSTILE.values() if "template_memory" in codes])
    found = subprocess.run([sys.executable, "-c", code], input=sources, capture_output=True, text=True, check=True)
    assert int(found.stdout) * 1024 < MEMORY_MAX


def test_a_worker_that_never_answers_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = importlib.import_module("tokenling.gguf.chat_template")
    silent = write(tmp_path / "silent.py", b"import time\ntime.sleep(60)\n")
    monkeypatch.setattr(module, "WORKER", silent)
    monkeypatch.setattr(module, "WALL_SECONDS", 0.2)
    with pytest.raises(TemplateRefused, match="template_time"):
        rendered("a")


def test_closing_leaves_no_process() -> None:
    template = ChatTemplate("a", {})
    assert "a" == template.render([])
    worker = template._worker
    assert worker is not None
    template.close()
    assert not worker.is_alive
    template.close()
