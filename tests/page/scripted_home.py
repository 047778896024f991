"""A real preview whose brain is a script: `python tests/page/scripted_home.py --port N --state DIR`.

Everything but the words is the product: HTTP, dispatch, store, rules. The script answers an owner's line with the line
itself (so that markup comes back as a reply), accepts every offer, and takes a moment, so that thinking can be seen.
"""

import argparse
import json
from pathlib import Path

import trio

from tokenling import engine
from tokenling.cli.preview import run_preview
from tokenling.engine.request import GenerationRequest, Reply
from tokenling.host.ports import Generated
from tokenling.host.run import HostBrain

BRAIN_ID = "scripted-1"
THINKING_S = 0.6
DIARY = "today somebody was kind to me."
EVIL = "<img src=x onerror=document.title='pwned'> hm"


class ScriptedBrain:
    brain_id = BRAIN_ID
    features: tuple[str, ...] = ()
    prompt_version = engine.PROMPT_VERSION
    provider = "ScriptedProvider"

    async def generate(self, request: GenerationRequest, *, turn_id: str) -> Generated:
        await trio.sleep(THINKING_S)
        return Generated(Reply(words_for(request), "eos", ()), json.dumps({"turn": turn_id}).encode())


def words_for(request: GenerationRequest) -> str:
    if request.mode == "diary":
        return DIARY
    if "[accept]" in request.tags:
        return "[accept] oh yes!"
    last = request.lines[-1] if request.lines else ""
    return EVIL if "markup" in last else "i heard you."


def load_script(settings) -> HostBrain:
    return HostBrain(BRAIN_ID, (), Path(settings.database).parent, (ScriptedBrain(),))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--state", type=Path, required=True)
    arguments = parser.parse_args()
    run_preview(
        load_script, port=arguments.port, state=arguments.state, open_page=False, check=False, log_level="warning"
    )


if __name__ == "__main__":
    main()
