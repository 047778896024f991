"""The runtime's public names, pinned: a change here is a change for every room that uses it."""

import subprocess
import sys

import tokenling.runtime


def test_the_public_names_are_these() -> None:
    assert tokenling.runtime.__all__ == [
        "PROMPT_VERSION_UNKNOWN", "RECEIPT_VERSION", "BatchLane", "BatchPool", "Brain", "BrainError", "BrainRefused",
        "Cancellation", "Choice", "DecodePlan", "Device", "Generation", "GenerationRefused", "Lane", "LaneFailed",
        "Numerics", "OpenSteps", "Precision", "ReceiptRefused", "Sampling", "SequenceSteps", "StopReason",
        "TurnReceipt", "TurnRunner", "Verdict", "decode", "make_receipt", "may_read_prompts", "on_cuda", "open_brain",
        "open_lane", "open_rows", "plan_turn", "reply_of", "run_plan", "verify",
    ]  # fmt: skip
    assert all(hasattr(tokenling.runtime, name) for name in tokenling.runtime.__all__)


def test_importing_the_runtime_loads_no_heavy_library() -> None:
    heavy = "{'onnxruntime', 'tokenizers', 'onnx', 'trio'}"
    code = f"import sys, tokenling.runtime; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
