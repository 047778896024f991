"""Language models on ONNX Runtime: open a brain, run turns on lanes, prove afterwards what ran.

    brain = open_brain(directory)              # every file checked; BrainRefused says what to change
    lane = open_lane(brain)
    lane.warm_up()                             # a real token
    plan = plan_turn(request, brain)           # GenerationRefused when it does not fit
    generation = await lane.generate(plan)     # or decode(lane, plan), synchronously
    receipt = make_receipt(plan, generation, brain, lane, request=request)
    verify(receipt.owner_json(), brain)        # identical, near_tie, different, not_provable_here

ONNX Runtime and the tokenizers library are imported when the first brain is opened.
"""

from tokenling.runtime.batch_lane import BatchLane, BatchPool
from tokenling.runtime.brain import PROMPT_VERSION_UNKNOWN, Brain, Precision, may_read_prompts, on_cuda, open_brain
from tokenling.runtime.cancellation import Cancellation
from tokenling.runtime.device import Device
from tokenling.runtime.errors import BrainError, BrainRefused, GenerationRefused, LaneFailed, ReceiptRefused
from tokenling.runtime.lane import Lane, TurnRunner, decode, open_lane
from tokenling.runtime.loop import OpenSteps, SequenceSteps, Verdict, run_plan
from tokenling.runtime.ort import Numerics
from tokenling.runtime.plan import Choice, DecodePlan, Generation, Sampling, StopReason
from tokenling.runtime.receipts import RECEIPT_VERSION, TurnReceipt, make_receipt
from tokenling.runtime.rows import open_rows
from tokenling.runtime.turn import plan_turn, reply_of
from tokenling.runtime.verify import verify

__all__ = [
    "PROMPT_VERSION_UNKNOWN",
    "RECEIPT_VERSION",
    "BatchLane",
    "BatchPool",
    "Brain",
    "BrainError",
    "BrainRefused",
    "Cancellation",
    "Choice",
    "DecodePlan",
    "Device",
    "Generation",
    "GenerationRefused",
    "Lane",
    "LaneFailed",
    "Numerics",
    "OpenSteps",
    "Precision",
    "ReceiptRefused",
    "Sampling",
    "SequenceSteps",
    "StopReason",
    "TurnReceipt",
    "TurnRunner",
    "Verdict",
    "decode",
    "make_receipt",
    "may_read_prompts",
    "on_cuda",
    "open_brain",
    "open_lane",
    "open_rows",
    "plan_turn",
    "reply_of",
    "run_plan",
    "verify",
]
