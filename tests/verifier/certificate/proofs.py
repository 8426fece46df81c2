"""Certificates of corpus kernels, and forgeries of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict
from tileverify.verifier.certificate.model import digest_of

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
        result = check_unit(unit, CheckOptions(certificate=True))
        if result.verdict is Verdict.PROVED:
            assert result.certificate is not None, result.notes
            assert result.certificate.bytecode == unit.bytecode
            written.append(Written(unit, result, result.certificate.text))
    assert written
    return tuple(written)


def forged(text: str, change: Callable[[Json], object]) -> str:
    """``text`` after ``change``, with a digest that fits again."""
    document = json.loads(text)
    change(document)
    document["digest"] = digest_of(document)
    return json.dumps(document)
