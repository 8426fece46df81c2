"""Facts that recorded contents show: strong, true of every content, and silent about memory that nothing filled."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.expressions import evaluate
from tileverify.contract.facts.columns import Array
from tileverify.contract.facts.facts_of_contents import observed_facts

from ..facts import keeps
from .conftest import Run


def observed(**contents: list[list[int]] | list[list[list[int]]]) -> list[str]:
    return observed_facts({name: [np.array(each) for each in found] for name, found in contents.items()})


def test_facts_are_as_strong_as_the_contents() -> None:
    assert observed(a=[[0, 2, 5]]) == ["range(a, 0, 6)", "injective(a)", "nondecreasing(a)", "shares(a, 7)"]
    assert observed(a=[[8, 0, 24]]) == ["range(a, 0, 25)", "injective(a)", "multiples(a, 8)", "shares(a, 32)"]
    assert observed(a=[[3, -1, 2, -1]])[:2] == ["range(a, 2, 4, unless=-1)", "injective(a, unless=-1)"]
    assert observed(a=[[5, 1, 9, 9, 0]])[1:3] == ["injective(a, unless=9)", "injective(a, 0, 9)"]
    assert "disjoint_rows(a)" in observed(a=[[[1, 1], [2, 3]]])
    assert observed(a=[[[0, 0], [0, 1], [0, 2], [1, 0]]]) == [
        "range(a, 0, 3)",
        "column_range(a, 0, 0, 2)",
        "column_range(a, 1, 0, 3)",
        "unique_rows(a)",
    ]
    assert "unique_rows(a)" not in observed(a=[[[0, 0], [0, 1], [0, 2], [0, 1]]])
    assert "chunks(a, b, 64, 0, 4)" in observed(a=[[0, 1, 2, 4]], b=[[0, 15, 77, 154]])
    assert not any(each.startswith("chunks(a") for each in observed(a=[[0, 1, 3, 4]], b=[[0, 15, 77, 154]]))
    assert "segments(a, n, 1, 7)" in observed(a=[[1, 4, 4]], n=[[3, 0, 3]])
    keys = [[1, 1, 0, 0, 1, 2, 2, 2]]
    ranks, buckets = [[1, 0, 0, 1, 0, 0, 2, 1]], [[0, 2, 9, 9, 4, 5]]
    assert "ranks(a, k, 4)" in observed(a=ranks, k=keys)
    assert "buckets(b, k, 4, 3, 0, 8)" in observed(a=ranks, b=buckets, k=keys)
    alone = observed(b=buckets, k=keys)
    assert not any(fact.startswith("buckets") for fact in alone), "nobody says that these are keys"


def test_facts_hold_of_all_contents_of_a_launch() -> None:
    assert observed(a=[[0, 1, 2], [4, 3, 2]]) == ["range(a, 0, 5)", "injective(a)", "shares(a, 9)"]
    assert not any("segments(a" in fact for fact in observed(a=[[0, 2], [0, 2]], n=[[2, 2], [3, 2]]))
    assert [f for f in observed(a=[[0, 1], [0, 0]], k=[[5, 5], [5, 5]]) if f.startswith("ranks(a")] == []
    assert [f for f in observed(a=[[0, 1], [0, 0]], k=[[5, 5], [5, 6]]) if f.startswith("ranks(a")] == [
        "ranks(a, k, 2)"
    ]
    ranks = [[0, 0], [0, 1]]
    assert "buckets(a, k, 2, 2, 3, 6)" in observed(a=[[3, 5], [6, 3]], k=[[0, 1], [1, 1]], r=ranks)
    assert [f for f in observed(a=[[3, 4], [6, 6]], k=[[0, 1], [1, 1]], r=ranks) if f.startswith("buckets(a")]
    assert not [f for f in observed(a=[[3, 3], [6, 6]], k=[[0, 1], [1, 1]], r=ranks) if f.startswith("buckets(a")]


TABLES = {"disjoint_rows", "column_range", "unique_rows"}


@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_every_observed_fact_is_true(shape: tuple[int, ...]) -> None:
    kinds = set()
    for values in product(range(-1, 4), repeat=int(np.prod(shape))):
        a: Array = np.array(values).reshape(shape)
        for other in ([2, 1, 1], [0, 2, 1], [1, -1, 0], [0, 0, 1]):
            ranks = [other[:i].count(key) for i, key in enumerate(other)]
            arrays = {"a": a, "n": np.array(other), "r": np.array(ranks)}
            for text in observed_facts({name: [each] for name, each in arrays.items()}):
                fact = parse_data_fact(text)
                assert set(fact.arrays) <= arrays.keys()
                assert keeps(fact, arrays, lambda e: evaluate(e, {})), (text, arrays)
                kinds.add(fact.kind)
    assert kinds >= {"range", "injective", "nondecreasing", "multiples", "shares"}
    assert kinds >= ({"segments", "ranks", "buckets"} if len(shape) == 1 else TABLES)


GATHER = """
    @ct.kernel
    def pick(x, idx, y, tile: ct.Constant[int]):
        at = ct.load(idx, (ct.bid(0),), (tile,))
        ct.store(y, (ct.bid(0),), ct.gather(x, (at,), check_bounds=False))
    for factor in {factors}:
        idx = (np.arange(64, dtype=np.int32) * factor)[::{step}]
        ct.launch(STREAM, (4,), pick, (np.zeros(200, np.float32), idx, np.zeros(64, np.float32), {tile}))
