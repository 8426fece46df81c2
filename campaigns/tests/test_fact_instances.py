"""What the prover takes for true of ranks and buckets is true of all contents that keep the facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
import pytest
from tests.facts import keeps
from tests.verifier.test_contradiction import launch

from tileverify.backend.guard.arguments import ArrayValue
from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.expressions import evaluate

from ..readings.launches import Given
from ..readings.proofs import unkept_instance
from ..readings.readings import Read

NAMES = {"r": 5, "k": 6, "a": 7}


def arrays_of(random: Random, n: int, width: int) -> dict[str, list[int]]:
    """Keys with ranks and buckets, right ones or nearly so."""
    lengths = {name: max(1, most - random.choice((0, 0, 1, 3))) for name, most in NAMES.items()}
    keys = [random.choice((0, 0, 1, 2, -1)) for _ in range(lengths["k"])]
    groups = [(i // n, key) for i, key in enumerate(keys)]
    order = random.choice((range(len(keys)), range(len(keys))[::-1]))
    ranks = [sum(groups[j] == groups[i] and order.index(j) < order.index(i) for j in order) for i in range(len(keys))]
    starts, free = [], random.choice((0, 3, -2))
    for x in range(lengths["a"]):
        starts.append(free)
        free += groups.count((x // width, x % width)) + random.choice((0, 0, 0, 1))
    found = {"r": [*ranks, 9][: lengths["r"]], "k": keys, "a": starts}
    for _ in range(random.choice((0, 0, 1, 2))):
        name = random.choice("rka")
        found[name][random.randrange(len(found[name]))] += random.choice((-1, 1))
    return found


def given(found: Mapping[str, Sequence[int]]) -> Given:
    values = tuple(ArrayValue(4096 * n, (len(each),), (1,), "i32") for n, each in enumerate(found.values(), 1))
    return Given(values, (1, 1, 1), {name: tuple(each) for name, each in found.items()}, tuple(found))


@pytest.mark.parametrize("n", [1, 2, 3, 9])
@pytest.mark.parametrize("said", ["ranks(r, k, {n})", "buckets(a, k, {n}, {w})", "buckets(a, k, {n}, {w}, 0, 9)"])
def test_what_is_taken_for_true_is_true(n: int, said: str) -> None:
    """And of contents that break the fact, it is mostly not."""
    random, right, wrong, told = Random(n), 0, 0, 0
    for _ in range(200):
        width = random.choice((1, 2, 3, 9))
        found, text = arrays_of(random, n, width), said.format(n=n, w=width)
        args = ", ".join(f'"{name}": "i32[{len(each)}]"' for name, each in found.items())
        read = Read(launch(f"{{{args}}}", data=(text,)), frozenset())
        arrays = {name: np.array(each, np.int32) for name, each in found.items()}
        broken = unkept_instance(read, given(found))
        if keeps(parse_data_fact(text), arrays, lambda e: evaluate(e, {})):
            assert broken is None, (text, found, broken)
            right += 1
        else:
            wrong, told = wrong + 1, told + (broken is not None)
    assert right > 20
    assert told == wrong > 2
