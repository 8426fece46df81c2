"""Make proved repairs in the files themselves.

What is written was proved as it is written: the text with all repairs that are made is compiled and verified once more,
under every launch of the file.  A kernel whose repair costs another launch its proof, or brings it a warning, keeps its
mistake.
"""

from __future__ import annotations

import difflib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from ...reports.snippets import edited, text_digest, well_placed
from ...results import Edit, Hint, KernelResult, Verdict
from ...results.codes import TV
from ...system.atomic_file import write_whole
from ...system.errors import TileVerifyError, UsageError
from ...system.printable import source_lines
from ..options import CheckOptions
from .repairing import codes_of

SAFE: Final = frozenset({"safe"})
ALL: Final = frozenset({"safe", "maybe"})

Proofs: TypeAlias = dict[tuple[str, str], frozenset[str]]
"""(kernel, launch) -> codes of the warnings that its proof has, TV503 also where compiled code could not be compared;
what is not proved is left out."""
Judge: TypeAlias = Callable[[Path, str], Proofs]
"""What is proved of the kernels of a file, were it the text."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """``text`` is to stand in ``file`` in place of ``before``, both with the ends of lines as they are in the file;
    ``done``: what is mended; ``left``: what is not, and why; ``proved``: the launches (kernel, name) of the file that
    were proved with that text, without a warning."""

    file: Path
    before: str
    text: str
    done: tuple[str, ...]
    left: tuple[str, ...]
    proved: frozenset[tuple[str, str]] = frozenset()

    def difference(self) -> str:
        """As ``git diff`` writes it, for ``git apply``."""
        name = self.file.as_posix().lstrip("/")
        # For Git, a line ends with \n alone.
        before, after = (io.StringIO(each, newline="\n").readlines() for each in (self.before, self.text))
        lines = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    def write(self) -> None:
        """Raises `UsageError` if the file is no longer what was checked, or cannot be written."""
        try:
            if _read(self.file) != self.before:
                raise UsageError(f"'{self.file}' has changed since it was checked: nothing was written to it")
            write_whole(self.file, self.text.encode("utf-8"))
        except UnicodeDecodeError:
            raise UsageError(f"'{self.file}' has changed since it was checked: nothing was written to it") from None
        except OSError as error:
            raise UsageError(f"cannot write '{self.file}': {error.strerror or error}") from None


def fixed(results: Sequence[KernelResult], judge: Judge, applicable: frozenset[str] = SAFE) -> Iterator[Fixed]:
    """What becomes of each file that has refuted kernels with proved repairs, or findings without one."""
    by_file: dict[str, list[KernelResult]] = {}
    for result in results:
        # What somebody suppressed, with a reason, is left as it is.
        result = replace(result, findings=tuple(each for each in result.findings if each.suppression is None))
        if result.findings and result.verdict is not Verdict.ERROR:
            by_file.setdefault(result.file, []).append(result)
    for file, found in by_file.items():
        yield _Fixing(Path(file), found, judge, applicable).run()


@dataclass
class _Fixing:
    file: Path
    results: list[KernelResult]
    judge: Judge
    applicable: frozenset[str]

    def run(self) -> Fixed:
        """One repair for each kernel, one kernel after the other."""
        try:
            whole = _read(self.file)
        except (OSError, UnicodeDecodeError):
            return Fixed(self.file, "", "", (), (f"'{self.file}' cannot be read as a text",))
        before = whole.replace("\r\n", "\n").replace("\r", "\n")
        made: list[Hint] = []
        done, left = [], []
        known: Proofs | None = None
        for kernel, launches in self._kernels().items():
            hint, why = self._hint(launches, before)
            if hint is None:
                left.append(f"{self.file}::{kernel}: {why}")
                continue
            if hint.edits in [each.edits for each in made]:
                done.append(f"{self.file}::{kernel}: {hint.text}")
                continue
            edits = tuple(edit for each in (*made, hint) for edit in each.edits)
            if not well_placed(before, edits):
                left.append(f"{self.file}::{kernel}: its repair is at the place of another one; check again for it")
                continue
            if known is None:
                known = self.judge(self.file, before)
            after = self.judge(self.file, edited(before, edits))
            lost = [launch for launch, warned in known.items() if launch not in after or after[launch] - warned]
            if lost or not all(_is_mended(each, hint, after) for each in launches):
                name = f"{lost[0][0]} [{lost[0][1]}]" if lost else kernel
                left.append(f"{self.file}::{kernel}: with the repair {name} is not proved")
                continue
            known = after
            made.append(hint)
            done.append(f"{self.file}::{kernel}: {hint.text}")
        text = edited(whole, [_ending_as(whole, edit) for hint in made for edit in hint.edits])
        proved = frozenset(launch for launch, warned in (known or {}).items() if not warned) if made else frozenset()
        return Fixed(self.file, whole, text, tuple(done), tuple(left), proved)

    def _kernels(self) -> dict[str, list[KernelResult]]:
        found: dict[str, list[KernelResult]] = {}
        for result in self.results:
            found.setdefault(result.kernel, []).append(result)
        return found

    def _hint(self, launches: Sequence[KernelResult], text: str) -> tuple[Hint | None, str]:
        """The repair of a kernel, or why there is none."""
        hints = [hint for each in launches for finding in each.findings for hint in finding.hints if hint.edits]
        hints = [hint for hint in hints if hint.source_sha256 == text_digest(text)] or hints
        if not hints:
            return None, "no repair was proved"
        if hints[0].source_sha256 != text_digest(text):
            return None, "the file has changed since it was checked"
        chosen = next((hint for hint in hints if hint.applicability in self.applicable), None)
        return chosen, "its repair may change what is meant; --unsafe-fixes makes it"


def _is_mended(result: KernelResult, hint: Hint, after: Proofs) -> bool:
    """Whether what ``hint`` is for is gone, and nothing new is there; also where it is for another launch."""
    mended = {each.code for each in result.findings if any(known.edits == hint.edits for known in each.hints)}
    left = {each.code for each in result.findings} | {TV.LAUNCH_ARTIFACT}
    left -= mended
    return not mended or after.get((result.kernel, result.launch), frozenset(mended)) <= left


def _read(file: Path) -> str:
    """With lines that end as they do in the file."""
    return file.read_bytes().decode("utf-8")


def _ending_as(text: str, edit: Edit) -> Edit:
    """The edit with lines that end as the line does at which it begins, or else most lines of the ``text`` do."""
    lines = source_lines(text)
    ends = [line[len(line.rstrip("\r\n")) :] for line in lines]
    own = ends[edit.line - 1] if edit.line <= len(lines) else ""
    return replace(edit, text=edit.text.replace("\n", own or max(("\n", "\r\n", "\r"), key=ends.count)))


def judge_of(options: CheckOptions, spec: Path | None = None) -> Judge:
    """Compile and prove the kernels of a file with another text, under all launches that it has."""

    def judge(file: Path, text: str) -> Proofs:
        from ...frontend.sources.cutile import edited_unit
        from ...frontend.sources.discover import SourceFailure, discover
        from ..unit_check import check_unit

        own = options.of(file)
        quick = CheckOptions(
            deny_requires=own.deny_requires,
            effort=own.effort,
            trust=own.trust,
            witnesses=False,
            compiled=own.compiled,
        )
        found: Proofs = {}
        for unit in discover([str(file)], spec_file=spec):
            if isinstance(unit, SourceFailure):
                continue
            try:
                result = check_unit(edited_unit(unit, text), quick)
            except TileVerifyError:
                continue
            if result.verdict is Verdict.PROVED:
                warned = codes_of(result) - {TV.INDEX_WRAPS}  # which may have been there before
                if any(not each.launches for each in result.compared_code):
                    warned |= {TV.LAUNCH_ARTIFACT}
                found[unit.kernel, unit.launch.name] = warned
        return found

    return judge
