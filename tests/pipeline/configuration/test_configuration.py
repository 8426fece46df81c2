"""`[tool.tileverify]`: what is read from where, what is refused, and that the command line wins."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import CommandLine

from tileverify import pipeline
from tileverify.pipeline.configuration import configuration, file_pattern, name_pattern
from tileverify.results import Finding, KernelResult, Report, SourceSite, Verdict
from tileverify.system.errors import ConfigError

PYPROJECT = """\
[project]
name = "mine"

[tool.tileverify]
paths = ["kernels", "more/k.py"]
exclude = ["vendor"]
format = "json"
output = ["sarif=out.sarif"]
strict = false
deny-requires = true
timeout = 2.5
effort = 1.5
jobs = 3
cache = false
baseline = "ci/baseline.json"

[[tool.tileverify.per-file]]
files = ["kernels/slow_*.py"]
timeout = 60
effort = 8
strict = true

[[tool.tileverify.ignore]]
file = "kernels/*.tileirbc"
kernel = "gemm_*"
codes = ["TV101", "TV901"]
reason = "made by a vendor, who promises distinct outputs"
until = 2027-12-31

[[tool.tileverify.launch]]
kernel = "copy"
args = { x = "f32[N]" }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pyproject(text: str = PYPROJECT) -> None:
    Path("pyproject.toml").write_text(text)


def test_every_key_is_read(folder: Path) -> None:
    pyproject()
    found = configuration()
    assert found.file == Path("pyproject.toml")
    assert found.paths == ("kernels", "more/k.py")
    assert (found.format, found.output) == ("json", ("sarif=out.sarif",))
    assert (found.strict, found.deny_requires, found.timeout, found.jobs, found.cache) == (False, True, 2.5, 3, False)
    assert found.effort == 1.5
    assert found.baseline == Path("ci/baseline.json")
    assert found.excludes(folder / "kernels" / "vendor" / "k.py")
    assert not found.excludes(folder / "kernels" / "k.py")
    assert found.strict_for("kernels/slow_one.py") is True
    assert found.strict_for("kernels/fast.py") is None
    (table,) = found.ignores
    assert (table.rule.codes, table.rule.until, table.rule.line) == (("TV101", "TV901"), date(2027, 12, 31), 23)
    assert table.files.fullmatch(f"{folder.resolve()}/kernels/a.tileirbc")
    assert table.kernel.fullmatch("gemm_f16")
    assert table.launch.fullmatch("")


def test_paths_are_relative_to_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyproject()
    (folder / "kernels").mkdir()
    monkeypatch.chdir(folder / "kernels")
    found = configuration()
    assert found.paths == ("../kernels", "../more/k.py")
    assert found.baseline is not None
    assert found.baseline.resolve() == folder.resolve() / "ci" / "baseline.json"


def test_the_nearest_file_with_the_table_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyproject("[tool.tileverify]\njobs = 1\n")
    for name, text in (("a", "[project]\n"), ("b", "[tool.tileverify]\njobs = 2\n")):
        (folder / name).mkdir()
        (folder / name / "pyproject.toml").write_text(text)
        monkeypatch.chdir(folder / name)
        assert configuration().jobs == {"a": 1, "b": 2}[name]
    assert configuration(isolated=True).jobs is None


