"""The GitHub Action in a scratch repository: its shell steps as they stand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.ci.runner import Ran, run_action

REPOSITORY = Path(__file__).resolve().parents[2]
KERNEL = """\
import cuda.tile as ct


@ct.kernel
def copy(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i{change},), tile=ct.load(x, index=(i,), shape=(64,)))
"""
SPEC = '[[launch]]\nkernel = "copy"\ngrid = ["cdiv(N, 64)"]\nargs = { x = "f32[N]", out = "f32[N]" }\n'
PYTHON = """\
#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho pip: "$*"\\n' > "$3/bin/python"
chmod +x "$3/bin/python"
"""


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A repository with one right and one wrong kernel, and a runner on which tileverify is installed."""
    workspace, installed = tmp_path / "repository", tmp_path / "runner" / "tileverify" / "bin"
    for folder in (workspace / "kernels", installed):
        folder.mkdir(parents=True)
    for name, change in (("right", ""), ("wrong one", " // 2")):
        (workspace / "kernels" / f"{name}.py").write_text(KERNEL.format(change=change))
        (workspace / "kernels" / f"{name}.tileverify.toml").write_text(SPEC)
    (installed / "tileverify").write_text(f'#!/bin/sh\nexec {sys.executable} -m tileverify "$@"\n')
    (installed / "tileverify").chmod(0o755)
    # The step that installs makes an environment of this Python in which pip does nothing: all is installed here.
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def run(scratch: Path, *, github: dict[str, str] | None = None, **inputs: str) -> Ran:
    inputs = {name.replace("_", "-"): value for name, value in inputs.items()}
    environment = {"PYTHONPATH": str(REPOSITORY / "src"), "TILEVERIFY_CACHE_DIR": str(scratch / "cache")}
    given = {"python": str(scratch / "python"), **inputs}
    environment["PATH"] = f"{scratch / 'bin'}:{os.environ['PATH']}"
    return run_action(REPOSITORY, scratch / "repository", scratch / "runner", given, github, **environment)


def test_a_right_kernel_passes(scratch: Path) -> None:
    ran = run(scratch, paths="kernels/right.py")
    assert (ran.code, ran.used) == (0, [])
    assert f"pip: -m pip install --quiet --disable-pip-version-check {REPOSITORY}\n" in ran.log
    assert "1 kernel: 1 proved, 0 refuted, 0 undecided" in ran.log
    assert ran.outputs == {"exit-code": "0", "sarif": "./tileverify.sarif"}
    assert ran.summary.startswith("## tileverify\n\n    proved ")


