"""What ``recheck`` found, for people and for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ...contract.launch import ConstantArgument, flat
from ...contract.trustable import taken_for_granted, trusted_text
from ...results import CodeAgain, SecondReading, reading_lines
from ...results.codes import Tier
from ...results.json_report import Json, to_json
from ...system.printable import plural, printable
from .launches import contract_lines, launch_to_json
from .model import Certificate, Proved
from .recheck import Means, Rechecked, Rechecking
from .reread import SHARED, By, Reread

SCHEMA: Final = "tileverify/recheck/1"
_SHOWN: Final = 10
"""Obligations of one certificate that are named in the text."""


@dataclass(frozen=True, slots=True)
class CertificateRow:
    """One certificate file: what checking it found, or why it was rejected before a solver saw it; ``reading``: how it
    compares with runs, where that was asked for; ``code``: what became of what it says of compiled code."""

    file: str
    found: Rechecked | None = None
    problem: str = ""
    reading: SecondReading | None = None
    code: tuple[CodeAgain, ...] = ()

    @property
    def answer(self) -> Rechecking:
        if self.found is None or (self.reading is not None and not self.reading.agrees):
            return Rechecking.REJECTED
        if any(each.contradicted for each in self.code):
            return Rechecking.REJECTED
        if self.found.answer is Rechecking.CONFIRMED and not all(each.confirmed for each in self.code):
            return Rechecking.OPEN
        return self.found.answer


def exit_code(rows: Sequence[CertificateRow]) -> int:
    """0 everything confirmed, 1 something rejected, 3 something not confirmed and nothing rejected."""
    answers = {row.answer for row in rows}
    return 1 if Rechecking.REJECTED in answers else 3 if Rechecking.OPEN in answers else 0


# -------------------------------------------------------------------------------------------------- text
def recheck_text(rows: Sequence[CertificateRow], tool: str, solver: str, *, verbose: bool = False) -> str:
    """Lines for each certificate and a sum; ends with a newline.  ``verbose``: a line for each obligation, too."""
    lines = [line for row in rows for line in (*_row_lines(row), *(_means_lines(row) if verbose else ()))]
    found = [row.found for row in rows if row.found is not None]
    counts = ", ".join(f"{sum(each.count(answer) for each in found)} {answer.value}" for answer in Rechecking)
    total = sum(len(each.answers) for each in found)
    lines.append(f"{plural(len(rows), 'certificate')} with {plural(total, 'obligation')}: {counts}")
    if verbose:
        lines += [f"{count} by {words}" for words, count in counted_means(found)]
    lines += _replayed([row.reading for row in rows if row.reading is not None])
    broken = sum(row.found is None for row in rows)
    if broken:
        lines.append(f"{plural(broken, 'certificate')} rejected as a whole")
    if any(row.found is not None and row.found.reread is not None and row.found.derived for row in rows):
        lines.append(f"shared with the prover: {SHARED}")
    lines.append(f"checked with tileverify {tool} and {solver}; trusted: {', '.join(_rests_on(rows))}")
    return "".join(f"{printable(line)}\n" for line in lines)


def _replayed(readings: Sequence[SecondReading]) -> Iterator[str]:
    """The sum of all second readings."""
    if readings:
        blocks, accesses, launches = (
            sum(getattr(each, name) for each in readings) for name in ("blocks", "accesses", "launches")
        )
        nothing = sum(not each.accesses for each in readings)
        broken = sum(not each.agrees for each in readings)
        found = f"{blocks} blocks and {accesses} accesses: {plural(broken, 'disagreement')}"
        missed = f", nothing compared of {plural(nothing, 'certificate')}" if nothing else ""
        yield f"replayed {launches} launches with {found}{missed}"


TRUSTED: Final = (
    "the reading of the bytecode and of layouts",
    "the lemma schemas, which two solvers prove in the tests",
    "the second solver",
)


def _rests_on(rows: Sequence[CertificateRow]) -> tuple[str, ...]:
    """What is trusted, with what the contracts of single certificates trust beyond that."""
    words = dict.fromkeys(word for row in rows if row.found for word in taken_for_granted(row.found.certificate.launch))
    alone = any(
        row.found is not None and (row.found.reread is None or row.found.reread.by is not By.CHECKER) for row in rows
    )
    reading = TRUSTED[:1] if alone else ("the reading of the file",)
    return (*reading, *TRUSTED[1:], *trusted_text(words))


def _row_lines(row: CertificateRow) -> Iterator[str]:
    if row.found is None:
        yield f"{row.answer.value:13}  {row.file}: {row.problem}"
        return
    certificate = row.found.certificate
    yield f"{row.answer.value:13}  {row.file}: {certificate.kernel}"
    yield from (f"{'':13}  {line}" for line in _statement_lines(row.found))
    tiers = ", ".join(
        f"{row.found.count(Rechecking.CONFIRMED, tier)} of {total} {tier}"
        for tier in (Tier.STRUCTURAL, Tier.LINEAR, Tier.BIT_VECTORS, Tier.NONLINEAR)
        if (total := sum(proved.tier == tier for proved in certificate.obligations))
    )
    yield f"{'':13}  obligations confirmed: {tiers or 'there are none'}"
    if row.reading is not None:
        yield from (f"{'':13}  replayed: {line}" for line in reading_lines(row.reading))
    yield from (f"{'':13}  compiled: {each}" for each in row.code)
    if reason := _open_because(row.found):
        yield f"{'':13}  not confirmed: {reason}"
    if row.found.reread is not None and row.found.derived:
        yield f"{'':13}  {reader_text(row.found.reread)}"
    for answer in (Rechecking.REJECTED, Rechecking.OPEN):
        pairs = zip(certificate.obligations, row.found.answers, strict=True)
        named = [proved for proved, each in pairs if each is answer]
        yield from (f"{'':13}  {answer.value}: {_obligation(proved, certificate)}" for proved in named[:_SHOWN])
        if len(named) > _SHOWN:
            yield f"{'':13}  {answer.value}: {len(named) - _SHOWN} more"


def counted_means(found: Iterable[Rechecked]) -> list[tuple[str, int]]:
    """How many obligations have which confirmation, in words; the most frequent first."""
    return Counter(_means_text(means) for each in found for means in each.means).most_common()


def _means_text(means: Sequence[Means]) -> str:
    return " and ".join(each.value for each in means)


def _means_lines(row: CertificateRow) -> Iterator[str]:
    """By what each obligation is confirmed."""
    if row.found is not None:
        certificate = row.found.certificate
        for proved, means in zip(certificate.obligations, row.found.means, strict=True):
            yield f"{'':13}  {_means_text(means)}: {_obligation(proved, certificate)}"


def _statement_lines(found: Rechecked) -> Iterator[str]:
    """What was looked at: the bytecode, and the contract that its obligations are about."""
    certificate = found.certificate
    if found.bytecode_sha256 is not None:
        yield f"bytecode  entry {certificate.symbol}, sha256 {found.bytecode_sha256}"
    lines = [*contract_lines(certificate.launch), *(("requires", clause) for clause in certificate.requires)]
    before = ""
    for label, text in lines:
        yield f"{'' if label == before else label:9} {text}"
        before = label
    told = [certificate.file, f"launch {certificate.launch.name}", *_compiled_in(certificate)]
    yield f"told by the certificate, and not looked at: {', '.join(told)}"


def _compiled_in(certificate: Certificate) -> Iterator[str]:
    """The names of constants: bytecode has numbers, and does not say which of them a constant was."""
    return (each.name for each in flat(certificate.launch.arguments) if isinstance(each, ConstantArgument))


def _open_because(found: Rechecked) -> str | None:
    if found.reread is not None and found.reread.by is By.NOBODY:
        return f"the checker alone does not follow the bytecode: {found.reread.why}"
    if not found.derived:
        return "not derived again from the bytecode, which is not at hand (--bytecode FILE)"
    return None if found.answers else "there is nothing to confirm, as it has no obligations"


def _obligation(proved: Proved, certificate: Certificate) -> str:
    places = dict.fromkeys(certificate.places[number].at for number in proved.places)
    detail = f" ({proved.detail})" if proved.detail else ""
    return f"{proved.code}{detail} at {' and '.join(places)}, question {proved.question}"


def reader_text(reread: Reread) -> str:
    """Who read the bytecode, in a line."""
    if reread.by is By.CHECKER:
        return f"bytecode read by the checker's own rules, {plural(reread.asked, 'question')} left to the second solver"
    return f"bytecode read by the prover's executor alone: {reread.why}"


# -------------------------------------------------------------------------------------------------- JSON
def recheck_json(rows: Sequence[CertificateRow], tool: str, solver: str) -> str:
    """One document, ending with a newline."""
    checked = {"version": tool, "solver": solver, "trusted": _rests_on(rows)}
    return json.dumps({"schema": SCHEMA, "tool": checked, "certificates": list(map(_row, rows))}, indent=2) + "\n"


def _row(row: CertificateRow) -> Json:
    if row.found is None:  # no solver saw it
        return {"certificate": row.file, "answer": row.answer.value, "problem": row.problem}
    certificate = row.found.certificate
    pairs = zip(certificate.obligations, row.found.answers, row.found.means, strict=True)
    return {
        "certificate": row.file,
        "answer": row.answer.value,
        "file": certificate.file,
        "kernel": certificate.kernel,
        "launch": certificate.launch.name,
        "entry": certificate.symbol,
        "contract": launch_to_json(certificate.launch),
        "requires": certificate.requires,
        "told": [
            "file",
            "launch",
            *_compiled_in(certificate),
        ],  # what the certificate alone says, and nothing was compared with
        "bytecode_sha256": row.found.bytecode_sha256 or certificate.bytecode_sha256,
        "derived": row.found.derived,
        "reason": _open_because(row.found),
        "obligations": [_answered(proved, certificate, answer, means) for proved, answer, means in pairs],
        **({} if row.reading is None else {"second_reading": to_json(row.reading)}),
        **({} if row.found.reread is None else {"read_by": _reader(row.found.reread)}),
        **({"compiled": list(map(_code_again, row.code))} if row.code else {}),
    }


def _answered(proved: Proved, certificate: Certificate, answer: Rechecking, means: Sequence[Means]) -> Json:
    return {
        "code": proved.code,
        "rung": proved.tier.value,  # the tier that proved it when the certificate was made
        "at": [certificate.places[number].at for number in proved.places],
        "question": proved.question,
        "answer": answer.value,
        "confirmed_by": [each.value for each in means],
    }


def _reader(reread: Reread) -> Json:
    """``reason``: why it was not the checker; ``asked``: questions left to the second solver; ``shared``: what the
    checker and the prover have in common."""
    return {"by": reread.by.value, "reason": reread.why, "asked": reread.asked, "shared": SHARED}


def _code_again(code: CodeAgain) -> Json:
    other = Rechecking.REJECTED if code.contradicted else Rechecking.OPEN
    answer = Rechecking.CONFIRMED if code.confirmed else other
    reason = code.contradicted or code.why_not
    return {"stated": to_json(code.stated), "answer": answer.value, "reason": reason}
