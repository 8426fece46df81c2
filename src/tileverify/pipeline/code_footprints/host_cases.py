"""Compiled code for all launches, case by case: where host code decides by arguments, each way is a case of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ...backend.compiled.hidden_parameters import HostSide, NoHiddenParameters
from ...backend.compiled.machine.tensor_maps import TensorMap
from ...backend.compiled.ptx import PtxEntry
from ...contract import terms as t
from ...contract.as_terms import build_contract
from ...contract.launch import EntryParameter, LaunchSpec
from ...contract.terms import Term
from ...frontend.bytecode.model import Entry, PointerType, TileType
from ...frontend.symbolic.entry_state import bind
from ...frontend.symbolic.origin_addresses import address_of
from ...frontend.symbolic.summary import AccessSummary
from ...frontend.symbolic.values import Pointer
from ...verifier.obligations.answers import Answer
from ...verifier.obligations.prepare import contract_values, launch_facts
from ...verifier.smt import Decider
from .all_launches import LIMITS, CodeComparison, LoopNotCounted, NotShown
from .host_terms import DecidesByArgument, maps_of
from .ptx_paths import follow
from .ptx_text import PtxNotFollowed

MOST_DECISIONS: Final = 4
"""Of host code by arguments."""
_ADDRESS_BYTES: Final = 8


def show_for_all_launches(
    code: PtxEntry, entry: Entry, summary: AccessSummary, parameters: Sequence[EntryParameter], launch: LaunchSpec,
    clauses: Sequence[Term] = (), host: HostSide | None = None,
) -> None:  # fmt: skip
    """Returns where every launch of ``launch`` under ``clauses`` touches the same memory by ``code`` as by the summary.

    ``host``: what fills the tensor maps of the code.  Where it decides by arguments each case is shown by itself.

    :raises NotShown: that is not known.
    """
    values = _parameters(code, entry, parameters)
    cases = [tuple(clauses)]
    while cases:
        case = cases.pop()
        try:
            maps = _tensor_maps(code, host, values, launch, case)
        except DecidesByArgument as open_:
            if len(case) - len(clauses) == MOST_DECISIONS:
                raise NotShown(str(open_)) from None
            cases += [(*case, t.not_(open_.condition)), (*case, open_.condition)]
        except NoHiddenParameters as error:
            raise NotShown(str(error)) from None
        else:
            _show(code, values, maps, summary, launch, case)


def _show(
    code: PtxEntry, values: Mapping[str, Term | None], maps: Mapping[str, TensorMap[Term]], summary: AccessSummary,
    launch: LaunchSpec, clauses: Sequence[Term],
) -> None:  # fmt: skip
    uncounted: set[int] = set()
    while True:
        try:
            followed = follow(code, values, uncounted, maps)
            CodeComparison(followed, summary, launch, clauses).made()
            return
        except PtxNotFollowed as end:
            raise NotShown(end.why) from None
        except LoopNotCounted as loop:
            uncounted.add(loop.loop)


def _tensor_maps(
    code: PtxEntry, host: HostSide | None, held: Mapping[str, Term | None], launch: LaunchSpec, clauses: Sequence[Term]
) -> Mapping[str, TensorMap[Term]]:
    if host is None or not any(each.hidden for each in code.parameters):
        return {}
    if code.block_memory:
        raise NotShown("the kernel makes tensor maps itself")
    contract = build_contract(launch)
    decider, values = Decider((*launch_facts(contract), *clauses), LIMITS), contract_values(contract)

    def decides(condition: Term) -> bool | None:
        condition = t.substitute(condition, values)
        for answer, each in ((False, condition), (True, t.not_(condition))):
            if decider.decide((each,)).answer is Answer.UNSATISFIABLE:
                return answer
        return None

    return maps_of(host, code.name, code.parameters, held, decides)


def _parameters(code: PtxEntry, entry: Entry, described: Sequence[EntryParameter]) -> Mapping[str, Term | None]:
    """What each parameter of the code holds: parameter i is parameter i of the bytecode's entry."""
    values = bind(entry, described).values
    visible = [each for each in code.parameters if not each.hidden]
    if len(visible) != len(entry.parameters):
        raise NotShown(f"the code has {len(visible)} parameters, the bytecode {len(entry.parameters)}")
    found: dict[str, Term | None] = {}
    for parameter, value in zip(visible, entry.parameters, strict=True):
        assert isinstance(value.type, TileType)
        element = value.type.element
        size = _ADDRESS_BYTES if isinstance(element, PointerType) else element.bytes
        if parameter.size != size:
            raise NotShown(f"{parameter.name} has {parameter.size} bytes in the code, and {size} in the bytecode")
        held = values[value]
        found[parameter.name] = (
            address_of(held.origin) if isinstance(held, Pointer) else held if isinstance(held, Term) else None
        )
    return found
