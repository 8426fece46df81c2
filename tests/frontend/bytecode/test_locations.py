"""Source positions of real producers, with their call-site chains."""

from __future__ import annotations

from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.location import Location
from tileverify.frontend.bytecode.model import Module
from tileverify.frontend.bytecode.traverse import walk

from .producers import KERNELS
from .recorded import recorded


def locations(module: Module) -> list[Location]:
    return [op.location for entry in module.entries for op in walk(entry.body) if op.location]


def test_cutile_names_line_column_and_function() -> None:
    module = decode(recorded("vector_add_13.1"))
    source = (KERNELS / "cutile.py").read_text(encoding="utf-8").splitlines()
    entry = module.entries[0]
    assert entry.location is not None
    assert source[entry.location.line - 1].startswith("def vector_add(")
    store = next(op for op in walk(entry.body) if op.name == "store_view_tko")
    assert store.location is not None
    assert source[store.location.line - 1][store.location.column :].startswith("ct.store(c")
    assert store.location.function == "vector_add"
    assert store.location.caller is None


def test_cutile_helpers_keep_their_call_sites() -> None:
    found = locations(decode(recorded("helpers_13.4")))
    deepest = max(found, key=lambda location: len(list(location.chain())))
    assert [frame.function for frame in deepest.chain()] == ["squared", "shifted", "helpers"]


def test_nvcc_positions_lead_back_to_the_user_file() -> None:
    for name in ("views_nvcc_13.4", "views_nvcc_13.5"):
        found = locations(decode(recorded(name)))
        assert any(location.caller for location in found)
        for location in found:
            assert list(location.chain())[-1].file.endswith("/kernels/views.cu")


def test_an_offset_counts_from_0_whoever_counted_the_column() -> None:
    source = (KERNELS / "views.cu").read_text(encoding="utf-8").splitlines()
    matmul = decode(recorded("views_nvcc_13.5")).entries[0]
    (store,) = (op for op in walk(matmul.body) if op.name == "store_view_tko")
    assert store.location is not None
    *_, place = store.location.chain()
    assert source[place.line - 1][place.offset :].startswith("made.store_masked(")
    entry = decode(recorded("vector_add_13.1")).entries[0]
    assert entry.location is not None
    assert entry.location.offset == entry.location.column