def test_a_wrong_kernel_fails_with_annotations_reports_and_a_summary(scratch: Path) -> None:
    ran = run(scratch, paths="right.py\nwrong one.py", working_directory="kernels", junit="out.xml", upload="true")
    assert ran.code == 1
    assert ran.outputs == {"exit-code": "1", "sarif": "kernels/tileverify.sarif"}
    ((used, given),) = ran.used
    assert re.fullmatch(r"github/codeql-action/upload-sarif@[0-9a-f]{40}", used)  # a commit, which no one can move
    assert given == {"sarif_file": "kernels/tileverify.sarif", "category": "tileverify"}
    assert "\n::error file=kernels/wrong one.py,line=7," in ran.log
    (result,) = json.loads((scratch / "repository" / "kernels" / "tileverify.sarif").read_text())["runs"][0]["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "kernels/wrong%20one.py", "uriBaseId": "%SRCROOT%"}
    assert 'failures="1"' in (scratch / "repository" / "kernels" / "out.xml").read_text()
    assert "    refuted    wrong one.py::copy [0]" in ran.summary


def test_settings_and_options(scratch: Path) -> None:
    (scratch / "repository" / "pyproject.toml").write_text('[tool.tileverify]\npaths = ["kernels/right.py"]\n')
    ran = run(scratch, options="--no-cache\n--verbose", sarif="", requirement="tileverify==1.2")
    assert (ran.code, ran.outputs) == (0, {"exit-code": "0", "sarif": ""})
    assert "pip install --quiet --disable-pip-version-check tileverify==1.2\n" in ran.log
    assert not (scratch / "repository" / "tileverify.sarif").exists()
    assert "bytecode " in ran.summary


def test_texts_of_inputs_are_not_run(scratch: Path) -> None:
    ran = run(
        scratch, paths='$(touch pwned)\n`touch pwned`\n"; touch pwned; "', options="$(touch pwned)", upload="true"
    )
    assert (ran.code, ran.used, ran.outputs["exit-code"]) == (2, [], "2")
    assert not list(scratch.rglob("pwned"))
    assert ran.summary == ""


GH = """\
#!{python}
import sys
from pathlib import Path
here = Path(__file__).parent
with open(here / "calls", "a") as calls:
    shown = [word for word in sys.argv[3:] if word.startswith("repos/") or word in ("PATCH", "POST")]
    print(*sys.argv[1:3], *shown, file=calls)
for word in sys.argv:
    if word.startswith("body=@"):
        (here / "comment.md").write_text(Path(word.removeprefix("body=@")).read_text())
        (here / "known").write_text("77")
if "--jq" in sys.argv and (here / "known").exists():
    print((here / "known").read_text())
"""
PULL = {"event.pull_request.number": "5", "repository": "me/mine", "token": "t"}


def test_one_comment_on_a_pull_request_is_written_and_updated(scratch: Path) -> None:
    programs = scratch / "bin"
    programs.mkdir()
    (programs / "gh").write_text(GH.format(python=sys.executable))
    (programs / "gh").chmod(0o755)
    assert run(scratch, paths="kernels", comment="true").code == 1  # no pull request, no comment
    assert not (programs / "calls").exists()
    assert run(scratch, paths="kernels", comment="true", github=PULL).code == 1
    text = (programs / "comment.md").read_text()
    assert text.startswith("<!-- tileverify -->\n### tileverify: 2 new, 0 unchanged\n")
    assert "| new | <code>kernels/wrong one.py::copy</code> 0 | ❌ refuted | <code>+ TV101</code> |" in text
    assert "- **TV101** two tile blocks store to the same element of" in text
    (scratch / "runner" / "tileverify.json").rename(scratch / "repository" / "main.json")
    assert run(scratch, paths="kernels", comment="true", since="main.json", github=PULL).code == 1
    assert (programs / "comment.md").read_text() == "<!-- tileverify -->\n### tileverify: 2 unchanged\n\n"
    comments = "repos/me/mine/issues/5/comments"
    assert (programs / "calls").read_text().splitlines() == [
        f"api --paginate {comments}",
        f"api --method POST {comments}",
        f"api --paginate {comments}",
        "api --method PATCH repos/me/mine/issues/comments/77",
    ]


def test_nothing_to_check_fails(scratch: Path) -> None:
    (scratch / "repository" / "empty").mkdir()
    assert run(scratch, paths="empty").code == 4


def test_every_input_is_used_and_described() -> None:
    text = (REPOSITORY / "action.yml").read_text()
    document = yaml.safe_load(text)
    for name, each in document["inputs"].items():
        assert each["description"]
        assert isinstance(each["default"], str)
        assert re.search(rf"inputs\.{name}\b", text)


@pytest.mark.parametrize("file", ["action.yml", "docs/ci.md", "README.md", ".github/workflows/ci.yml"])
def test_other_actions_are_named_by_commit(file: str) -> None:
    """What a tag names can change, and would run with the rights of the job."""
    used = re.findall(r"^\s*(?:- )?uses:\s*(\S+)", (REPOSITORY / file).read_text(), re.MULTILINE)
    assert all(re.fullmatch(r"[\w./-]+@([0-9a-f]{40}|COMMIT)", each) for each in used), used
    assert used or file == "README.md"


def test_the_workflow_runs_what_continuous_integration_runs() -> None:
    workflow = yaml.safe_load((REPOSITORY / ".github/workflows/ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert [step["with"]["python-version"] for step in job["steps"] if "python-version" in step.get("with", {})] == [
        "3.11"
    ]
    assert workflow["permissions"] == {"contents": "read"}
    assert "secrets" not in str(workflow)


def test_issue_forms_say_what_they_are_for() -> None:
    forms = sorted((REPOSITORY / ".github/ISSUE_TEMPLATE").glob("*.md"))
    assert [form.stem for form in forms] == ["crash", "false-alarm", "feature", "wrong-proof"]
    for form in forms:
        _, head, body = form.read_text().split("---\n", 2)
        assert {"name", "about", "labels"} == set(yaml.safe_load(head))
        assert "\n## " in body


def test_hooks_are_what_pre_commit_wants() -> None:
    hooks = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["tileverify", "tileverify-all"]
    assert all(hook["verbose"] for hook in hooks), "conditions of proofs would be hidden where all passes"
    fast, _ = hooks
    for name, wanted in (
        ("a.py", True), ("k/a.cu", True), ("a.tileirbc", True), ("a.tileverify.toml", True),
        ("pyproject.toml", True), ("x/pyproject.toml", True), ("mypyproject.toml", False),
        ("a.toml", False), ("a.pyc", False),
    ):  # fmt: skip
        assert bool(re.search(fast["files"], name)) is wanted


def test_the_scripts_of_steps_are_sound_shell() -> None:
    for step in yaml.safe_load((REPOSITORY / "action.yml").read_text())["runs"]["steps"]:
        if "run" in step:
            assert subprocess.run(["bash", "-n", "-c", step["run"]], check=False).returncode == 0
