"""Reproductions: files that `check --playback` writes run by themselves, and fail where the fault is absent."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from tests.command_line import CommandLine
from tests.written_kernel import unit_at

from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.playback import FaultNotSeen, bytecode, replay, replay_report
from tileverify.reports.playback.device import no_device
from tileverify.results.claim import claim_from_json, claim_to_json
from tileverify.results.json_report import result_from_json, result_to_json, schema_text
from tileverify.system.errors import UsageError

SOURCE = Path(__file__).resolve().parents[3] / "src"
KERNEL = """\
import cuda.tile as ct


@ct.kernel
def copy(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i{index},), tile=ct.load(x, index=(i,), shape=(16,)))
"""
SPEC = """\
[[launch]]
kernel = "copy"
grid = ["cdiv(N, 16){more}"]
requires = ["N > 16"]
args = { x = "f32[N]", out = "f32[N]" }
"""


LISTED = """\
import cuda.tile as ct


@ct.kernel
def total(xs, out):
    i = ct.bid(0)
    acc = ct.zeros((16,), dtype=ct.float32)
    for j in range(len(xs)):
        acc = acc + ct.gather(xs[j], (i * 16 + ct.arange(16, dtype=ct.int32),), check_bounds=False)
    ct.store(out, index=(i,), tile=acc)
"""
LISTED_SPEC = """\
[[launch]]
kernel = "total"
grid = ["cdiv(N, 16)"]
requires = ["N >= 1", "L >= 2"]
args = { xs = { list = "f32[5]", length = "L" }, out = "f32[N]" }
"""


@pytest.fixture(autouse=True)
def files(tileverify: CommandLine) -> None:
    for name, index, more in (("racy", " // 2", ""), ("fixed", "", ""), ("outside", "", " + 1")):
        Path(f"{name}.py").write_text(KERNEL.replace("{index}", index))
        Path(f"{name}.tileverify.toml").write_text(SPEC.replace("{more}", more))
    Path("listed.py").write_text(LISTED)
    Path("listed.tileverify.toml").write_text(LISTED_SPEC)


def unit(path: str) -> KernelUnit:
    return unit_at(path)


def pytest_of(path: Path) -> subprocess.CompletedProcess[str]:
    """A pytest of its own, without the options and plugins of this one."""
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-c", os.devnull, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)


def test_a_file_reproduces_the_fault_and_fails_without_it(tileverify: CommandLine) -> None:
    ran = tileverify("check", "racy.py", "fixed.py", "--playback", "made/here")
    assert ran.code == 1
    assert "1 reproduction in made/here" in ran.err
    (written,) = Path("made/here").iterdir()
    assert written.name == "test_racy_copy_0_TV101.py"

    found = pytest_of(written)
    assert found.returncode == 0, found.stdout
    assert "1 passed, 1 skipped" in found.stdout

    text = written.read_text()
    head, rest = text.split('playback.bytecode("""', 1)
    mended = f'{head}playback.bytecode("""{base64.b64encode(unit("fixed.py").bytecode).decode()}""")'
    Path("test_mended.py").write_text(mended + rest.split('""")', 1)[1])
    absent = pytest_of(Path("test_mended.py"))
    assert absent.returncode == 1, absent.stdout
    assert "FaultNotSeen: TV101 did not show in this launch: no TV101 shows" in absent.stdout
    assert "1 failed, 1 skipped" in absent.stdout


def test_a_file_says_what_both_sides_do(tileverify: CommandLine) -> None:
    tileverify("check", "racy.py", "--playback", "made")
    text = Path("made/test_racy_copy_0_TV101.py").read_text()
    head, body = text.split('"""\n\nimport pytest', 1)
    assert "blocks (0, 0, 0) and (1, 0, 0), at out[0:16]." in head
    assert "Values at out[0]: block A stores 1.0, block B stores 17.0; float arrays count up." in head
    assert "(seen.array, seen.element) == ('out', 'out[0:16]')" in body


def test_a_launch_with_a_list(tileverify: CommandLine) -> None:
    ran = tileverify("check", "listed.py", "--playback", "made")
    assert ran.code == 1
    assert "xs[0][5:16]" in ran.out
    assert "N = 1   L = 2" in ran.out
    (written,) = Path("made").iterdir()
    found = pytest_of(written)
    assert found.returncode == 0, found.stdout
    assert "1 passed, 1 skipped" in found.stdout


def test_a_saved_report_is_replayed(tileverify: CommandLine) -> None:
    tileverify("check", "racy.py", "fixed.py", "outside.py", "listed.py", "--format", "json", "--output", "report.json")
    report = json.loads(Path("report.json").read_text())
    shown = [(each.file, each.kernel, each.launch, each.code, each.seen.element) for each in replay_report(report)]
    assert shown == [
        (result["file"], result["kernel"], result["launch"], finding["code"], finding["witness"]["element"])
        for result in report["results"]
        for finding in result["findings"]
    ]
    assert {code for *_, code, _ in shown} == {"TV101", "TV301", "TV302"}

    Path("racy.py").write_text(KERNEL.replace("{index}", " // 4"))
    with pytest.raises(UsageError, match=r"racy\.py::copy \[0\] is not what the report speaks of"):
        list(replay_report(report))
    Path("racy.tileverify.toml").write_text(
        SPEC.replace("{more}", "").replace("[[launch]]", '[[launch]]\nname = "new"')
    )
    with pytest.raises(UsageError, match="not there any more"):
        list(replay_report(report))


