"""In the sandbox, in a process that never runs the submission: edits that might mend what is wrong with it.

An untrusted text is parsed here and nowhere else; what comes of it is read by `hints` as it reads any answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from itertools import islice
from typing import Any

from ...pipeline.repair.kernel_source import KernelSource
from ...pipeline.repair.proposals import proposals
from ...results.json_report import result_from_json


def propose_edits(request: dict[str, Any], source: bytes, send: Callable[[bytes], None]) -> None:
    """Send, for each finding of ``request["result"]``, proposals: ``request["most"]`` of them at most."""
    text = KernelSource(source.decode("utf-8"))
    found = [
        [asdict(proposal) for proposal in islice(proposals(text, finding), request["most"])]
        for finding in result_from_json(request["result"]).findings
    ]
    send(json.dumps(found).encode("ascii"))
