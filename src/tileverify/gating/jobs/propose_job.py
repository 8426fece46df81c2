"""In the sandbox, in a process that never runs the submission: edits that might mend what is wrong with it.

An untrusted text is parsed here and nowhere else; what comes of it is read by `hints` as it reads any answer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import msgspec

from ...pipeline.repair.kernel_source import KernelSource
from ...pipeline.repair.proposals import proposals
from ...results.json_report import result_from_json
from .requests import ProposalRequest


def propose_edits(request: ProposalRequest, source: bytes, send: Callable[[bytes], None]) -> None:
    """Send, for each finding of the request's result, `Proposal`s."""
    text = KernelSource(source.decode("utf-8"))
    findings = result_from_json(request.result).findings
    found = [list(islice(proposals(text, finding, findings), request.most)) for finding in findings]
    send(msgspec.json.encode(found))
