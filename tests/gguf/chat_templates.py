"""Chat templates in the forms that the common families use, written for these tests, and the prompts they must give.

The constructs are those that published templates live on: namespaces, slices, loop variables, macros, `is defined`,
inline conditions, string methods, filters, trimmed blocks, `raise_exception`, `strftime_now`, `{% generation %}`.
"""

from dataclasses import dataclass, field

SYSTEM = {"role": "system", "content": "Be kind. "}
USER = {"role": "user", "content": " What is <b>rain</b>? "}
ASSISTANT = {"role": "assistant", "content": "Water, falling."}
AGAIN = {"role": "user", "content": "Why 'é'?"}
DIALOGUE = [SYSTEM, USER, ASSISTANT, AGAIN]
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Rain & <sun>", "parameters": {
    "type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}}}]  # fmt: skip
CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"type": "function", "function": {"name": "weather", "arguments": {"place": "Łódź"}}}]}  # fmt: skip
RESULT = {"role": "tool", "content": "wet"}


@dataclass(frozen=True)
class Case:
    """A template, what it is asked, and the prompt."""

    template: str
    prompt: str
    messages: list[dict[str, object]] = field(default_factory=lambda: list(DIALOGUE))
    tools: list[dict[str, object]] | None = None
    special: dict[str, str] = field(default_factory=dict)
    add_generation_prompt: bool = True


CHATML = """{% for message in messages %}
    {% if loop.first and message.role != 'system' %}
        {{ '<|im_start|>system\\nYou help.<|im_end|>\\n' }}
    {% endif %}
    {{ '<|im_start|>' ~ message.role ~ '\\n' ~ message.content | trim ~ '<|im_end|>' ~ '\\n' }}
{% endfor %}
{% if add_generation_prompt %}
    {{ '<|im_start|>assistant\\n' }}
{% endif %}
"""
LLAMA3 = """{{- bos_token }}
{%- if date_string is not defined %}{% set date_string = '26 Jul 2024' %}{% endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] | trim %}{% set rest = messages[1:] %}
{%- else %}
    {%- set system = '' %}{% set rest = messages %}
{%- endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\nToday: ' + date_string + '\\n\\n' + system + '<|eot_id|>' }}
{%- for m in rest %}
    {{- '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' + m['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' if add_generation_prompt }}"""
GEMMA = """{{ bos_token }}
{%- if messages[0].role == 'system' -%}
    {%- set first = messages[0].content ~ '\\n\\n' -%}{%- set turns = messages[1:] -%}
{%- else -%}
    {%- set first = '' -%}{%- set turns = messages -%}
{%- endif -%}
{%- for m in turns -%}
    {%- if (m.role == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception('roles must alternate') }}
    {%- endif -%}
    {%- set role = 'model' if m.role == 'assistant' else m.role -%}
    {{ '<start_of_turn>' + role + '\\n' + (first if loop.first else '') }}
    {%- if m.content is string -%}
        {{ m.content | trim }}
    {%- else -%}
        {%- for part in m.content if part.type == 'text' -%}{{ part.text | trim }}{%- endfor -%}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\\n' }}{%- endif -%}"""
PHI3 = """{% for m in messages %}{% if m['role'] in ['system', 'user', 'assistant'] %}{{ '<|' + m['role'] + '|>\\n'
 + m['content'] + '<|end|>\\n' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n'
 }}{% else %}{{ eos_token }}{% endif %}"""