def test_a_file_or_single_keys_may_be_given() -> None:
    pyproject()
    Path("ci.toml").write_text("jobs = 7\n")
    Path("other.toml").write_text("[tool.tileverify]\njobs = 8\n")
    assert configuration(["ci.toml"]).jobs == 7
    assert configuration(["ci.toml"]).timeout is None
    assert configuration(["other.toml"]).jobs == 8
    assert configuration(["jobs=9"]).jobs == 9
    assert configuration(["jobs=9"]).timeout == 2.5
    assert configuration(["jobs=9", "jobs = 10"], isolated=True).jobs == 10
    assert configuration(["format=github"], isolated=True).format == "github"
    assert configuration(['paths=["a"]'], isolated=True).paths == ("a",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("timeuot = 5", "unknown key 'timeuot'; did you mean 'timeout'?"),
        ("deny_requires = true", "unknown key 'deny_requires'; did you mean 'deny-requires'?"),
        ("timeout = 0", "'timeout' must be a number of seconds greater than 0"),
        ("timeout = true", "'timeout' must be a number"),
        ("effort = 0", "'effort' must be a number greater than 0"),
        ("effort = inf", "'effort' must be a number greater than 0, 1,000,000 at most"),
        ("jobs = -1", "'jobs' must be a whole number, 0 or more"),
        ('strict = "no"', "'strict' must be true or false"),
        ('format = "xml"', "'format' must be one of text, json"),
        ('paths = "kernels"', "'paths' must be a list of strings"),
        ('baseline = ""', "'baseline' must be a string"),
        ("[tool.tileverify.per-file]\nfiles = []", "'per-file' must be tables, written [[tool.tileverify.per-file]]"),
        ("[[tool.tileverify.per-file]]\ntimeout = 5", "per-file 1, 'files' is missing"),
        ('[[tool.tileverify.per-file]]\nfiles = ["a"]\njob = 5', "per-file 1, unknown key 'job'"),
        ('[[tool.tileverify.ignore]]\nfile = "a"\ncodes = ["TV101"]', "ignore 1, 'reason' is missing"),
        ('[[tool.tileverify.ignore]]\nfile = "a"\nreason = "b"', "ignore 1, 'codes' is missing"),
        ('[[tool.tileverify.ignore]]\nreason = "a"\ncodes = ["TV101"]', "ignore 1, 'file' is missing"),
        (
            '[[tool.tileverify.ignore]]\nfile = "a"\ncodes = ["TV101"]\nreason = "FIXME"',
            "ignore 1, 'reason' is a placeholder, 'FIXME': say why this is fine",
        ),
        ('[[tool.tileverify.ignore]]\ncodes = ["TV1"]', "names 'TV1', which is no code"),
        ('[[tool.tileverify.ignore]]\ncodes = ["TV001"]', "cannot be suppressed"),
        ('[[tool.tileverify.ignore]]\nuntil = "31.12.2027"', "'until' must be a day such as 2027-12-31"),
        ("[[tool.tileverify.ignore]]\nuntil = 2027-12-31T10:00:00", "'until' must be a day such as 2027-12-31"),
        ("x =", "not valid TOML"),
    ],
)
def test_mistakes_are_one_error_with_the_place(text: str, told: str) -> None:
    pyproject(f"[tool.tileverify]\n{text}\n")
    with pytest.raises(ConfigError) as raised:
        configuration(["pyproject.toml"])
    assert str(raised.value).startswith("pyproject.toml: ")
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("given", "isolated", "told"),
    [
        (["missing.toml"], False, "there is no such configuration file"),
        (["a.toml", "b.toml"], False, "one configuration file at most"),
        (["pyproject.toml"], True, "exclude each other"),
        (["tiemout=5"], False, "--config tiemout=5: unknown key 'tiemout'; did you mean 'timeout'?"),
        (["timeout=soon"], False, "'timeout' must be"),
    ],
)
def test_bad_options_are_one_error(given: Sequence[str], isolated: bool, told: str) -> None:
    pyproject()
    with pytest.raises(ConfigError) as raised:
        configuration(given, isolated=isolated)
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("pattern", "matches", "misses"),
    [
        ("vendor", ["vendor", "vendor/a.py", "x/vendor/a.py"], ["vendors/a.py", "a/myvendor"]),
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc"]),
        ("a/*.py", ["a/k.py"], ["x/a/k.py", "a/b/k.py"]),
        ("./a/", ["a/k.py", "a/b/k.py"], ["ab", "b/a/k.py"]),
        ("a/**/k?.py", ["a/k1.py", "a/b/c/k2.py"], ["a/b/k.py", "k1.py"]),
        ("a+b(.py", ["a+b(.py"], ["aab(.py"]),
    ],
)
def test_file_patterns(folder: Path, pattern: str, matches: Sequence[str], misses: Sequence[str]) -> None:
    compiled = file_pattern(pattern, Path())
    root = folder.resolve().as_posix()
    assert [name for name in (*matches, *misses) if compiled.fullmatch(f"{root}/{name}")] == list(matches)
    assert not compiled.fullmatch("/elsewhere/vendor")


def test_name_patterns() -> None:
    assert name_pattern("gemm_*").fullmatch("gemm_f16")
    assert not name_pattern("gemm.?").fullmatch("gemmab")


