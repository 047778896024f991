"""`tokenling contract`: what every build of the engine must agree on, as one JSON text."""

import click


@click.command("contract")
@click.option("--digest", is_flag=True, help="Print the SHA-256 of the text instead of the text.")
def command(digest: bool) -> None:
    """Print the engine's contract: lists, 300 states with prompts and wake chances, a replay in two zones.

    Two builds whose texts differ by a byte do not keep the same pets. No brain is needed.
    """
    from hashlib import sha256

    from tokenling.engine.contract import contract

    text = contract()
    if digest:
        click.echo(sha256(text.encode()).hexdigest())
    else:
        click.echo(text, nl=False)
