"""The overview of a report: one row a launch, one column an obligation."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from ...results import Finding, KernelResult, Report, Times, Verdict
from ...results.codes import CODES, Family
from ...results.conditional import is_conditional, remarks, short_names, verdict_word
from ...results.details import State
from ..causes import cards

SYMBOLS: Final = {State.PROVED: "✓", State.REFUTED: "✗", State.UNDECIDED: "?"}
VERDICT_SYMBOLS: Final = {Verdict.PROVED: "✓", Verdict.REFUTED: "✗", Verdict.UNDECIDED: "?", Verdict.ERROR: "!"}
_ORDER: Final = (Verdict.ERROR, Verdict.REFUTED, Verdict.UNDECIDED, Verdict.PROVED)
_WORST: Final = (State.PROVED, State.UNDECIDED, State.REFUTED)


@dataclass(frozen=True, slots=True)
class Cell:
    """One obligation of one launch; no ``state`` where the launch has no such obligation."""

    code: str
    state: State | None
    symbol: str
    words: str


@dataclass(frozen=True, slots=True)
class Row:
    """``place``: among the results; ``word``: its verdict, with the ``remarks`` on a proof (conditions and limits);
    ``message``: what is wrong first.

    ``title``: what the kernel is called, with its ``symbol_name`` where that is longer; ``states``: code and state of
    every obligation of the launch, as the page's filter reads them.
    """

    id: str
    place: int
    result: KernelResult
    title: str
    symbol_name: str
    launch: str
    file: str
    symbol: str
    word: str
    conditional: bool
    remarks: tuple[str, ...]
    cells: tuple[Cell, ...]
    states: str
    codes: tuple[str, ...]
    message: str
    search: str
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Overview:
    rows: tuple[Row, ...]
    codes: tuple[str, ...]
    counts: dict[str, int]
    kernels: int
    milliseconds: float
    folder: str


def overview(report: Report) -> Overview:
    states = [states_of(result) for result in report.results]
    codes = tuple(sorted({code for each in states for code in each}))
    folder = _folder([result.file for result in report.results])
    found = _rows(report.results, states, codes, folder)
    rows = tuple(sorted(found, key=lambda row: (_ORDER.index(row.result.verdict), not row.conditional)))
    counts = Counter(result.verdict.value for result in report.results)
    return Overview(
        rows=rows,
        codes=codes,
        counts={verdict.value: counts[verdict.value] for verdict in Verdict},
        kernels=len({(result.file, result.kernel) for result in report.results if result.kernel}),
        milliseconds=sum(row.milliseconds for row in rows),
        folder=folder,
    )


def _folder(files: Sequence[str]) -> str:
    """The folder, with a slash, that all files lie in: rows need not repeat it."""
    if len(set(files)) < 2:
        return ""
    columns = zip(*(file.split("/")[:-1] for file in files), strict=False)
    shared = takewhile(lambda column: len(set(column)) == 1, columns)
    return "".join(f"{column[0]}/" for column in shared)


def states_of(result: KernelResult) -> dict[str, State]:
    """What became of the obligations of a launch, by code: the worst of those of one code."""
    found = dict.fromkeys(result.proved_codes, State.PROVED)
    each: list[tuple[str, State]] = []
    if result.details is not None:
        each += [(obligation.code, obligation.state) for obligation in result.details.obligations]
    each += [
        (about, State.REFUTED if finding.witness and finding.refutes else State.UNDECIDED)
        for about, finding in _asked(result)
    ]
    for code, state in each:
        found[code] = max(found.get(code, state), state, key=_WORST.index)
    return {code: state for code, state in found.items() if _is_obligation(code)}


def _asked(result: KernelResult) -> Iterator[tuple[str, Finding]]:
    for finding in result.findings:
        yield finding.obligation or finding.code, finding


def _is_obligation(code: str) -> bool:
    known = CODES.get(code)
    return known is not None and known.family not in (Family.ERROR, Family.UNDECIDED, Family.LAUNCH)


def _rows(
    results: Sequence[KernelResult], states: Sequence[dict[str, State]], codes: Iterable[str], folder: str
) -> Iterator[Row]:
    seen: Counter[str] = Counter()
    short = short_names(results)
    for place, (result, state) in enumerate(zip(results, states, strict=True)):
        name = "\0".join((result.file, result.kernel, result.launch))
        seen[name] += 1
        key = hashlib.sha256(f"{name}\0{seen[name]}".encode(errors="surrogatepass")).hexdigest()[:10]
        found = tuple(dict.fromkeys(finding.code for finding in result.findings))
        yield Row(
            id=f"k-{key}",
            place=place,
            result=result,
            title=short.get((result.file, result.kernel), result.kernel) or result.file,
            symbol_name=result.kernel if (result.file, result.kernel) in short else "",
            launch=result.launch,
            file=result.file.removeprefix(folder),
            symbol=VERDICT_SYMBOLS[result.verdict],
            word=verdict_word(result),
            conditional=is_conditional(result),
            remarks=tuple(remarks(result)),
            cells=tuple(_cell(code, state.get(code)) for code in codes),
            states=" ".join(f"{code}:{each.value}" for code, each in state.items()),
            codes=found,
            message=_message(result),
            search=" ".join((result.file, result.kernel, result.launch, *found)).lower(),
            milliseconds=spent(result.time_ms),
        )


def _message(result: KernelResult) -> str:
    """What is wrong in one line: the first mistake that is not suppressed, and how many there are beside it."""
    found = [finding for finding, _ in cards(result.findings) if finding.suppression is None]
    if not found:
        return ""
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return found[0].sentence + more


def _cell(code: str, state: State | None) -> Cell:
    if state is None:
        return Cell(code, None, "", f"{code}: nothing to prove")
    return Cell(code, state, SYMBOLS[state], f"{code}: {state.value}")


def spent(times: Times) -> float:
    """Milliseconds of verification; compilation is not ours."""
    return times.decode + times.execute + times.prove


def duration(milliseconds: float) -> str:
    """``3.1 ms``, ``240 ms``, ``1.2 s``."""
    if milliseconds < 0.05:
        return "< 0.1 ms"
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"