# ------------------------------------------------------------------------------------- the command line
@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the pipeline is asked, instead of the pipeline: one undecided kernel in `kernels/slow_one.py`."""
    calls: list[Any] = []

    def check_paths(paths: Sequence[str], *, options: Any, **rest: Any) -> Report:
        calls.append((tuple(paths), options))
        site = SourceSite("kernels/slow_one.py", 3, 0, "store", "out")
        finding = Finding("TV903", "m", (site,), fingerprint="a" * 32)
        return Report(
            (KernelResult("kernels/slow_one.py", "k", "0", Verdict.UNDECIDED, findings=(finding,)),), "0", "z3"
        )

    monkeypatch.setattr(pipeline, "check_paths", check_paths)
    return calls


def test_the_configuration_sets_what_the_command_line_leaves_open(tileverify: CommandLine, asked: list[Any]) -> None:
    pyproject(PYPROJECT.replace('baseline = "ci/baseline.json"\n', ""))
    ran = tileverify("check")
    ((paths, options),) = asked
    assert paths == ("kernels", "more/k.py")
    assert (options.timeout_s, options.deny_requires, options.jobs, options.cache) == (2.5, True, 3, None)
    assert options.of(Path("kernels/slow_one.py")).timeout_s == 60
    assert (options.effort, options.of(Path("kernels/slow_one.py")).effort) == (1.5, 8)
    assert options.skip(Path("vendor"))
    assert json.loads(ran.out)["results"]
    assert Path("out.sarif").exists()
    assert ran.code == 3  # strict = true for this file


def test_the_command_line_wins(tileverify: CommandLine, asked: list[Any]) -> None:
    pyproject(PYPROJECT.replace('baseline = "ci/baseline.json"\n', ""))
    ran = tileverify(
        "check", "k.py", "--timeout", "9", "--effort", "2", "-j", "1", "--format", "text", "--output", "junit=o.xml"
    )
    ((paths, options),) = asked
    assert (paths, options.timeout_s, options.jobs) == (("k.py",), 9, 1)
    assert options.of(Path("kernels/slow_one.py")).timeout_s == 9
    assert (options.effort, options.of(Path("kernels/slow_one.py")).effort) == (2, 2)
    assert ran.out.startswith("undecided ")
    assert not Path("out.sarif").exists()
    assert tileverify("check", "k.py", "--allow-undecided").code == 0
    assert tileverify("check", "k.py", "--isolated").code == 3


@pytest.mark.parametrize(
    ("strict", "flags", "code"),
    [("true", [], 3), ("false", [], 0), ("false", ["--strict"], 3), ("true", ["--allow-undecided"], 0)],
)
def test_strictness(tileverify: CommandLine, asked: list[Any], strict: str, flags: Sequence[str], code: int) -> None:
    pyproject(f"[tool.tileverify]\nstrict = {strict}\n")
    assert tileverify("check", "k.py", *flags).code == code


def test_a_bad_configuration_is_exit_code_2(tileverify: CommandLine, asked: list[Any]) -> None:
    pyproject("[tool.tileverify]\ntimeuot = 5\n")
    ran = tileverify("check", "k.py")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: pyproject.toml: unknown key 'timeuot'; did you mean 'timeout'?\n"


def test_tables_suppress_and_a_baseline_may_be_configured(tileverify: CommandLine, asked: list[Any]) -> None:
    pyproject('[tool.tileverify]\nbaseline = "known.json"\n')
    assert tileverify("check", "k.py", "--update-baseline").code == 0
    assert tileverify("check", "k.py").code == 0
    table = '[[tool.tileverify.ignore]]\nfile = "kernels"\ncodes = ["TV903", "TV101"]\nreason = "slow"\n'
    pyproject(table)
    ran = tileverify("check", "k.py", "--format", "json")
    assert ran.code == 2
    document = json.loads(ran.out)
    assert document["findings"][0]["message"] == "the suppression of TV101 hides nothing (slow)"
    assert document["findings"][0]["sites"][0]["line"] == 1
    assert document["results"][0]["findings"][0]["suppression"]["kind"] == "table"
    pyproject(table.replace(', "TV101"', ""))
    assert tileverify("check", "k.py").code == 0
    pyproject(table.replace('"kernels"', '"others"'))
    assert tileverify("check", "k.py").code == 3


KERNELS = """\
import cuda.tile as ct


@ct.kernel
def copy(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(64,)))
"""


def test_launches_and_settings_stand_in_one_file(tileverify: CommandLine) -> None:
    launch = (
        '[[tool.tileverify.launch]]\nkernel = "copy"\ngrid = ["cdiv(N, 64)"]\nargs = { x = "f32[N]", out = "f32[N]" }\n'
    )
    pyproject(f'[tool.tileverify]\npaths = ["."]\nexclude = ["broken"]\nformat = "json"\n{launch}')
    Path("copy.py").write_text(KERNELS)
    Path("broken").mkdir()
    Path("broken/k.py").write_text("import cuda.tile as ct\n@ct.kernel\ndef f(:\n")
    ran = tileverify("check")
    assert ran.code == 0
    assert [each["launch"] for each in json.loads(ran.out)["results"]] == ["0"]
    assert tileverify("check", "broken/k.py").code == 2


def test_deny_requires_for_some_files(tileverify: CommandLine) -> None:
    Path("k.py").write_text(KERNELS)
    Path("k.tileverify.toml").write_text('[[launch]]\nkernel = "copy"\nargs = { x = "f32[N]", out = "f32[N]" }\n')
    assert tileverify("check", "k.py").code == 0
    pyproject('[[tool.tileverify.per-file]]\nfiles = ["k.py"]\ndeny-requires = true\n')
    assert tileverify("check", "k.py").code == 1
    assert tileverify("check", "k.py", "--isolated").code == 0
