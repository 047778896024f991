"""How much may be written behind a prompt: what was asked for, or what a context leaves, never a silent cut."""

from tokenling.gguf.errors import ContextOverflow


def room_for(prompt_tokens: int, asked: int | None, most: int, context: int) -> int:
    """How many tokens a generation may write. Raises `ContextOverflow`.

    `asked` must fit as it is; with None it is `most`, or less when the context ends before, but at least one.
    Worked example: 4000 tokens of prompt, nothing asked, at most 256, a context of 4096: 96.
    """
    wanted = min(most, max(1, context - prompt_tokens)) if asked is None else asked
    if prompt_tokens + wanted > context:
        raise ContextOverflow(prompt_tokens, wanted, context)
    return wanted
