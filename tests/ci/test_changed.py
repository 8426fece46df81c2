"""`check --changed`: what a commit hook hands over, whatever kind of files it is."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.ci.test_action import KERNEL, REPOSITORY, SPEC
from tests.command_line import CommandLine

from tileverify.commands.check import changed_targets
from tileverify.pipeline.configuration import configuration


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k").mkdir()
    for name, change in (("right", ""), ("wrong", " // 2")):
        Path("k", f"{name}.py").write_text(KERNEL.format(change=change))
        Path("k", f"{name}.tileverify.toml").write_text(SPEC)
    Path("plain.py").write_text("x = 1\n")
    Path("broken.py").write_text("import cuda.tile as ct\n@ct.kernel\ndef f(:\n")
    Path("data.tileirbc").write_bytes(b"no bytecode")


def targets(*files: str) -> tuple[str, ...]:
    return changed_targets(files, configuration())


def test_sources_with_kernels_and_those_of_specs() -> None:
    assert targets("k/right.py", "plain.py", "gone.py", "data.tileirbc", "README.md") == ("k/right.py",)
    assert targets("k/right.tileverify.toml", "k/right.py", "k/gone.tileverify.toml") == ("k/right.py",)
    assert targets("broken.py") == ("broken.py",)
    assert targets() == ()


def test_settings_stand_for_all_paths_and_what_is_excluded_stays_out() -> None:
    Path("pyproject.toml").write_text('[tool.tileverify]\npaths = ["k"]\nexclude = ["wrong.py"]\n')
    assert targets("pyproject.toml") == ("k",)
    assert targets("k/wrong.py", "k/wrong.tileverify.toml") == ()


def test_exit_codes(tileverify: CommandLine) -> None:
    assert tileverify("check", "--changed", "plain.py", "k/right.py").code == 0
    assert tileverify("check", "--changed", "plain.py", "k/right.py", "k/wrong.tileverify.toml").code == 1
    assert tileverify("check", "--changed", "broken.py").code == 2
    ran = tileverify("check", "--changed", "plain.py")
    assert (ran.code, ran.out, ran.err) == (0, "", "nothing to check: no changed file holds kernels\n")
    assert tileverify("check", "--changed").code == 0


@pytest.mark.parametrize("name", ["--baseline=known.py", "--output=right.py", "--config=known.py", "-q", "--isolated"])
def test_names_of_files_are_no_options_of_the_hook(tileverify: CommandLine, name: str) -> None:
    """As pre-commit calls it, with a file that somebody committed under such a name."""
    hook, _ = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
    words = [*hook["entry"].split()[1:], *hook["args"]]
    Path("known.py").write_text("")
    tileverify("check", "k/wrong.py", "--baseline", "known.py", "--update-baseline", "-q")
    Path("right.py").write_text("print('important')\n")
    Path(name).write_text("x = 1\n")
    before = {path: path.read_bytes() for path in Path().glob("*.py")}
    assert tileverify(*words, name, "k/wrong.py", "plain.py").code == 1
    assert {path: path.read_bytes() for path in Path().glob("*.py")} == before
