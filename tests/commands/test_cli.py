"""The command line: exit codes, streams, errors in one sentence, what --help loads."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.command_line import CommandLine, Ran, interruptible

from tileverify import pipeline
from tileverify.results import Finding, KernelResult, ObligationCount, Report, Times, Verdict
from tileverify.results.codes import CODES
from tileverify.results.json_report import schema_text

SOURCE = Path(__file__).resolve().parents[2] / "src"
SHA = "ab" * 32

KERNELS = """\
import cuda.tile as ct


@ct.kernel
def copy(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(64,)))


@ct.kernel
def halves(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i // 2,), tile=ct.load(x, index=(i,), shape=(64,)))
"""
SPEC = """\
[[launch]]
kernel = "copy"
grid = ["cdiv(N, 64)"]
args = { x = "f32[N]", out = "f32[N]" }

[[launch]]
kernel = "halves"
grid = ["cdiv(N, 64)"]
args = { x = "f32[N]", out = "f32[N]" }
"""


@pytest.fixture
def kernels(tileverify: CommandLine) -> Path:
    Path("kernels.py").write_text(KERNELS)
    Path("kernels.tileverify.toml").write_text(SPEC)
    return Path("kernels.py")


def result(verdict: Verdict, code: str = "TV101") -> KernelResult:
    finding = Finding(code, "message")
    return KernelResult(
        "k.py",
        "k",
        verdict.value,
        verdict,
        holds_for="any" if verdict is Verdict.PROVED else None,
        findings=() if verdict is Verdict.PROVED else (finding,),
        obligations=ObligationCount(1, 1, 0),
        bytecode_sha256=SHA,
        time_ms=Times(1, 1, 1, 1),
    )


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replaces the pipeline by one that gives these verdicts."""

    def replace(*wanted: Verdict) -> None:
        report = Report(tuple(map(result, wanted)), "0", "z3")
        monkeypatch.setattr(pipeline, "check_paths", lambda *arguments, **options: report)

    return replace


P, U, R, E = Verdict.PROVED, Verdict.UNDECIDED, Verdict.REFUTED, Verdict.ERROR


# -------------------------------------------------------------------------------------------- exit codes
@pytest.mark.parametrize(
    ("wanted", "flags", "code"),
    [
        ([P, P], [], 0),
        ([P, R, U], [], 1),
        ([P, R, U], ["--allow-undecided"], 1),
        ([P, E, R], ["--allow-undecided"], 2),
        ([P, R], ["--exit-zero"], 0),
        ([R, U], ["--exit-zero"], 3),
        ([R, U], ["--exit-zero", "--allow-undecided"], 0),
        ([P, E, R], ["--exit-zero"], 2),
        ([], ["--exit-zero"], 4),
        ([P, U], [], 3),
        ([P, U], ["--strict"], 3),
        ([P, U], ["--allow-undecided"], 0),
        ([], [], 4),
        ([], ["--allow-undecided"], 4),
    ],
)
@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github", "junit"])
def test_exit_code_of_check(
    tileverify: CommandLine,
    verdicts: Callable[..., None],
    wanted: Sequence[Verdict],
    flags: Sequence[str],
    code: int,
    format_: str,
) -> None:
    verdicts(*wanted)
    ran = tileverify("check", "k.py", "--format", format_, *flags)
    assert ran.code == code
    if format_ == "json":
        assert [each["verdict"] for each in json.loads(ran.out)["results"]] == [each.value for each in wanted]


def one_sentence(ran: Ran) -> str:
    """The only thing that an error says: a line on stderr."""
    assert ran.out == ""
    assert ran.err.endswith("\n")
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("error: ")
    return ran.err.removeprefix("error: ").rstrip()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check"], "no PATH given"),
        (["check", "k.py", "--colour"], "--colour"),
        (["check", "k.py", "--format", "yaml"], "'yaml' is not one of 'text', 'json'"),
        (["check", "k.py", "-j", "-1"], "-1"),
        (["check", "k.py", "--timeout", "0"], "0"),
        (["check", "k.py", "--output", "no/such/folder/out.json"], "there is no folder"),
        (["check", "k.py", "-q", "-v"], "--quiet and --verbose"),
        (["check", "missing.py"], "there is no file or folder 'missing.py'"),
        (["check", ".", "--spec", "missing.toml"], "missing.toml"),
        (["chekc", "k.py"], "chekc"),
        (["explain", "TV110"], "did you mean TV10"),
        (["dis", "missing.tileirbc"], "there is no file or folder"),
        (["list", "missing.py"], "there is no file or folder"),
        (["footprint", "missing.py::k"], "there is no file or folder"),
        (["record"], "COMMAND"),
        (["record", "--capability", "nine", "--", "python"], "no compute capability"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(
    tileverify: CommandLine, arguments: Sequence[str], told: str
) -> None:
    ran = tileverify(*arguments)
    assert ran.code == 2
    assert told in one_sentence(ran)


@pytest.mark.parametrize("group", [(), ("worker",)])
def test_a_group_alone_prints_its_help(tileverify: CommandLine, group: tuple[str, ...]) -> None:
    ran = tileverify(*group)
    assert ran.code in (0, 2)  # as this version of click has it
    lines = (ran.out + ran.err).splitlines()
    assert lines[0].startswith("Usage: ")
    assert "Commands:" in lines


@pytest.mark.parametrize("command", ["check", "list", "footprint", "dis"])
def test_no_kernel_is_exit_code_4(tileverify: CommandLine, command: str) -> None:
    Path("plain.py").write_text("x = 1\n")
    ran = tileverify(command, "plain.py")
    assert ran.code == 4
    assert "no tile kernel" in ran.err
    assert ran.out == ""


def test_no_kernel_in_json_is_an_empty_report(tileverify: CommandLine) -> None:
    Path("plain.py").write_text("x = 1\n")
    ran = tileverify("check", "plain.py", "--format", "json")
    assert ran.code == 4
    assert json.loads(ran.out)["results"] == []


@pytest.mark.parametrize("error", [RuntimeError("odd\x1b[2J"), RecursionError(), SystemExit(0), SystemExit("bye")])
def test_a_failure_of_the_tool_is_exit_code_2_and_one_sentence(
    tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(pipeline, "check_paths", fail)
    ran = tileverify("check", "k.py")
    assert ran.code == 2
    sentence = one_sentence(ran)
    assert "please report this" in sentence
    assert "\x1b" not in sentence


@pytest.mark.parametrize("ask", ["option", "environment"])
def test_traceback_on_demand(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch, ask: str) -> None:
    monkeypatch.setenv("TILEVERIFY_TRACEBACK", "" if ask == "option" else "1")
    ran = tileverify(*(["--traceback"] if ask == "option" else []), "check", "missing.py")
    assert ran.code == 2
    assert "Traceback (most recent call last)" in ran.err
    assert ran.err.splitlines()[-1].startswith("error: there is no file")


# ----------------------------------------------------------------------------------------------- streams
def test_json_goes_to_stdout_and_talk_to_stderr(tileverify: CommandLine, kernels: Path) -> None:
    noisy = "print('noise')\nimport os\nos.write(1, b'raw noise\\n')\n"
    kernels.write_text(noisy + KERNELS)
    ran = tileverify("check", "kernels.py", "--format", "json")
    report = json.loads(ran.out)
    jsonschema.Draft202012Validator(json.loads(schema_text())).validate(report)
    assert "noise" in ran.err
    assert "raw noise" in ran.err


def test_output_file_holds_the_report_and_stdout_nothing(
    tileverify: CommandLine, verdicts: Callable[..., None]
) -> None:
    verdicts(P, R)
    Path("report.json").write_text("old")
    ran = tileverify("check", "k.py", "--format", "json", "--output", "report.json")
    assert ran.code == 1
    assert ran.out == ""
    assert "1 refuted" in ran.err
    assert len(json.loads(Path("report.json").read_text())["results"]) == 2
    assert [path.name for path in Path().iterdir()] == ["report.json"]


def test_several_reports_of_one_run(tileverify: CommandLine, verdicts: Callable[..., None]) -> None:
    verdicts(P, R)
    outputs = ["--output", "sarif=out.sarif", "--output", "junit=out.xml", "--output", "json=out.json"]
    ran = tileverify("check", "k.py", *outputs)
    assert ran.code == 1
    assert ran.out.startswith("proved ")
    assert ran.err.rstrip().endswith("written to out.sarif, out.xml, out.json")
    assert json.loads(Path("out.sarif").read_text())["version"] == "2.1.0"
    assert "<testsuites" in Path("out.xml").read_text()
    assert len(json.loads(Path("out.json").read_text())["results"]) == 2
    assert tileverify("check", "k.py", *outputs, "--format", "github").out.startswith("::error ")
    assert tileverify("check", "k.py", "--output", "./sarif=x").code == 1
    assert Path("sarif=x").read_text().startswith("proved ")


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        (["a", "b"], "one FILE takes the report"),
        (["a", "json=a"], "two reports would be written to 'a'"),
        (["sarif="], "the file is missing"),
        (["."], "is a folder"),
        (["sarif=no/such"], "there is no folder 'no'"),
        (["srif=out.sarif"], "no format 'srif'; did you mean 'sarif'? (a file of that name: ./srif=out.sarif)"),
        (["csv=out"], "no format 'csv'; there are text, json, "),
    ],
)
def test_bad_outputs_are_told_before_the_work(tileverify: CommandLine, outputs: Sequence[str], told: str) -> None:
    ran = tileverify("check", "missing.py", *(word for output in outputs for word in ("--output", output)))
    assert ran.code == 2
    assert told in one_sentence(ran)


def test_an_output_that_cannot_be_written_is_exit_code_2(
    tileverify: CommandLine, verdicts: Callable[..., None]
) -> None:
    verdicts(P)
    if Path("/dev/full").exists():
        ran = tileverify("check", "k.py", "--output", "/dev/full")
        assert ran.code == 2
        assert "cannot write '/dev/full'" in one_sentence(ran)


@pytest.mark.parametrize(
    ("flags", "no_color", "coloured"),
    [([], "", False), (["--color", "always"], "1", True), (["--color", "never"], "", False)],
)
def test_colour_in_a_pipe_only_where_asked_for(
    tileverify: CommandLine,
    verdicts: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    flags: Sequence[str],
    no_color: str,
    coloured: bool,
) -> None:
    verdicts(P, R, U)
    monkeypatch.setenv("NO_COLOR", no_color)
    ran = tileverify("check", "k.py", *flags)
    assert ("\x1b[" in ran.out) is coloured


def test_quiet_and_verbose(tileverify: CommandLine, verdicts: Callable[..., None]) -> None:
    verdicts(P, U)
    normal, quiet, verbose = (tileverify("check", "k.py", *flags).out for flags in ([], ["-q"], ["-v"]))
    assert "proved " in normal
    assert "trusted:" in normal
    assert "proved " not in quiet
    assert "undecided" in quiet
    assert "trusted:" not in quiet
    assert SHA in verbose
    assert SHA not in normal


# ---------------------------------------------------------------------------------------- other processes
def spawn(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **options.pop("environment", {})}
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["check", "--help"], ["explain", "TV101"], ["schema"]]
)
def test_help_loads_nothing_heavy(arguments: Sequence[str]) -> None:
    process = spawn("-X", "importtime", "-m", "tileverify", *arguments)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in err.splitlines() if "|" in line}
    assert "tileverify" in loaded
    assert not loaded & {"z3", "cuda", "numpy", "rich", "asyncio", "multiprocessing"}


