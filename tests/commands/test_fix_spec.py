"""``check --fix-spec``: a promise that a contract lacks is written into its spec, because a person asked for it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.command_line import CommandLine

KERNELS = """import cuda.tile as ct


@ct.kernel
def double(x, out):
    at = ct.bid(0) * 256 + ct.arange(256, dtype=ct.int32)
    ct.scatter(out, (at,), ct.gather(x, (at,), check_bounds=False) * 2, check_bounds=False)


@ct.kernel
def shift(x, out, by):
    ct.store(out, (by,), ct.load(x, (0,), (16,)))
"""
SPEC = """# two kernels
[[launch]]
kernel = "double"
grid = ["cdiv(N, 256)"]  # the tail is the caller's
args = { x = "f32[N]", out = "f32[N]" }

[[launch]]
kernel = "shift"
grid = [1]
requires = [
  "N >= 32",  # two tiles
]
args = { x = "f32[N]", out = "f32[N]", by = "i32" }
"""


def written(text: str = SPEC) -> Path:
    Path("k.py").write_text(KERNELS)
    path = Path("k.tileverify.toml")
    path.write_text(text)
    return path


def test_what_would_prove_a_kernel_is_promised_in_its_spec(tileverify: CommandLine) -> None:
    path = written()
    ran = tileverify("check", "k.py", "--fix-spec", "--no-cache")
    found = tomllib.loads(path.read_text())["launch"]
    assert found[0]["requires"] == ["N % 256 == 0"]
    assert found[1]["requires"][0] == "N >= 32"
    assert len(found[1]["requires"]) > 1
    assert all(f"# {words}" in path.read_text() for words in ("two kernels", "the tail is the caller's", "two tiles"))
    assert "k.tileverify.toml:2: added N % 256 == 0" in ran.err
    assert ran.code == 0, ran.err
    assert tileverify("check", "k.py", "--no-cache").code == 0


def test_a_kernel_that_is_proved_gets_no_clause(tileverify: CommandLine) -> None:
    path = written(
        SPEC.replace("# the tail is the caller's", '\nrequires = ["N % 256 == 0"]').split(
            '[[launch]]\nkernel = "shift'
        )[0]
    )
    before = path.read_text()
    ran = tileverify("check", "k.py::double", "--fix-spec", "--no-cache")
    assert (ran.code, path.read_text()) == (0, before)
    assert "no clause to add" in ran.err


def test_a_decorator_is_edited_by_a_person(tileverify: CommandLine) -> None:
    source = KERNELS.replace("import cuda.tile as ct\n", "import cuda.tile as ct\nimport tileverify\n", 1).replace(
        "@ct.kernel\ndef double",
        '@tileverify.launch(grid=["cdiv(N, 256)"], args={"x": "f32[N]", "out": "f32[N]"})\n@ct.kernel\ndef double',
    )
    Path("k.py").write_text(source)
    ran = tileverify("check", "k.py::double", "--fix-spec", "--no-cache")
    assert ran.code == 1
    assert 'add requires = ["N % 256 == 0"] by hand' in ran.err
    assert Path("k.py").read_text() == source


def test_an_editor_offers_the_promise(tmp_path: Path) -> None:
    from lsprotocol import types

    from tileverify.pipeline import CheckOptions, check_paths
    from tileverify.serving.lsp.shown import actions_at

    (tmp_path / "k.py").write_text(KERNELS)
    (tmp_path / "k.tileverify.toml").write_text(SPEC)
    report = check_paths([f"{tmp_path / 'k.py'}::double"], options=CheckOptions())
    (finding,) = report.results[0].findings[:1]
    start = types.Position(6, 4)
    shown = types.Diagnostic(
        types.Range(start, start), "", code=finding.code, data={"fingerprint": finding.fingerprint, "launch": "0"}
    )
    uri = (tmp_path / "k.py").as_uri()
    titles = {action.title: action for action in actions_at(uri, [shown], report, KERNELS.splitlines())}
    action = titles["Promise N % 256 == 0 in k.tileverify.toml"]
    assert action.edit is not None
    assert action.edit.changes is not None
    (edit,) = action.edit.changes[(tmp_path / "k.tileverify.toml").resolve().as_uri()]
    lines = SPEC.splitlines(keepends=True)
    at = edit.range.start
    lines[at.line] = lines[at.line][: at.character] + edit.new_text + lines[at.line][at.character :]
    assert tomllib.loads("".join(lines))["launch"][0]["requires"] == ["N % 256 == 0"]
