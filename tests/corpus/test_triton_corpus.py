"""The corpus of Triton kernels: verdicts as labelled, and small launches of proved ones run by the interpreter."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tileverify.backend.interpreter.ordering import AccessOrder, BlockOrder, Schedule
from tileverify.contract.launch import KernelUnit
from tileverify.corpus import TRITON, Labelled, corpus_launches
from tileverify.corpus.labels import SPEC_SUFFIX
from tileverify.frontend.sources.discover import discover
from tileverify.results import Verdict

from .as_labelled import check_label
from .compiled import by_place
from .judged import results_of
from .launches import drawn_launches, observe

pytest.importorskip("triton", reason="kernels are compiled by Triton's frontend")

LABELS = corpus_launches(TRITON)
SIZES = (0, 1, 2, 3, 8, 16, 31, 32, 33, 64, 65, 100, 128, 256, 1024, 2048)
MOST_BLOCKS = 24
"""All of them run: some wait for each other."""
SCHEDULES = (
    Schedule(BlockOrder.REVERSED, AccessOrder.EXTREME),
    Schedule(BlockOrder.INTERLEAVED, AccessOrder.RANDOM, 1),
)
LARGE = {
    "clamp_rows_in_64_bits": "its arrays have 12 GB",
    "embedding_in_32_bits": "its table has 400 MB",
    "grouped_matmul": "tests/commands/test_triton_addresses.py runs it",
    "persistent_matmul": "132 programs",
    "persistent_descriptor_matmul": "132 programs",
    "scale_each": "tests/commands/test_triton_addresses.py runs it",
    "scale_persistent": "132 programs",
    "scale_while": "132 programs",
}
"""Proved kernels that nothing is run of, each with the reason."""
QUICK: dict[str, Callable[[Mapping[str, int]], bool]] = {
    "attention": lambda known: known["S"] <= 65 and known["H"] <= 2,
    "attention_unmasked_tail": lambda known: known["S"] <= 64 and known["H"] <= 2,
    "block_scaled_product": lambda known: True,
    "fused_attention": lambda known: 0 < known["S"] <= 64 and known["ZH"] <= 2,
    "layer_norm_backward": lambda known: known["N"] <= 100,
    "stream_k_fix_up": lambda known: known["T"] <= 3 and known["S"] <= 4,
}
"""How to know launches that take no minutes."""
PROVED = [label for label in LABELS if label.verdict is Verdict.PROVED and label.kernel not in LARGE]


@cache
def units() -> dict[tuple[str, str, str], KernelUnit]:
    return by_place(unit for unit in discover([str(TRITON)]) if isinstance(unit, KernelUnit))


@pytest.mark.parametrize("label", LABELS, ids=lambda label: label.id)
def test_verdict_is_as_labelled(label: Labelled) -> None:
    result = results_of(label.file)[label.kernel, label.launch]
    assert result.producer == "triton"
    check_label(label, result)


@pytest.mark.random
@pytest.mark.parametrize("label", PROVED, ids=lambda label: label.id)
def test_a_launch_of_a_proved_kernel_shows_no_fault(label: Labelled) -> None:
    unit = units()[str(label.file), label.kernel, label.launch]
    admits = QUICK.get(label.kernel, lambda known: max(known.values(), default=0) <= 2048)
    (launch,) = drawn_launches(unit.launch, 1, seed=3, sizes=SIZES, most_blocks=MOST_BLOCKS, admits=admits)
    assert launch.grid[0] * launch.grid[1] * launch.grid[2] <= MOST_BLOCKS
    assert not observe(unit, launch, SCHEDULES, undetermined="TV403" in label.warnings).events


def _written() -> Iterator[tuple[Path, str, str]]:
    """Each launch of a spec; one of all configurations has a star for them."""
    for spec in TRITON.glob(f"*{SPEC_SUFFIX}"):
        for table in tomllib.loads(spec.read_text(encoding="utf-8"))["launch"]:
            file = spec.with_name(spec.name.removesuffix(SPEC_SUFFIX) + ".py")
            yield file, table["kernel"], table["name"] + ("-*" if "configs" in table else "")


def test_every_launch_has_a_label() -> None:
    written = list(_written())
    labels = [(label.file, label.kernel, label.launch) for label in LABELS]
    tuned = [(file, kernel, name.removesuffix("*")) for file, kernel, name in written if name.endswith("*")]
    of_all = [key for key in labels if any(key[:2] == each[:2] and key[2].startswith(each[2]) for each in tuned)]
    assert Counter(each for each in written if not each[2].endswith("*")) == Counter(labels) - Counter(of_all)
    assert len(of_all) == 3 * len(tuned)
    assert max(Counter(labels).values()) == 1


def test_every_kernel_is_launched_or_called() -> None:
    launched = {(label.file, label.kernel) for label in LABELS}
    for file in TRITON.glob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        kernels = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        assert all((file, name) in launched or name in called for name in kernels), file.name


def test_both_sides_of_every_file_are_shown() -> None:
    verdicts = Counter((label.file.stem, label.verdict) for label in LABELS)
    for file in TRITON.glob("*.py"):
        assert verdicts[file.stem, Verdict.PROVED] >= 2
        assert verdicts[file.stem, Verdict.REFUTED] >= 2 or file.stem == "attention"
    assert len(LABELS) >= 60
    assert sum(label.needs is not None for label in LABELS) <= 0.05 * len(LABELS)


@pytest.mark.parametrize(
    ("kernel", "launch", "fact"),
    [
        ("scale_chunks", "a-row-twice", "unique_rows(chunk_indices)"),
        ("scale_chunks", "unordered", "nondecreasing(cu_seqlens)"),
        ("scale_chunks", "any-sequence", "column_range(chunk_indices, 0, 0, N)"),
        ("scale_chunks", "any-chunk", "column_range(chunk_indices, 1, 0, T + 1)"),
        ("chunk_sums", "unsaid", "chunks(chunk_offsets, cu_seqlens, 64, 0, C)"),
    ],
)
def test_help_offers_the_fact_that_is_missing(kernel: str, launch: str, fact: str) -> None:
    (finding, *_) = results_of(TRITON / "sequences.py")[kernel, launch].findings
    assert f'data = ["{fact}"] in the launch spec proves the kernel' in " ".join(hint.text for hint in finding.hints)
