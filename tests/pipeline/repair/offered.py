"""What is offered for a kernel that is written down with its launch."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from tileverify.pipeline import CheckOptions, check_paths
from tileverify.reports.snippets import edited
from tileverify.results import Hint, KernelResult, Verdict

HEAD = "import cuda.tile as ct\n\n\n@ct.kernel\n"


class Offer:
    """``kernel``: its ``def``; ``launch``: the keys of its launch spec, but for its name."""

    def __init__(self, folder: Path, kernel: str, launch: str, *, repair: bool = True) -> None:
        self.source = HEAD + dedent(kernel).lstrip()
        self.file = folder / "k.py"
        self.file.write_text(self.source)
        name = self.source.partition("def ")[2].partition("(")[0]
        spec = f'[[launch]]\nkernel = "{name}"\n{dedent(launch).strip()}\n'
        self.file.with_suffix(".tileverify.toml").write_text(spec)
        options = CheckOptions(repair=True) if repair else CheckOptions(quick_repairs=True)
        (self.result,) = check_paths([str(self.file)], options=options).results

    @property
    def hint(self) -> Hint:
        """The first finding's only hint."""
        (hint,) = self.result.findings[0].hints
        return hint

    @property
    def hints(self) -> list[tuple[str, str]]:
        return [(hint.id, hint.applicability) for finding in self.result.findings for hint in finding.hints]

    def mended(self) -> str:
        """The source with the repair made, proved once more as it stands there."""
        text = edited(self.source, self.hint.edits)
        self.file.write_text(text)
        (again,) = check_paths([str(self.file)]).results
        assert again.verdict is Verdict.PROVED
        assert not again.findings
        return text

    def changes(self) -> list[str]:
        """The lines that the repair puts there."""
        before = self.source.splitlines()
        return [line.strip() for line in self.mended().splitlines() if line not in before]


def verdict(result: KernelResult) -> tuple[Verdict, list[str]]:
    return result.verdict, [finding.code for finding in result.findings]
