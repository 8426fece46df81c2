"""What the tools answer: short texts, and details of a finding by its id, page by page.

A submission, and a launch spec that comes with it, are untrusted: they go to the gate and nowhere else.  What the
caller may not bring is what the gate trusts: launches that somebody vouches for, and reference code, which runs outside
of the sandbox.  Both are named by who starts the server.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ..pipeline.repair.catalogue import KINDS
from ..results import Finding
from ..results.codes import CODES
from ..results.json_report import result_to_json
from ..system.errors import TileVerifyError
from ..system.printable import printable
from . import GatedKernel, GateOptions, GateResult, Submission, judge
from .prompt import changed_lines, prompt_text

LONGEST: Final = 2000
"""Characters of an answer."""
_PROMPT: Final = 1400
_PAGE: Final = 1800
_MOST_CHANGED: Final = 200
"""Lines of a repair that `Desk.get_finding` shows."""
_HEAD: Final = (
    "kernel",
    "launch",
    "line",
    "verdict",
    "contract",
    "stated",
    "requires",
    "limits",
    "conditional",
    "notes",
)
"""Keys of a result that `Desk.get_finding` shows."""
_MOST_FINDINGS: Final = 1000
"""Kept for `Desk.get_finding`; the oldest go first."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """``finding``: None where it is asked how the kernel compares with its reference."""

    kernel: GatedKernel
    finding: Finding | None
    source: bytes


@dataclass
class Desk:
    """``references``: name -> ``FILE.py::FUNCTION``, trusted.  Answers one request at a time."""

    options: GateOptions = field(default_factory=GateOptions)
    references: Mapping[str, str] = field(default_factory=dict)
    _found: OrderedDict[str, _Kept] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check_kernel(self, source: str, spec: str | None = None, reference: str | None = None) -> str:
        """Verdict, the worst finding with a repair, and the ids of all findings."""
        if reference is not None and reference not in self.references:
            known = ", ".join(sorted(self.references)) or "none"
            return _bounded(f"no such reference: {reference}; this server has {known}, and runs no other code\n")
        options = self.options if reference is None else replace(self.options, reference=self.references[reference])
        submission = Submission(source.encode("utf-8", errors="surrogatepass"), "submission.py", spec)
        with self._lock, contextlib.redirect_stdout(sys.stderr):  # a reference may print
            try:
                result = judge(submission, options)
            except TileVerifyError as error:
                return _bounded(f"not judged: {error}\n")
            return _bounded(prompt_text(result, _PROMPT) + self._keep(result))

    def _keep(self, result: GateResult) -> str:
        """A line for each finding, and for each comparison with a reference."""
        lines = []
        for kernel in result.kernels:
            kept: list[Finding | None] = [*kernel.result.findings, *([] if kernel.equal is None else [None])]
            for place, finding in enumerate(kept):
                what = kernel.equal if finding is None else finding
                text = f"{kernel.result.kernel} {kernel.result.launch} {place} {what}".encode(errors="replace")
                id_ = hashlib.sha256(result.source + b"\0" + text).hexdigest()[:10]
                self._found[id_] = _Kept(kernel, finding, result.source)
                self._found.move_to_end(id_)
                name = printable(f"{kernel.result.kernel} [{kernel.result.launch}]")
                lines.append(f"{id_}  {'equal' if finding is None else finding.code}  {name[:80]}\n")
        while len(self._found) > _MOST_FINDINGS:
            self._found.popitem(last=False)
        more = f"and {len(lines) - 4} more\n" if len(lines) > 4 else ""
        return f"get_finding tells more of:\n{''.join(lines[:4])}{more}" if lines else ""

    def get_finding(self, id: str, page: int = 1) -> str:
        """All that is known of a finding, or of a comparison with a reference, as JSON in pages."""
        with self._lock:
            kept = self._found.get(id)
        if kept is None:
            return _bounded(f"no such finding: {id}; check_kernel gives ids, and {_MOST_FINDINGS} are kept\n")
        text = _details(kept)
        pages = [text[start : start + _PAGE] for start in range(0, len(text), _PAGE)]
        if not 1 <= page <= len(pages):
            return f"there are {len(pages)} pages\n"
        return f"page {page} of {len(pages)}\n{pages[page - 1]}\n"

    def explain(self, code: str) -> str:
        """What a code, or the id of a repair, means."""
        known = CODES.get(code.upper())
        if known is not None:
            said = {"Formula": known.formula, "What to do": known.fix, "It is not": known.is_not}
            about = (known.meaning, *(f"{label}: {text}" for label, text in said.items()))
            return _bounded("\n".join((f"{known.code}: {known.fault}", *about)) + "\n")
        kind = KINDS.get(code)
        if kind is not None:
            return f"{kind.id} (for {', '.join(kind.codes)}): {kind.text}\n"
        return _bounded(f"no such code: {code}\ncodes: {' '.join(CODES)}\nrepairs: {' '.join(KINDS)}\n")


def _details(kept: _Kept) -> str:
    result = kept.kernel.result
    if kept.finding is None:
        about = {"kernel": result.kernel, "launch": result.launch, "verdict": kept.kernel.verdict}
        return json.dumps({**about, "equal": kept.kernel.equal}, indent=1)
    document = result_to_json(replace(result, findings=(kept.finding,)))
    (finding,) = document["findings"]
    for hint, shown in zip(kept.finding.hints, finding["hints"], strict=True):
        shown["changed_lines"] = changed_lines(kept.source, hint, _MOST_CHANGED)
        shown.pop("edits", None)
    if "witness" in finding:
        finding["witness"].pop("launch", None)  # numbers for a replay, hundreds of them
    head = {key: document[key] for key in _HEAD}
    return json.dumps({**head, "finding": finding}, indent=1)


def _bounded(text: str) -> str:
    end = "... (cut)\n"
    shown = "".join(f"{printable(line)}\n" for line in text.splitlines())
    return shown if len(shown) <= LONGEST else shown[: LONGEST - len(end)] + end