MISTRAL = """{%- set ns = namespace(system='', index=0) -%}
{%- for m in messages if m.role == 'system' -%}{%- set ns.system = m.content -%}{%- endfor -%}
{{- bos_token }}
{%- for m in messages | rejectattr('role', 'equalto', 'system') %}
    {%- if m.role == 'user' %}
        {%- if tools is not none and loop.last %}
            {{- '[AVAILABLE_TOOLS] ' ~ tools | tojson ~ '[/AVAILABLE_TOOLS]' }}
        {%- endif %}
        {{- '[INST] ' + (ns.system + '\\n\\n' if loop.last and ns.system else '') + m.content + '[/INST]' }}
    {%- elif m.role == 'assistant' %}
        {{- ' ' + m.content + eos_token }}
    {%- else %}
        {{- raise_exception('unknown role') }}
    {%- endif %}
{%- endfor %}"""
GRANITE = """{%- macro turn(role, text) -%}
<|start_of_role|>{{ role }}<|end_of_role|>{{ text }}<|end_of_text|>
{% endmacro -%}
{%- if tools %}{{ turn('tools', tools | tojson(indent=4)) }}{% endif -%}
{%- for m in messages -%}
    {%- if m.tool_calls is defined and m.tool_calls -%}
        {%- for call in m.tool_calls -%}
            {{ turn('assistant', '<tool_call>' ~ call.function | tojson) }}
        {%- endfor -%}
        {%- continue -%}
    {%- endif -%}
    {{ turn(m.role, m.content) }}
{%- endfor -%}
{%- if add_generation_prompt -%}<|start_of_role|>assistant<|end_of_role|>{%- endif -%}"""
ZEPHYR = """{% for message in messages %}
{% if message['role'] == 'assistant' %}
<|assistant|>
{% generation %}
{{ message['content'] + eos_token }}
{% endgeneration %}
{% else %}
<|{{ message['role'] }}|>
{{ message['content'].strip() }}{{ eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
<|assistant|>
{% endif %}
{% endfor %}"""
QWEN_TOOLS = """{%- if tools %}
    {{- '<|im_start|>system\\n# Tools\\n<tools>' }}
    {%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- endif %}
{%- for m in messages %}
    {%- if m.role == "assistant" and m.tool_calls %}
        {{- '<|im_start|>assistant' }}
        {%- for call in m.tool_calls %}
            {%- if call.function is defined %}{%- set call = call.function %}{%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' + call.name + '", "arguments": ' + call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif m.role == "tool" %}
        {%- if loop.index0 == 0 or messages[loop.index0 - 1].role != "tool" %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' + m.content + '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != "tool" %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- else %}
        {{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""

TOOL_JSON = (
    '{"type": "function", "function": {"name": "weather", "description": "Rain & <sun>", "parameters": '
    '{"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}}}'
)
CASES: dict[str, Case] = {
    "chatml": Case(CHATML, (
        "        <|im_start|>system\nYou help.<|im_end|>\n\n"
        "    <|im_start|>user\nWhat is <b>rain</b>?<|im_end|>\n\n"
        "    <|im_start|>assistant\nWater, falling.<|im_end|>\n\n"
        "    <|im_start|>assistant\n\n"), messages=[USER, ASSISTANT]),
    "llama3": Case(LLAMA3, (
        "<s><|start_header_id|>system<|end_header_id|>\n\nToday: 26 Jul 2024\n\nBe kind.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nWhat is <b>rain</b>?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\nWater, falling.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nWhy 'é'?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"), special={"bos_token": "<s>"}),
    "gemma": Case(GEMMA, (
        "<bos><start_of_turn>user\nBe kind. \n\nWhat is <b>rain</b>?<end_of_turn>\n"
        "<start_of_turn>model\nWater, falling.<end_of_turn>\n"
        "<start_of_turn>user\nWhy 'é'?<end_of_turn>\n<start_of_turn>model\n"), special={"bos_token": "<bos>"}),
    "gemma parts": Case(GEMMA, "<start_of_turn>user\nab<end_of_turn>\n", messages=[{"role": "user", "content": [
        {"type": "text", "text": " a"}, {"type": "image"}, {"type": "text", "text": "b "}]}],
        special={"bos_token": ""}, add_generation_prompt=False),
    "phi3": Case(PHI3, (
        "<|system|>\nBe kind. <|end|>\n<|user|>\n What is <b>rain</b>? <|end|>\n"
        "<|assistant|>\nWater, falling.<|end|>\n<|user|>\nWhy 'é'?<|end|>\n<|assistant|>\n")),
    "phi3 without an answer to come": Case(PHI3, "<|user|>\nWhy 'é'?<|end|>\n</s>", messages=[AGAIN],
        special={"eos_token": "</s>"}, add_generation_prompt=False),
    "mistral": Case(MISTRAL, (
        "<s>[INST]  What is <b>rain</b>? [/INST] Water, falling.</s>"
        f"[AVAILABLE_TOOLS] [{TOOL_JSON}][/AVAILABLE_TOOLS][INST] Be kind. \n\nWhy 'é'?[/INST]"), tools=TOOLS,
        special={"bos_token": "<s>", "eos_token": "</s>"}),
    "granite": Case(GRANITE, (
        "<|start_of_role|>user<|end_of_role|>Why 'é'?<|end_of_text|>\n"
        "<|start_of_role|>assistant<|end_of_role|><tool_call>"
        '{"name": "weather", "arguments": {"place": "Łódź"}}<|end_of_text|>\n'
        "<|start_of_role|>tool<|end_of_role|>wet<|end_of_text|>\n"
        "<|start_of_role|>assistant<|end_of_role|>"), messages=[AGAIN, CALL, RESULT]),
    "zephyr": Case(ZEPHYR, (
        "<|system|>\nBe kind.<|e|>\n<|user|>\nWhat is <b>rain</b>?<|e|>\n<|assistant|>\nWater, falling.<|e|>\n"
        "<|user|>\nWhy 'é'?<|e|>\n<|assistant|>\n"), special={"eos_token": "<|e|>"}),
    "qwen tools": Case(QWEN_TOOLS, (
        f"<|im_start|>system\n# Tools\n<tools>\n{TOOL_JSON}\n</tools><|im_end|>\n"
        "<|im_start|>user\nWhy 'é'?<|im_end|>\n<|im_start|>assistant\n<tool_call>\n"
        '{"name": "weather", "arguments": {"place": "Łódź"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\nwet\n</tool_response>\n<tool_response>\nwet\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"), messages=[AGAIN, CALL, RESULT, RESULT], tools=TOOLS),
}  # fmt: skip
