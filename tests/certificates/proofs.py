"""Certificates of corpus kernels, and forgeries of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from tileverify.certificates.document import certificate_text, digest_of
from tileverify.certificates.write import certify
from tileverify.check import check_unit, summary_of
from tileverify.corpus import ROOT
from tileverify.frontend.bytecode import decode
from tileverify.frontend.sources.discover import discover
from tileverify.frontend.sources.launch import KernelUnit
from tileverify.results import KernelResult, Verdict

Json = dict[str, Any]


class Written(NamedTuple):
    unit: KernelUnit
    result: KernelResult
    text: str


@cache
def certificates_of(target: str) -> tuple[Written, ...]:
    """The certificates of all proved launches of ``folder/name.py`` in the corpus."""
    written = []
    for unit in discover([str(ROOT / target)]):
        assert isinstance(unit, KernelUnit), unit
        result = check_unit(unit)
        if result.verdict is Verdict.PROVED:
            certificate = certify(unit, summary_of(decode(unit.bytecode), unit), result)
            written.append(Written(unit, result, certificate_text(certificate)))
    assert written
    return tuple(written)


def forged(text: str, change: Callable[[Json], None]) -> str:
    """``text`` after ``change``, with a digest that fits again."""
    document = json.loads(text)
    change(document)
    document["digest"] = digest_of(document)
    return json.dumps(document)
