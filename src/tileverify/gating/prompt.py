"""An answer of the gate in words for the model that wrote the submission: short, and the worst thing first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Final

from ..pipeline.repair import kernel_source
from ..results import WARNINGS, Finding, Hint, SourceSite, Witness
from ..results.codes import TV
from ..results.conditional import proved_if
from ..system.printable import plural, printable
from .gated import GatedKernel, GateResult

LONGEST: Final = 1500
"""Characters; the text has less."""
_LONGEST_LINE: Final = 260
_MOST_CHANGED: Final = 8


def prompt_text(result: GateResult, longest: int = LONGEST) -> str:
    """Verdict; for each kernel that is not accepted its first finding with both sides, and the hint with the edited
    lines; as many as there is room for.  Of the submission's text, only printable characters get here."""
    accepted = sum(kernel.accepted for kernel in result.kernels)
    verdict = "ACCEPTED" if result.accepted else "NOT ACCEPTED"
    head = f"{verdict}: {accepted} of {len(result.kernels)} kernel launches are accepted."
    worst_first = sorted(result.kernels, key=lambda each: (each.accepted, each.verdict != "refuted"))
    lines = chain.from_iterable(_kernel(kernel, result.source) for kernel in worst_first)
    return _bounded(chain([head], lines), longest)


def _bounded(lines: Iterable[str], longest: int) -> str:
    """Whole lines while there is room, the last for what was left out; no more lines are asked for than that."""
    end = "... (there is more)"
    kept: list[str] = []
    room = longest - len(end) - 2
    for line in lines:
        short = _cut(printable(line[: _LONGEST_LINE + 1]), _LONGEST_LINE)
        if len(short) + 1 > room:
            return "\n".join([*kept, end]) + "\n"
        room -= len(short) + 1
        kept.append(short)
    return "\n".join(kept) + "\n"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 4]} ..."


def _kernel(kernel: GatedKernel, source: bytes) -> Iterator[str]:
    name = kernel.result.kernel or kernel.result.file
    name += f" [{kernel.result.launch}]" if kernel.result.launch else ""
    if kernel.accepted:
        yield f"{name}: {proved_if(kernel.result) or 'proved'}"
        yield from (f"  limit: {limit}" for limit in kernel.result.limits)
        yield from _equality(kernel)
        return
    yield f"{name}: {proved_if(kernel.result) or kernel.verdict}"
    yield from _equality(kernel)
    if not kernel.result.findings:
        yield from (f"  {reason}" for reason in kernel.reasons[:3])
        return
    found = {finding.code for finding in kernel.result.findings}
    first, *others = kernel.result.findings
    yield from _finding(first, source)
    yield from (f"  {reason}" for reason in kernel.reasons if reason.id not in found)
    yield from (f"  also {finding.code}: {finding.sentence}" for finding in others)


def _equality(kernel: GatedKernel) -> Iterator[str]:
    """What exact numbers say of the reference; a difference is a reason, which is told for itself."""
    if kernel.equal is None:
        return
    match kernel.equal["answer"]:
        case "equal":
            sure = f"a wrong yes is less likely than 2^{kernel.equal['probability_log2']}"
            yield f"  over the real numbers it is equal to its reference at {_launches(kernel.equal)} ({sure})"
            if kernel.reasons:
                yield "  so what its floats show is rounding"
        case "not decided":
            yield f"  whether it is its reference over the real numbers is not decided: {kernel.equal['reason']}"


def _launches(equal: Mapping[str, object]) -> str:
    launches = equal["launches"]
    count = len(launches) if isinstance(launches, list) else 0
    return plural(count, "launch")


def _finding(finding: Finding, source: bytes) -> Iterator[str]:
    yield f"  {finding.code}: {finding.sentence}"
    yield from (f"    {line}" for line in finding.example)
    for side, site in zip("ab", finding.sites, strict=False):
        yield f"  side {side.upper()}: {_side(side, site, finding.witness)}"
    if finding.witness is not None:
        witness = finding.witness
        sizes = ", ".join(f"{name} = {value}" for name, value in [*witness.sizes.items(), *witness.scalars.items()])
        yield f"  {_touches(finding)} {witness.element} with grid {tuple(witness.grid)}" + (
            f" and {sizes}" if sizes else ""
        )
    for hint in finding.hints:
        yield from _hint(hint, source)


def _touches(finding: Finding) -> str:
    if finding.code == TV.DUPLICATE_LANES:
        return "two lanes touch"
    return "it reaches" if finding.code in WARNINGS or len(finding.sites) < 2 else "both touch"


def _side(side: str, site: SourceSite, witness: Witness | None) -> str:
    # The expression of an element begins with the array's name.
    what = site.expression if site.expression.startswith(site.array) else f"{site.array} {site.expression}"
    words = [f"{site.access} of {what.rstrip()}"]
    words.append("" if site.line is None else f"at line {site.line}")
    block = _blocks(witness).get(side)
    words.append("" if block is None else f"in block {block}")
    values = witness.values if witness is not None else None
    seen = [each.value for each in (values.sides if values is not None else ()) if each.side == side]
    words.append(f"with the value {seen[0]}" if seen else "")
    return " ".join(filter(None, words))


def _blocks(witness: Witness | None) -> dict[str, tuple[int, int, int]]:
    if witness is None:
        return {}
    return {"a": witness.block_a} | ({} if witness.block_b is None else {"b": witness.block_b})


def _hint(hint: Hint, source: bytes) -> Iterator[str]:
    how = {"safe": "FIX", "maybe": "POSSIBLE FIX", "display": "ADVICE"}[hint.applicability]
    yield f"  {how} ({hint.id}): {hint.text}"
    if hint.edits:
        yield from (f"    {line}" for line in changed_lines(source, hint, _MOST_CHANGED))


def changed_lines(source: bytes, hint: Hint, most: int) -> list[str]:
    """``-12: before`` and ``+12: after`` for each line that the hint changes, ``most`` of them at most."""
    return list(islice(kernel_source.changed_lines(source.decode("utf-8", errors="replace"), hint.edits), most))
