"""Compiled code for all launches, case by case: where host code decides by arguments, each way is a case of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...backend.assembler import Assembled
from ...backend.compiled.cubin_look import ProvedEntry
from ...backend.compiled.hidden_parameters import HostSide, NoHiddenParameters, TensorMap
from ...backend.compiled.ptx import PtxEntry, PtxError, read
from ...contract import terms as t
from ...contract.as_terms import build_contract
from ...contract.launch import EntryParameter, LaunchSpec
from ...contract.terms import Term
from ...frontend.bytecode import decode
from ...frontend.bytecode.model import Entry, PointerType, TileType
from ...frontend.sources.abi import under_contract
from ...frontend.symbolic.execute import bind, summarize
from ...frontend.symbolic.summary import AccessSummary, address_of
from ...frontend.symbolic.values import Pointer
from ...system.errors import TileVerifyError
from ...verifier.obligations.answers import Answer
from ...verifier.obligations.limits import clause_terms
from ...verifier.obligations.prepare import contract_values, launch_facts
from ...verifier.smt import Solver
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
    solver, values = Solver((*launch_facts(contract), *clauses), LIMITS), contract_values(contract)

    def decides(condition: Term) -> bool | None:
        condition = t.substitute(condition, values)
        for answer, each in ((False, condition), (True, t.not_(condition))):
            if solver.decide((each,)).answer is Answer.UNSATISFIABLE:
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


@dataclass(frozen=True, slots=True)
class CodeProof:
    """``why_not``: empty where it is proved."""

    why_not: str = ""

    def __str__(self) -> str:
        return f"not proved for all launches ({self.why_not})" if self.why_not else "proved for all launches"


def code_proof(proved: ProvedEntry, assembled: Assembled) -> CodeProof:
    """Never raises: why nothing was proved is told."""
    if assembled.ptx is None:
        return CodeProof("the assembler's PTX was not seen")
    try:
        module = decode(proved.bytecode)
        launch = proved.launch
        entry = under_contract(
            next(each for each in module.entries if each.name == proved.symbol), launch, proved.parameters
        )
        code = read(assembled.ptx).entry(entry.name)
        summary = summarize(module, entry, proved.parameters, may_overlap=launch.sharing())
        clauses = clause_terms(proved.requires, summary, launch)
        host = HostSide(assembled.host, assembled.cubin)
        show_for_all_launches(code, entry, summary, proved.parameters, launch, clauses, host)
    except NotShown as end:
        return CodeProof(end.why)
    except (TileVerifyError, PtxError, StopIteration) as error:
        return CodeProof(str(error) or "the PTX has no such entry")
    except (AssertionError, LookupError, TypeError, ValueError) as error:  # PTX of a form that was never met
        return CodeProof(f"its PTX is not understood: {type(error).__name__}")
    return CodeProof()
