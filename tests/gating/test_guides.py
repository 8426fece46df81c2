"""Guides for models are short, and the kernel at the end of each is accepted."""

from __future__ import annotations

import re

import pytest
from tests.command_line import CommandLine

from tileverify.gating import GateOptions, Sandbox, Submission, guide, judge
from tileverify.gating.guides import GUIDES
from tileverify.gating.mcp_server import LONGEST
from tileverify.system.errors import UsageError


@pytest.mark.parametrize("language", GUIDES)
def test_the_example_is_accepted(language: str, one_sandbox: Sandbox, tileverify: CommandLine) -> None:
    if language == "triton":
        pytest.importorskip("triton", reason="kernels are compiled by Triton's frontend")
    text = guide(language)
    assert len(text) < LONGEST
    assert tileverify("gate", "--guide", language).out == text
    head, _, source = text.partition(":\n\nimport ")
    launch = re.search(r"for (grid = .*), (args = .*)", head)
    assert launch is not None
    spec = f'[[launch]]\nkernel = "centred"\n{launch[1]}\nrequires = ["N >= 1"]\n{launch[2]}\n'
    result = judge(Submission(f"import {source}".encode()), GateOptions(spec=spec), one_sandbox)
    assert result.accepted, result.prompt()


def test_another_language_has_none() -> None:
    with pytest.raises(UsageError, match="there are: triton, cutile"):
        guide("c")
