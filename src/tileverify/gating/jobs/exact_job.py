"""In the sandbox: a proved kernel on exact numbers, for a comparison with a reference outside."""

from __future__ import annotations

from typing import Final

from ...backend.numbers.choose import ContractInNumbers
from ...backend.numbers.trial_launches import NARROW
from ...equality.kernel_runs import SentEnd, SentGap, framed, runs
from ...equality.op_rules import ExactKernel
from ...equality.points import Options
from ...frontend.bytecode import decode
from ...pipeline.unit_summary import entry_of
from ..plain_values import harmless_text
from .compile_job import (
    Send,
    claims_of,
    specs_of,
)
from .job_messages import TrialRequest
from .prove_job import unit_of

STEPS: Final = 1 << 23
LAUNCHES: Final = 24


def run_kernel(request: TrialRequest, compiled: bytes, send: Send) -> None:
    """Send a message for each point (`kernel_runs`)."""
    items, file = claims_of(compiled).items or (), request.submission.file
    unit = unit_of(items[request.index], specs_of(request.submission), file)
    module = decode(unit.bytecode, file=file)
    kernel = ExactKernel(module, entry_of(module, unit), unit.parameters)
    contract = ContractInNumbers(unit.launch, request.requires)
    for message in runs(unit, kernel, contract, Options(request.seed, STEPS, LAUNCHES, NARROW)):
        if isinstance(message, SentGap):
            message = SentGap(
                number=message.number,
                values=message.values,
                reason=harmless_text(message.reason),
                left_out=message.left_out,
            )
        elif isinstance(message, SentEnd):
            message = SentEnd(
                stopped=harmless_text(message.stopped),
                left_out=tuple(map(harmless_text, message.left_out)),
                steps=message.steps,
                one_way=tuple(map(harmless_text, message.one_way)),
                narrow=message.narrow,
                tried=tuple(map(harmless_text, message.tried)),
                idle=tuple(map(harmless_text, message.idle)),
            )
        send(framed(message))