def test_what_is_printed_is_what_is_written(tileverify: CommandLine) -> None:
    tileverify("check", "racy.py", "--playback", "folder")
    printed = tileverify("check", "racy.py", "--playback", "print", "-q")  # from the cache this time
    assert printed.code == 1
    report, text = printed.out.split("# test_racy_copy_0_TV101.py\n")
    assert "error[TV101]" in report
    assert text.rstrip() == Path("folder/test_racy_copy_0_TV101.py").read_text().rstrip()


def test_files_of_one_name_are_kept_apart(tileverify: CommandLine) -> None:
    Path("sub").mkdir()
    for name in ("racy.py", "racy.tileverify.toml"):
        Path("sub", name).write_text(Path(name).read_text())
    tileverify("check", "racy.py", "sub", "--playback", "made")
    assert sorted(os.listdir("made")) == ["test_racy_copy_0_TV101.py", "test_racy_copy_0_TV101_2.py"]


def test_nothing_to_reproduce(tileverify: CommandLine) -> None:
    ran = tileverify("check", "fixed.py", "--playback", "made")
    assert ran.code == 0
    assert "no reproduction was written" in ran.err
    assert not Path("made").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--playback", "racy.py"], "--playback: 'racy.py' is not a folder"),
        (["--playback", "print", "--format", "json"], "give --output or a folder"),
    ],
)
def test_refused(tileverify: CommandLine, arguments: list[str], sentence: str) -> None:
    ran = tileverify("check", "racy.py", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err


@pytest.mark.parametrize("path", ["racy.py", "outside.py"])
def test_a_witness_carries_its_launch_through_json(path: str, tileverify: CommandLine) -> None:
    result = check_unit(unit(path), CheckOptions(playback=True))
    assert len(result.playback) == len(result.findings) > 0
    document = json.loads(json.dumps(result_to_json(result)))
    back = result_from_json(document)
    assert [finding.witness for finding in back.findings] == [finding.witness for finding in result.findings]
    witness = back.findings[0].witness
    assert witness is not None
    assert witness.launch is not None
    kernel = unit(path)
    parameters = [(p.role.value, p.argument, p.dim, p.static) for p in kernel.parameters]
    assert replay(kernel.bytecode, kernel.symbol, parameters, witness.launch).element == witness.element

    report = json.loads(tileverify("check", path, "--format", "json").out)
    jsonschema.validate(report, json.loads(schema_text()))
    del report["results"][0]["findings"][0]["witness"]["launch"]["grid"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, json.loads(schema_text()))


def test_claims_keep_every_part() -> None:
    array = ConcreteArray("i32", (3, 2), (5, 1), {7: -1, 2: 4}, 3, "memory", 8)
    launch = ConcreteLaunch((4, 3, 2), {"idx": array}, {"n": -2}, {"xs": (array, array)}, {"scale": 0.5})
    result = check_unit(unit("racy.py"))
    assert result.findings[0].witness is not None
    assert result.findings[0].witness.launch is not None
    _, claim = claim_from_json(result.findings[0].witness.launch)
    document = json.loads(json.dumps(claim_to_json(launch, claim)))
    assert claim_from_json(document) == (launch, claim)


def test_faults_that_a_gpu_does_not_survive_are_not_tried() -> None:
    (finding, *_) = check_unit(unit("outside.py")).findings
    assert finding.witness is not None
    assert finding.witness.launch is not None
    assert "may end the process" in (no_device(finding.witness.launch) or "")


def test_kernels_that_are_not_assembled_are_not_tried() -> None:
    (finding, *_) = check_unit(unit("racy.py")).findings
    assert finding.witness is not None
    assert finding.witness.launch is not None
    (waits,) = (each for each in discover([f"{ROOT / 'protocols' / 'turns.py'}::add_in_turn"]))
    assert isinstance(waits, KernelUnit)
    assert "tileiras makes this acquire load once in each warp" in (
        no_device(finding.witness.launch, waits.bytecode) or ""
    )


def test_launches_that_are_too_large_to_repeat_are_not_tried() -> None:
    (finding, *_) = check_unit(unit("racy.py")).findings
    assert finding.witness is not None
    assert finding.witness.launch is not None
    launch, claim = claim_from_json(finding.witness.launch)
    large = replace(launch, arrays={**launch.arrays, "x": ConcreteArray("f32", (1 << 28,), (1,))})
    assert "more than 1024 MiB" in (no_device(claim_to_json(large, claim)) or "")
    assert "MiB" not in (no_device(finding.witness.launch) or "")


def test_damaged_reproductions_say_so() -> None:
    kernel = unit("racy.py")
    with pytest.raises(Exception, match="is not base64"):
        bytecode("?")
    with pytest.raises(Exception, match="no entry 'paste'"):
        replay(kernel.bytecode, "paste", [], {})
    with pytest.raises(Exception, match="incomplete: KeyError"):
        replay(kernel.bytecode, kernel.symbol, [], {"grid": [1, 1, 1]})
    assert issubclass(FaultNotSeen, AssertionError)
