"""A real preview that serves the built app:
`python tests/browser/app_home.py --port N --state DIR [--real] [--allow ORIGIN] [--enrol CODE]`.

HTTP, dispatch, store and rules are the product, and so are the files of the shipped brain that a page thinks with. What
the *host* thinks with is a script under the shipped brain's id, quick and told apart by its words; `--real` takes the
brain itself. `--allow` lets pages of another origin in, `--enrol` asks for a code, as an operator's `serve` would.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import click
import trio

from tokenling import engine
from tokenling.cli.brain_files import shipped_brain_dir, succession_of
from tokenling.cli.brain_loader import load_brain
from tokenling.cli.hosting import WEB_ROOT, run_plan
from tokenling.cli.preview import preview_settings
from tokenling.engine.request import GenerationRequest, Reply
from tokenling.host.plan import HostBrain, HostPlan
from tokenling.host.ports import Generated

THINKING_S = 0.3
HOST_WORDS = "the host heard you."
DIARY = "today the host wrote this page."


class ScriptedBrain:
    features: tuple[str, ...] = ()
    prompt_version = engine.PROMPT_VERSION
    provider = "ScriptedProvider"

    def __init__(self, brain_id: str) -> None:
        self.brain_id = brain_id

    async def generate(self, request: GenerationRequest, *, turn_id: str) -> Generated:
        await trio.sleep(THINKING_S)
        return Generated(Reply(words_for(request), "eos", ()), json.dumps({"turn": turn_id}).encode())


def words_for(request: GenerationRequest) -> str:
    if request.mode == "diary":
        return DIARY
    return "[accept] oh yes!" if "[accept]" in request.tags else HOST_WORDS


def load_script(settings) -> HostBrain:
    brain_id, succeeds = succession_of(shipped_brain_dir())
    return HostBrain(brain_id, (), shipped_brain_dir(), (ScriptedBrain(brain_id),), succeeds)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--allow", action="append", default=[])
    parser.add_argument("--enrol")
    parser.add_argument("--brain", type=Path)
    chosen = parser.parse_args()
    chosen.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings = replace(
        preview_settings(chosen.port, chosen.state), origins=tuple(chosen.allow), enrol_code=chosen.enrol
    )
    if chosen.brain is not None:
        settings = replace(settings, model_dir=chosen.brain)
    loader = load_brain if chosen.real else load_script
    plan = HostPlan(settings, loader, announce=announce, web_root=WEB_ROOT, preview=True)
    run_plan(plan, log_level="warning")


def announce(address, _brain) -> None:
    click.echo(f"http://{address}")


if __name__ == "__main__":
    main()
