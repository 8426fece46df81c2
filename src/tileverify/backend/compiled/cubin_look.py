"""The PTX of a cubin held against the bytecode that it was made of, in a few small launches of the contract."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Final

from ...contract.launch import EntryParameter, LaunchSpec
from ...frontend.bytecode import decode
from ...frontend.bytecode.model import Entry, Module
from ...frontend.bytecode.traverse import walk
from ...results.codes import TV
from ...system.errors import UsageError
from ..assembler import Assembled, CodeDiffers, split_loads, why_split
from ..audit.legal_launches import covering
from ..interpreter import InterpreterStop
from ..numbers.choose import ContractInNumbers
from ..numbers.inputs import Inputs
from .beside_bytecode import compared
from .both_runs import CodeDifference, DifferenceKind, Reference, reference
from .hidden_parameters import HostSide
from .machine.machine import Unfollowed
from .machine.steps import program_of
from .ptx import PtxEntry, PtxError, PtxModule, read

LAUNCHES: Final = 2
MOST_LAUNCHES: Final = 4
"""Where two leave accesses out."""
DRAWN: Final = 16
MOST_THREADS: Final = 1 << 13
"""Of one launch: blocks times threads."""

_MEMORY_OPS: Final = ("load_", "store_", "atomic_")
_PRODUCTS: Final = frozenset({"wgmma", "tcgen05"})


@dataclass(frozen=True, slots=True)
class Looked:
    """What was seen of one cubin: ``both_runs`` that were compared, what differs, and ``why_not`` where a launch could
    not be followed.  ``ptx_sha256``: of the text that the cubin was made of; empty where it was not seen.
    ``products``: the code has products of matrices whose values are not computed.  ``accesses``: its instructions that
    touch global memory, and how many of them no launch executed."""

    architecture: str
    launches: int
    differences: tuple[CodeDifference, ...]
    why_not: str
    ptx_sha256: str
    products: bool = False
    accesses: tuple[int, int] = (0, 0)

    @property
    def sentence(self) -> str:
        """The first difference in words, of which the others mostly follow."""
        first = self.differences[0]
        if first.kind is DifferenceKind.SPLIT_LOAD:
            return f"{first}; no comparison shows otherwise for {self.architecture}"
        made = f"what tileiras makes of this kernel for {self.architecture}"
        return f"{made} does other than the bytecode that is proved: {first}"

    def __str__(self) -> str:
        """As bundles tell it."""
        refused = "; refused for a scoped load" if self.differences else ""
        if any(each.kind is not DifferenceKind.SPLIT_LOAD for each in self.differences):
            return "differs from the bytecode"
        if not self.launches:
            return f"not looked at ({self.why_not}){refused}"
        count, left_out = self.accesses
        parts = (
            f"compared at {self.launches} launch{'es' if self.launches > 1 else ''}",
            f"which execute {count - left_out} of its {count} accesses" * bool(left_out),
            "without the values of matrix products" * self.products,
        )
        return ", ".join(filter(None, parts)) + refused


@dataclass(frozen=True, slots=True)
class ProvedEntry:
    """What the cubin was made of: an entry of some bytecode, and the contract under which it is proved, with all
    clauses that the proof added."""

    bytecode: bytes
    symbol: str
    parameters: Sequence[EntryParameter]
    launch: LaunchSpec
    requires: tuple[str, ...] = ()


def looked(proved: ProvedEntry, assembled: Assembled, architecture: str) -> Looked:
    """Never raises: what could not be looked at is told.  Where no difference is seen, a load that tileiras is known to
    split is one all the same."""
    seen = _seen(proved, assembled, architecture)
    if seen.differences:
        return seen
    entries = (each for each in decode(proved.bytecode).entries if each.name == proved.symbol)
    split = (op for entry in entries for op in split_loads(entry))
    known = (CodeDifference(DifferenceKind.SPLIT_LOAD, why_split(op), (op,)) for op in split)
    return replace(seen, differences=tuple(islice(known, 1)))


def _seen(proved: ProvedEntry, assembled: Assembled, architecture: str) -> Looked:
    nothing = Looked(architecture, 0, (), "", "")
    if assembled.ptx is None:
        return replace(nothing, why_not="the assembler's PTX was not seen")
    nothing = replace(nothing, ptx_sha256=hashlib.sha256(assembled.ptx.encode()).hexdigest())
    try:
        ptx, module = read(assembled.ptx), decode(proved.bytecode)
        entry = next(each for each in module.entries if each.name == proved.symbol)
        compiled = ptx.entry(entry.name)
    except (PtxError, StopIteration) as error:
        return replace(nothing, why_not=str(error) or "the PTX has no such entry")
    products = any(each.opcode[0] in _PRODUCTS for each in compiled.instructions)
    nothing = replace(nothing, products=products)
    return _compared(nothing, proved, assembled, ptx, compiled, module, entry)


def _compared(
    seen: Looked, proved: ProvedEntry, assembled: Assembled, ptx: PtxModule, compiled: PtxEntry, module: Module,
    entry: Entry,
) -> Looked:  # fmt: skip
    """``seen`` with what small launches of the contract show: some, and more until each access of the bytecode is made,
    each loop goes round twice, and each access of the code is executed in one of them."""
    program_of.cache_clear()  # what other looks executed is not seen in this one
    wanted = _to_be_seen(entry)
    done, why = 0, ""
    try:
        contracts = list(_contracts(proved))
    except UsageError as error:
        return replace(seen, why_not=error.message)
    for inputs in chain.from_iterable(covering(contract, entry, DRAWN) for contract in contracts):
        launch = _reference(proved, module, entry, inputs)
        if isinstance(launch, str):
            why = launch
            continue
        left = wanted - _seen_in(launch)
        new = len(left) < len(wanted)
        useful = done < LAUNCHES or new or _executed(compiled)[1]
        if not useful or (compiled.threads * len(launch.blocks) > MOST_THREADS and done):
            continue
        try:
            found = compared(ptx, compiled, replace(launch, host=HostSide(assembled.host, assembled.cubin)))
        except Unfollowed as end:
            why = end.why
            continue
        except (AssertionError, LookupError, TypeError, ValueError) as error:  # PTX of a form that was never met
            why = f"its PTX is not understood: {type(error).__name__}"
            continue
        done, wanted = done + 1, left
        if found:
            return replace(seen, launches=done, differences=tuple(found))
        if done == MOST_LAUNCHES or (done >= LAUNCHES and not wanted and not _executed(compiled)[1]):
            break
    if not done:
        return replace(seen, why_not=why or "no small launch was found")
    return replace(seen, launches=done, accesses=_executed(compiled))


def _contracts(proved: ProvedEntry) -> Iterator[ContractInNumbers]:
    """Contents as they were recorded come first: a proof that assumes what was observed says nothing of others."""
    launch = proved.launch
    if launch.observed:
        seen = tuple(fact for fact in launch.observed if fact not in launch.data)
        yield ContractInNumbers(replace(launch, data=(*launch.data, *seen)), proved.requires)
    yield ContractInNumbers(launch, proved.requires)


def _to_be_seen(entry: Entry) -> frozenset[int]:
    """The loops of an entry and its ops that touch memory."""
    return frozenset(id(op) for op in walk(entry.body) if op.name.startswith(("for", "loop", *_MEMORY_OPS)))


def _seen_in(launch: Reference) -> frozenset[int]:
    """Ops that touch memory, and loops that go round twice."""
    made = (id(access.op) for log in launch.logs for access in log.accesses)
    return frozenset((*made, *(id(run.op) for log in launch.logs for run in log.loops if run.entered > 1)))


def _executed(compiled: PtxEntry) -> tuple[int, int]:
    """How many instructions touch global memory, and how many of them nobody has executed."""
    program = program_of(compiled)
    touching = [number for number, each in enumerate(compiled.instructions) if each.touches_global]
    return len(touching), sum(not program.is_executed(number) for number in touching)


def _reference(proved: ProvedEntry, module: Module, entry: Entry, inputs: Inputs) -> Reference | str:
    try:
        return reference(module, entry, proved.parameters, inputs)
    except Unfollowed as end:
        return end.why
    except InterpreterStop as stop:
        return str(stop)


def refuse_differences(seen: Looked) -> None:
    """Raises `CodeDiffers` (TV503) where compiled code does other than its bytecode."""
    if not seen.differences:
        return
    first = seen.differences[0]
    file, line = first.place or (None, None)
    advice = f"; {first.advice}" if first.advice else ""
    raise CodeDiffers(f"{seen.sentence} ({TV.LAUNCH_ARTIFACT.value}){advice}", file, line)