"""


def test_a_recording_notes_what_its_arrays_held(run: Run) -> None:
    recorded = run(GATHER.format(factors="(1, 3)", step=1, tile=16))
    (entry,) = recorded.specialisations
    (launch,) = entry["launches"]
    facts = ["range(idx, 0, 190)", "injective(idx)", "nondecreasing(idx)", "shares(idx, 6048)"]
    assert launch["observed"] == facts
    spec = (recorded.folder / entry["spec"]).read_text()
    assert 'observed = ["range(idx, 0, 190)",' in spec
    assert not list(recorded.folder.rglob("*.contents"))


def test_strided_and_empty_arrays_are_read_as_they_are_seen(run: Run) -> None:
    recorded = run(GATHER.format(factors="(1,)", step=2, tile=8))
    assert recorded.specialisations[0]["launches"][0]["observed"][0] == "range(idx, 0, 63)"


LATER = """
    @ct.kernel
    def add(idx, n, tile: ct.Constant[int]):
        ct.store(idx, (ct.bid(0),), ct.load(idx, (ct.bid(0),), (tile,)) + n)
    @ct.kernel
    def show(idx, y, tile: ct.Constant[int]):
        ct.store(y, (ct.bid(0),), ct.astype(ct.load(idx, (ct.bid(0),), (tile,)), ct.float32))
    @ct.kernel
    def show_both(idx, same, tile: ct.Constant[int]):
        ct.store(same, (ct.bid(0),), ct.load(idx, (ct.bid(0),), (tile,)) * 2)
    @ct.kernel
    def show_list(idx, others, tile: ct.Constant[int]):
        ct.store(others[0], (ct.bid(0),), ct.load(idx, (ct.bid(0),), (tile,)) * 2)
    def go_on_in_a_child():
        import os
        if child := os.fork():
            os.waitpid(child, 0)
            os._exit(0)
    idx = np.full(64, 7, dtype=np.int32)
    ints, floats = np.zeros(64, np.int32), np.zeros(64, np.float32)
    {first}
    ct.launch(STREAM, (4,), pick, (np.zeros(200, np.float32), idx, np.zeros(64, np.float32), 16))
"""


@pytest.mark.parametrize(
    ("first", "known"),
    [
        ("", True),
        ("ct.launch(STREAM, (4,), add, (idx, 1, 16))", False),
        ("ct.launch(STREAM, (4,), show, (idx, floats, 16))", True),
        ("for y in (floats, idx.view(np.float32)): ct.launch(STREAM, (4,), show, (idx, y, 16))", False),
        ("ct.launch(STREAM, (4,), show_both, (idx, ints, 16))", True),
        ("for same in (ints, idx): ct.launch(STREAM, (4,), show_both, (idx, same, 16))", False),
        ("for same in (ints, idx): ct.launch(STREAM, (4,), show_list, (idx, [same], 16))", False),
        ("ct.launch(STREAM, (4,), add, (idx, 1, 16)); go_on_in_a_child()", False),  # which begins its notes anew
    ],
)
def test_equal_numbers_are_known_unless_a_kernel_should_have_changed_them(run: Run, first: str, known: bool) -> None:
    recorded = run(GATHER.format(factors="()", step=1, tile=16) + LATER.format(first=first))
    assert recorded.summary.exit_code == 0
    assert not recorded.summary.failures
    (launch,) = (e["launches"][0] for e in recorded.specialisations if e["source"]["name"] == "pick")
    assert ("range(idx, 7, 8)" in launch.get("observed", [])) is known


TORCH = """
    import torch
    @ct.kernel
    def pick(x, idx, y, tile: ct.Constant[int]):
        at = ct.load(idx, (ct.bid(0),), (tile,))
        ct.store(y, (ct.bid(0),), ct.gather(x, (at,), check_bounds=False))
    idx = torch.{made}
    x, y = (torch.zeros(n, device="cuda") for n in (200, 64))
    ct.launch(torch.cuda.current_stream(), (4,), pick, (x, idx, y, 16))
