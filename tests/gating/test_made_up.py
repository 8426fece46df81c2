"""Made-up submissions are judged as they were made, and the corpus as its labels say, through the whole gate.

    python -m tests.gating.test_made_up 200

judges as many as it is told; the suite a few of them.
"""

from __future__ import annotations

import sys

import pytest

import tileverify.corpus
from tileverify.gating import GateOptions, Sandbox, Submission, judge
from tileverify.pipeline import CheckOptions, check_paths

from .made_up import made_up

pytestmark = pytest.mark.random


def wrong(seed: int, sandbox: Sandbox) -> str | None:
    """Why the answer for a seed is wrong, if it is."""
    made = made_up(seed)
    result = judge(Submission(made.source.encode(), f"made_up_{seed}.py"), GateOptions(spec=made.spec), sandbox)
    (kernel,) = result.kernels
    right = (kernel.verdict, kernel.accepted) == (("refuted", False) if made.racy else ("proved", True))
    return None if right else f"seed {seed} is {'racy' if made.racy else 'honest'}: {result.lines()}"


@pytest.mark.parametrize("seed", range(24))
def test_made_up(seed: int, either_sandbox: Sandbox) -> None:
    assert wrong(seed, either_sandbox) is None


def test_seeds_make_both_kinds() -> None:
    kinds = [made_up(seed).racy for seed in range(200)]
    assert 80 <= sum(kinds) <= 120
    assert len({made_up(seed).source for seed in range(200)}) > 150


CORPUS = ("race_free/batched_matmul", "racy/naive_reduction", "out_of_bounds/negative_index", "data/expert_shares",
          "twins/scopes", "order/scratch_row", "protocols/ticket_lock", "showcase/softmax")  # fmt: skip


@pytest.mark.parametrize("name", CORPUS)
def test_corpus_is_judged_as_by_check(name: str, sandbox: Sandbox) -> None:
    """The sandbox changes no verdict: nothing that the prover would have needed is out of its reach."""
    path = tileverify.corpus.ROOT / f"{name}.py"
    spec = path.with_name(f"{path.stem}.tileverify.toml").read_text()
    gated = judge(Submission(path.read_bytes(), path.name), GateOptions(spec=spec), sandbox)
    checked = check_paths([str(path)], options=CheckOptions(cache=None))
    assert [(k.result.launch, k.verdict, k.result.requires) for k in gated.kernels] == [
        (result.launch, result.verdict.value, result.requires) for result in checked.results
    ]


def main() -> None:
    """Judge the first so many seeds, and end with the number of wrong answers."""
    count = int(sys.argv[1])
    with Sandbox() as sandbox:
        mistakes = [mistake for seed in range(count) if (mistake := wrong(seed, sandbox)) is not None]
        for mistake in mistakes:
            print(mistake)
        print(f"{count} submissions, {sum(made_up(seed).racy for seed in range(count))} racy: {len(mistakes)} wrong")
    sys.exit(min(len(mistakes), 100))


if __name__ == "__main__":
    main()