def test_loading_and_ending_search_for_few_cycles(kernels: Path) -> None:
    """Hundreds of searches through what stays loaded would be a tenth of what a check of one kernel costs."""
    program = """
import atexit, gc, sys
from tileverify.commands.program import main
searches = []
gc.callbacks.append(lambda phase, information: searches.append(phase))
atexit.register(lambda: print(len(searches), gc.get_freeze_count(), file=sys.stderr))  # runs after those of the tool
sys.argv = ["tileverify", "check", "kernels.py", "--no-cache", "--jobs", "1"]
main()
"""
    process = spawn("-c", program)
    _, err = process.communicate(timeout=120)
    searches, frozen = map(int, err.splitlines()[-1].split())
    assert searches < 80
    assert frozen > 50_000


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals as POSIX has them")
@pytest.mark.parametrize("arguments", [["explain"], ["schema"], ["--help"]])
def test_a_closed_pipe_is_no_success_and_no_traceback(arguments: Sequence[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [sys.executable, "-m", "tileverify", *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(write)
    assert process.returncode == 141
    assert process.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk as Linux has it")
@pytest.mark.parametrize("redirected", ["> /dev/full", ">&-"])
@pytest.mark.parametrize(
    "arguments", ["explain", "schema", "--help", "check kernels.py --format json", "list kernels.py"]
)
def test_a_full_disk_is_no_failure_of_the_tool(kernels: Path, arguments: str, redirected: str) -> None:
    process = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m tileverify {arguments} {redirected}"],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "TILEVERIFY_CRASH_DIR": "crashes"},
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 2
    assert process.stderr in (
        "error: cannot write: No space left on device\n",
        "error: cannot write: standard output is closed\n",
    )
    assert not Path("crashes").exists()


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals as POSIX has them")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_at_once_with_130(kernels: Path, jobs: str) -> None:
    """The kernel's file says when it is being imported, then sleeps; the whole process group is interrupted."""
    kernels.write_text("import time\nprint('ready', flush=True)\ntime.sleep(60)\n" + KERNELS)
    process = spawn(
        "-m", "tileverify", "check", "kernels.py", "-j", jobs, start_new_session=True, preexec_fn=interruptible
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    started = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - started < 20
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


def test_ctrl_c_tells_what_is_finished(kernels: Path, tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pipeline.check_paths

    def interrupted(*arguments: Any, progress: Callable[[KernelResult], None], **more: Any) -> Report:
        whole(*arguments, progress=progress, **more)
        raise KeyboardInterrupt

    expected = tileverify("check", str(kernels), "--no-cache", "-q", "--statistics")
    monkeypatch.setattr(pipeline, "check_paths", interrupted)
    ran = tileverify("check", str(kernels), "--no-cache", "-q", "--statistics")
    assert ran.code == 130
    assert ran.out.count("error[TV") == expected.out.count("error[TV") > 0
    assert "finished" in ran.err
    assert "TV101  race-write-write" in expected.err
    assert "race-write-write" not in ran.err


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("tileverify ch", "plain,check"),
        ("tileverify check --form", "plain,--format"),
        ("tileverify check --format sa", "plain,sarif"),
    ],
)
def test_shells_complete_commands_options_and_values(words: str, offered: str) -> None:
    program = "import sys; sys.argv = ['tileverify']; from tileverify.commands.cli import main; main()"
    asked = {"_TILEVERIFY_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    process = spawn("-c", program, environment=asked)
    assert process.communicate(timeout=60) == (f"{offered}\n", "")
    assert process.returncode == 0


def test_version_and_module_agree() -> None:
    from tileverify import __version__

    process = spawn("-m", "tileverify", "--version")
    assert process.communicate(timeout=60)[0] == f"tileverify {__version__}\n"


# ----------------------------------------------------------------------------------------------- commands
def test_explain_lists_all_codes(tileverify: CommandLine) -> None:
    ran = tileverify("explain")
    assert [line.split()[0] for line in ran.out.splitlines()] == list(CODES)


def test_explain_takes_several_codes_and_beginnings(tileverify: CommandLine) -> None:
    both = tileverify("explain", "TV101", "tv303")
    assert [line.split()[0] for line in both.out.splitlines() if line.startswith("TV")] == ["TV101", "TV303"]
    family = tileverify("explain", "TV1xx", "--format", "json")
    assert [code["code"] for code in json.loads(family.out)] == ["TV101", "TV102", "TV103"]
    assert tileverify("explain", "TV1", "--format", "json").out == family.out
    assert "there is no code 'TV'" in tileverify("explain", "TV").err


@pytest.mark.parametrize("code", CODES)
def test_explain_tells_everything(tileverify: CommandLine, code: str) -> None:
    text = " ".join(tileverify("explain", code.lower()).out.split())
    told = CODES[code]
    assert text.startswith(f"{code} ({told.name}): {told.fault} ")
    assert f"What is proved: {told.title} " in text or told.fault == told.title
    for part in (code, told.name, told.meaning, told.formula, told.fix, f"It is not: {told.is_not}"):
        assert part in text
    assert tileverify("explain", CODES[code].name).out == tileverify("explain", code).out


def test_explain_in_json(tileverify: CommandLine) -> None:
    (code,) = json.loads(tileverify("explain", "TV101", "--format", "json").out)
    assert code["name"] == "race-write-write"
    assert code["family"] == "race between tile blocks"
    assert code["examples"]["wrong"]["verdict"] == "refuted"
    (undecided,) = json.loads(tileverify("explain", "TV901", "--format", "json").out)
    assert [undecided["examples"][name]["verdict"] for name in ("wrong", "right")] == ["undecided", "proved"]
    assert "examples" not in json.loads(tileverify("explain", "TV902", "--format", "json").out)[0]


def test_the_examples_of_a_code_can_be_checked_as_it_says(tileverify: CommandLine) -> None:
    wrong, right = (
        line.split()[-1] for line in tileverify("explain", "TV103").out.splitlines() if line.startswith("  Try: ")
    )
    assert tileverify("check", wrong).code == 1
    assert tileverify("check", right).code == 0


def test_schema_is_printed(tileverify: CommandLine) -> None:
    assert tileverify("schema").out == schema_text()


def test_list_names_kernels_and_launches(tileverify: CommandLine, kernels: Path) -> None:
    assert tileverify("list", "kernels.py").out == "kernels.py::copy [0]\nkernels.py::halves [0]\n"
    first, second = json.loads(tileverify("list", ".", "--format", "json").out)
    assert first == {"file": "kernels.py", "line": 5, "kernel": "copy", "launch": "0"}
    assert second["kernel"] == "halves"


def test_list_goes_on_after_a_bad_file(tileverify: CommandLine, kernels: Path) -> None:
    Path("bad.py").write_text("import cuda.tile as ct\n@ct.kernel\ndef f(:\n")
    ran = tileverify("list", ".")
    assert ran.code == 2
    assert "kernels.py::copy [0]" in ran.out
    assert re.fullmatch(r"\S*bad\.py:3: .*\n", ran.err)


def test_dis_prints_bytecode_of_a_kernel(tileverify: CommandLine, kernels: Path) -> None:
    ran = tileverify("dis", "kernels.py::copy")
    assert ran.code == 0
    assert ran.out.startswith("// kernels.py::copy [0]\nentry @copy(")
    assert " loc(" not in ran.out
    assert " loc(" in tileverify("dis", "kernels.py::copy", "--locations").out


def test_dis_of_corrupt_bytecode_is_one_sentence(tileverify: CommandLine) -> None:
    Path("k.tileirbc").write_bytes(b"\x7fTileIR\x00" + b"\xff" * 40)
    ran = tileverify("dis", "k.tileirbc")
    assert ran.code == 2
    assert re.match(r"k\.tileirbc: offset 0x[0-9a-f]+: ", one_sentence(ran))


def test_footprint_shows_both_accesses(tileverify: CommandLine, kernels: Path) -> None:
    ran = tileverify("footprint", "kernels.py::halves")
    assert ran.code == 0
    assert ran.out.startswith("kernels.py::halves [0]\n")
    for word in ("read x", "write out", "bid.x // 2", "kernels.py:13"):
        assert word in ran.out


@pytest.mark.parametrize("code", [0, 3])
def test_record_hands_options_on_and_tells_what_came(
    tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    from tileverify.commands.shell import talk
    from tileverify.record import recorded_command as record
    from tileverify.record.recorded import LaunchFailure

    def fake(command: Sequence[str], **options: Any) -> record.RecordSummary:
        assert list(command) == ["python", "prog.py", "--no-gpu", "-o", "x"]
        expected = record.RecordOptions(specialisations=5, generalise=False, capability=(9, 0))
        assert options == {
            "output": Path("there"),
            "no_gpu": True,
            "interpret": False,
            "append": False,
            "options": expected,
            "tell": talk,
        }
        failure: LaunchFailure = {
            "kernel": "f",
            "file": None,
            "line": None,
            "outcome": "rejected",
            "type": "TileTypeError",
            "message": "no\n  such\ntype",
            "test": "",
        }
        return record.RecordSummary(Path("there"), code, 2, 3, 4, 0, (failure,), generalised=7)

    monkeypatch.setattr(record, "record", fake)
    ran = tileverify(
        *("record", "--no-gpu", "--specialisations", "5", "--no-generalise", "--capability", "9.0", "-o", "there"),
        *("--", "python", "prog.py", "--no-gpu", "-o", "x"),
    )
    assert ran.code == (2 if code else 0)
    assert ran.out == ""
    assert "not recorded: f: TileTypeError: no such type\n" in ran.err
    assert "recorded 4 launches, 3 specialisations of 2 kernels; " in ran.err
    assert "7 launches with names for sizes, proved, stand for several recorded ones" in ran.err


# ---------------------------------------------------------------------------------------------- whole way
def test_check_proves_and_refutes(tileverify: CommandLine, kernels: Path) -> None:
    ran = tileverify("check", "kernels.py")
    assert ran.code == 1
    assert re.search(r"^proved +kernels\.py::copy \[0\]", ran.out, re.MULTILINE)
    assert re.search(r"^refuted +kernels\.py::halves \[0\]", ran.out, re.MULTILINE)
    assert "--> kernels.py:13:5" in ran.out
    assert "block A" in ran.out
    assert tileverify("check", "kernels.py::copy").code == 0
    assert tileverify("check", "kernels.py::halves").code == 1


def test_the_same_report_in_any_number_of_processes(tileverify: CommandLine, kernels: Path) -> None:
    def results(jobs: str) -> list[dict[str, Any]]:
        found = json.loads(tileverify("check", "kernels.py", "-j", jobs, "--no-cache", "--format", "json").out)
        return [{key: value for key, value in each.items() if key != "time_ms"} for each in found["results"]]

    assert results("1") == results("2") == results("0")


def test_cached_results_are_the_same_but_for_the_mark(tileverify: CommandLine, kernels: Path) -> None:
    def run(*flags: str) -> list[dict[str, Any]]:
        told = tileverify("check", "kernels.py", "--format", "json", *flags).out
        results: list[dict[str, Any]] = json.loads(told)["results"]
        return results

    first, second, third = run(), run(), run("--no-cache")
    assert [each["cached"] for each in (*first, *second, *third)] == [False, False, True, True, False, False]
    for fresh, cached in zip(first, second, strict=True):
        assert {**fresh, "cached": True, "time_ms": cached["time_ms"]} == cached


def test_a_kernel_with_an_error_does_not_stop_the_others(tileverify: CommandLine, kernels: Path) -> None:
    Path("bad.py").write_text(KERNELS.replace("shape=(64,)", "shapes=(64,)"))
    Path("bad.tileverify.toml").write_text(SPEC)
    ran = tileverify("check", ".")
    assert ran.code == 2
    assert "proved     kernels.py::copy" in ran.out
    assert "error[TV001]" in ran.out
    assert "--> bad.py:7:" in ran.out


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        (("f32[N]", "f31[N]"), "TV002", "f31"),
        ((', out = "f32[N]" }', " }"), "TV002", "out"),
        ((' = "copy"', ' = "cpoy"'), "TV002", "cpoy"),
    ],
)
def test_a_bad_spec_is_exit_code_2(
    tileverify: CommandLine, kernels: Path, change: tuple[str, str], code: str, told: str
) -> None:
    Path("kernels.tileverify.toml").write_text(SPEC.replace(*change))
    ran = tileverify("check", "kernels.py::copy" if code != "TV002" or told != "cpoy" else "kernels.py")
    assert ran.code == 2
    assert f"error[{code}]" in ran.out
    assert told in ran.out


def test_corrupt_bytecode_is_an_error_of_that_file(tileverify: CommandLine, kernels: Path) -> None:
    Path("k.tileirbc").write_bytes(b"\x7fTileIR\x00" + b"\xff" * 40)
    ran = tileverify("check", "k.tileirbc", "kernels.py::copy")
    assert ran.code == 2
    assert "error[TV003]" in ran.out
    assert "1 kernel: 1 proved, 0 refuted, 0 undecided, 1 error" in ran.out
