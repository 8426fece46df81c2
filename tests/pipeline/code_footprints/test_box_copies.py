"""Which elements a copy of a box touches, beside what the machine copies."""

from __future__ import annotations

import pytest

from tileverify.backend.compiled.hidden_parameters import TensorMap, box_places
from tileverify.contract import terms as t
from tileverify.contract.terms.evaluate import evaluate
from tileverify.pipeline.code_footprints.ptx_text import box_access

from .ptx_kernels import entry_of

LOAD = "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r3];"
STORE = "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd1, {%r2}], [%r1];"


@pytest.mark.parametrize("text", [LOAD, STORE])
@pytest.mark.parametrize(("count", "element"), [(3, 2), (8, 2), (9, 2), (17, 4), (40, 4), (5, 8)])
@pytest.mark.parametrize("corner", [-4, 0, 16])
def test_a_box_touches_what_the_machine_copies(text: str, count: int, element: int, corner: int) -> None:
    (instruction,) = [each for each in entry_of(text).instructions if each.opcode[0] == "cp"]
    whole = TensorMap(1 << 20, element, (count,), (element,), (32,), 0, "b")
    terms = TensorMap(t.const(1 << 20), element, (t.const(count),), (t.const(element),), (32,), 0, "b")
    access = box_access(instruction, terms, [t.const(corner)], (), (), (), 1)
    ((place, size),) = access.box
    found = [
        evaluate(access.address, {place: number})
        for number in range(size)
        if all(evaluate(each, {place: number}) for each in access.path)
    ]
    part, _, addresses, inside = box_places(whole, (corner,), loads=access.reads)
    copied = [int(first) + more for first in addresses[inside] for more in range(0, part, element)]
    assert found == copied
