"""What a label says of its launch, held against a result."""

from __future__ import annotations

from tileverify.corpus import Labelled
from tileverify.results import KernelResult, Verdict


def check_label(label: Labelled, result: KernelResult) -> None:
    """Fail unless ``result`` has the verdict and the findings that ``label`` argues for."""
    found = [finding.code for finding in result.findings]
    assert result.verdict in label.acceptable, f"{label.reason}\n{[finding.message for finding in result.findings]}"
    assert not label.adds or set(result.requires) == set(label.adds)
    assert set(result.limits) == set(label.limits) or result.verdict is not Verdict.PROVED
    if result.verdict is Verdict.PROVED:
        assert sorted(set(found)) == sorted(label.warnings), f"{label.reason}\n{found}"
        undetermined = [finding for finding in result.findings if finding.code == "TV403"]
        assert all(finding.witness and finding.witness.confirmed_by for finding in undetermined)
        assert not (undetermined and result.deterministic)
    lacking = [hint.requires for finding in result.findings for hint in finding.hints if hint.requires]
    assert not label.lacks or lacking == [label.lacks], label.reason
    if result.verdict is Verdict.REFUTED:
        assert label.code in found, f"{label.reason}\n{found}"
        broken = [finding for finding in result.findings if not finding.code.startswith("TV9")]
        assert {finding.code for finding in broken} <= label.codes, f"{label.reason}\n{found}"
        assert all(finding.witness and finding.witness.confirmed_by for finding in broken)
    if result.verdict is Verdict.UNDECIDED:
        assert all(code.startswith("TV9") for code in found)
        assert label.needs or label.code in found, f"{label.reason}\n{found}"
