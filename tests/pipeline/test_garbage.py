"""What a verdict took is freed at once: nothing in it keeps itself.

Objects that know each other live until Python searches for cycles, and with them the solver's contexts, which hold most
of the memory; what frees them then does so in the middle of other work.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline.unit_check import check_unit

FILES = (
    "data/segments.py",
    "determined/first_flag.py",
    "explained/tv301.py",
    "found/split_parts.py",
    "protocols/tickets.py",
    "protocols/turns.py",
    "race_free/list_of_arrays.py",
    "showcase/matmul_swizzled.py",
)


@contextmanager
def collected() -> Iterator[Counter[str]]:
    """The types of what Python's search for cycles frees, of objects that are made inside."""
    found: Counter[str] = Counter()
    gc.collect()
    paused = gc.isenabled()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found.update(type(each).__qualname__ for each in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        if paused:
            gc.enable()


@pytest.mark.parametrize("file", FILES)
def test_a_verdict_leaves_nothing_to_search_for(file: str) -> None:
    units = [unit for unit in discover([str(ROOT / file)]) if isinstance(unit, KernelUnit)][:3]
    assert units
    for unit in units:
        check_unit(unit)  # what is made once for all kernels is no garbage
        with collected() as found:
            check_unit(unit)
        # ctypes makes a type for arrays of each length that Z3 is given, which knows itself.
        own = {name: count for name, count in found.items() if not name.startswith(("Ast_Array", "Sort_Array"))}
        assert not own.keys() - {"StgDict", "PyCArrayType", "getset_descriptor", "tuple", "dict"}, own


def test_what_keeps_itself_is_seen() -> None:
    class Kept:
        def __init__(self) -> None:
            self.itself = self

    with collected() as found:
        Kept()
    assert any(name.endswith("Kept") for name in found)
