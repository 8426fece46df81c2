"""A fault that hangs on what a kernel computes from an array hangs on the contents, as an element itself does."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.results import KernelResult, Verdict

KERNEL = """
import cuda.tile as ct

@ct.kernel
def use(lens, x, out):
    own = ct.load(lens, index=(ct.bid(0),), shape=(4,))
    most = 0
    {most}
    {use}
"""
MOST = {
    "element": "most = ct.load(lens, index=(ct.bid(0),), shape=(1,)).item()",
    "reduction": "most = ct.max(own).item()",
    "scan": "most = ct.extract(ct.cumsum(own, axis=0), index=(3,), shape=(1,)).item()",
    "float": "most = ct.astype(ct.astype(own, ct.float32) * 1.0, ct.int32)\n    most = ct.max(most).item()",
    "loop": "for k in range(4):\n        most = max(most, ct.load(lens, index=(k,), shape=(1,)).item())",
}
USES = {
    "divisor": "ct.store(out, index=(ct.bid(0),), tile=ct.load(x, index=(0,), shape=(1,)) // most)",
    "place": "ct.store(out, index=(ct.bid(0),), tile=ct.gather(x, (most - 1,), check_bounds=False).reshape((1,)))",
}
SPEC = """
kernel = "use"
grid = ["1"]
{facts}
args = {{ lens = "{element}[4]", x = "i32[64]", out = "i32[1]" }}
"""


def result(folder: Path, most: str, use: str, facts: str, element: str = "i32") -> KernelResult:
    source = KERNEL.format(most=MOST[most], use=USES[use])
    return judged(folder, source, SPEC.format(facts=facts, element=element))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("facts", ["", 'origin = "recorded"\nobserved = ["range(lens, 1, 9)"]'])
def test_contents_that_nobody_promised_refute_nothing(tmp_path: Path, most: str, use: str, facts: str) -> None:
    """A length of 0 breaks it, and a fact may exclude that."""
    assert result(tmp_path, most, use, facts).verdict in (Verdict.UNDECIDED, Verdict.PROVED)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("most", [each for each in MOST if each != "element"])
def test_values_that_a_person_wrote_do(tmp_path: Path, most: str, use: str) -> None:
    found = result(tmp_path, most, use, 'data = ["range(lens, 0, 9)"]')
    assert found.verdict is Verdict.REFUTED
    (finding, *_) = found.findings
    assert finding.code == ("TV402" if use == "divisor" else "TV302")


@pytest.mark.parametrize("most", ["reduction", "scan"])
def test_a_fault_with_all_contents_is_the_kernels_own(tmp_path: Path, most: str) -> None:
    kernel = KERNEL.format(most=MOST[most], use=USES["divisor"].replace("// most", "// (most - most)"))
    spec = SPEC.format(facts='data = ["range(lens, 1, 9)"]', element="i32")
    assert judged(tmp_path, kernel, spec).verdict is Verdict.REFUTED


def test_elements_of_64_bits_are_tried_as_well(tmp_path: Path) -> None:
    assert result(tmp_path, "float", "divisor", "", "i64").verdict is Verdict.UNDECIDED
    assert result(tmp_path, "float", "divisor", 'data = ["range(lens, 0, 9)"]', "i64").verdict is Verdict.REFUTED
