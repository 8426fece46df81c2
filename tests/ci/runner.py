"""A small driver for composite actions: runs their shell steps as a runner of GitHub does, and notes what others use.

It knows of expressions what `action.yml` needs: `inputs`, `github` and `steps.ID.outputs.NAME` in `${{ }}`,
and of conditions comparisons of these with texts, joined by `&&`.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")


@dataclass
class Ran:
    """``used``: `uses` steps that would have run, with their inputs; ``summary``: the job summary."""

    code: int = 0
    log: str = ""
    summary: str = ""
    used: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)


def run_action(
    action: Path,
    workspace: Path,
    temporary: Path,
    inputs: dict[str, str],
    github: dict[str, str] | None = None,
    **environment: str,
) -> Ran:
    """Run the composite action in the folder ``action``; a step that fails ends it."""
    document = yaml.safe_load((action / "action.yml").read_text(encoding="utf-8"))
    unknown = inputs.keys() - document["inputs"].keys()
    assert not unknown, unknown
    values = {f"inputs.{name}": str(each.get("default", "")) for name, each in document["inputs"].items()}
    values |= {f"inputs.{name}": value for name, value in inputs.items()}
    values["github.action_path"] = str(action)
    values |= {f"github.{name}": value for name, value in (github or {}).items()}
    ran = Ran()
    summary = temporary / "summary.md"
    summary.write_text("")
    for number, step in enumerate(document["runs"]["steps"]):
        if not _holds(step.get("if", ""), values):
            continue
        if "uses" in step:
            ran.used.append((step["uses"], {name: _text(value, values) for name, value in step["with"].items()}))
            continue
        assert "${{" not in step["run"], "texts of inputs must reach a script as variables"
        output = temporary / f"output-{number}"
        output.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=workspace / _text(step.get("working-directory", "."), values),
            env={
                **os.environ,
                **{name: _text(value, values) for name, value in step.get("env", {}).items()},
                "RUNNER_TEMP": str(temporary),
                "GITHUB_WORKSPACE": str(workspace),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        ran.log += done.stdout
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            values[f"steps.{step['id']}.outputs.{name}"] = value
        if done.returncode:
            ran.code = done.returncode
            break
    ran.summary = summary.read_text()
    ran.outputs = {name: _text(each["value"], values) for name, each in document["outputs"].items()}
    return ran


def _text(text: Any, values: dict[str, str]) -> str:
    return _EXPRESSION.sub(lambda match: values.get(match[1], ""), str(text))


def _holds(condition: str, values: dict[str, str]) -> bool:
    for part in filter(None, condition.split(" && ")):
        left, operator, right = part.split(" ")
        equal = values.get(left, "") == right.strip("'")
        if equal != {"==": True, "!=": False}[operator]:
            return False
    return True