"""


@pytest.mark.parametrize(
    ("made", "facts"),
    [
        ("empty(64, device='cuda', dtype=torch.int32)", []),
        ("empty(128, device='cuda', dtype=torch.int32)[64:]", []),
        ("zeros(64, device='cuda', dtype=torch.int32)", ["range(idx, 0, 1)"]),
        ("empty(64, device='cuda', dtype=torch.int32).fill_(5)", ["range(idx, 5, 6)"]),
        ("arange(64, device='cuda', dtype=torch.int32)", ["range(idx, 0, 64)"]),
        ("empty(64, device='cuda', dtype=torch.int64).to(torch.int32)", []),
        ("empty(64, device='cuda', dtype=torch.int32) + 1", []),
        ("zeros(64, device='cuda', dtype=torch.int64).to(torch.int32)", ["range(idx, 0, 1)"]),
    ],
)
def test_memory_that_nobody_filled_says_nothing(run: Run, made: str, facts: list[str]) -> None:
    pytest.importorskip("torch")
    recorded = run(TORCH.format(made=made))
    (launch,) = recorded.specialisations[0]["launches"]
    assert launch.get("observed", [])[:1] == facts


def test_memory_that_was_given_back_and_filled_anew_is_known(run: Run) -> None:
    pytest.importorskip("torch")
    recorded = run("""
        import torch
        @ct.kernel
        def wipe(x):
            ct.scatter(x, ct.arange(1, dtype=ct.int32), 0)
        @ct.kernel
        def pick(x, idx, y):
            at = ct.load(idx, (0,), (1,))
            ct.store(y, (0,), ct.gather(x, (at,), check_bounds=False))
        x, y = (torch.zeros(n, device="cuda") for n in (200, 1))
        memory = torch.zeros(1, device="cuda", dtype=torch.int64)
        ct.launch(torch.cuda.current_stream(), (1,), wipe, (memory,))
        idx = torch.randint(0, 1, (1,), out=memory)
        ct.launch(torch.cuda.current_stream(), (1,), pick, (x, idx, y))
    """)
    assert recorded.summary.exit_code == 0
    observed = {e["kernel"]: e["launches"][0]["observed"] for e in recorded.specialisations}
    assert observed["pick"] == ["range(idx, 0, 1)"]


@pytest.mark.parametrize(
    ("put", "facts"),
    [
        ("idx.copy_(torch.zeros(64, dtype=torch.int32))", ["range(idx, 0, 1)"]),
        ("idx[:] = 0", ["range(idx, 0, 1)"]),
        ("idx[:32] = 0; idx[32:] = torch.zeros(32, dtype=torch.int32)", ["range(idx, 0, 1)"]),
        ("idx[:63] = 0", []),
        ("idx[::2] = 0; idx[1::2] = 0", []),  # every second one: not taken for all that lies between
        ("idx[torch.arange(64)] = 0", []),  # not known to be all
        ("idx[:32].zero_()", []),
        ("idx.copy_(torch.empty(64, device='cuda', dtype=torch.int32))", []),
    ],
)
def test_what_the_program_puts_in_behind_a_kernel_is_known(run: Run, put: str, facts: list[str]) -> None:
    pytest.importorskip("torch")
    recorded = run(f"""
        import torch
        @ct.kernel
        def fill(idx):
            ct.scatter(idx, ct.arange(64, dtype=ct.int32), 0)
        @ct.kernel
        def pick(x, idx, y, tile: ct.Constant[int]):
            at = ct.load(idx, (ct.bid(0),), (tile,))
            ct.store(y, (ct.bid(0),), ct.gather(x, (at,), check_bounds=False))
        x, y = (torch.zeros(n, device="cuda") for n in (200, 64))
        for idx in (made(64, device="cuda", dtype=torch.int32) for made in (torch.zeros, torch.empty)):
            ct.launch(torch.cuda.current_stream(), (1,), fill, (idx,))
            {put}
            ct.launch(torch.cuda.current_stream(), (4,), pick, (x, idx, y, 16))
    """)
    assert recorded.summary.exit_code == 0
    launches = {e["kernel"]: e["launches"] for e in recorded.specialisations}["pick"]
    assert [launch.get("observed", [])[:1] for launch in launches] == [facts] * len(launches)
