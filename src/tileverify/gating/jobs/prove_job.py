"""In the sandbox, in a process that never ran the submission: from what the compiler's process sent to verdicts.

The bytes are read as hostile.  Of the launch, only its words are taken, and given meaning here; that the entry's
parameters have the types which the launch gives them is checked against the bytecode, and everything else that matters
is an obligation of the proof.  So a compilation that lied gives a proof about other bytecode, never a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Final

import msgspec

from ...backend.numbers.choose import ContractInNumbers
from ...contract.expression_parser import parse_condition
from ...contract.expressions import GRID_NAMES, Undefined, free_names
from ...contract.launch import Apply, Expression, KernelParameter, KernelUnit, LaunchSpec, SameArray
from ...contract.spec import build_launch
from ...contract.spec_files import AutotuneConfiguration, RawLaunch, SourceSpecs, named_launches
from ...frontend.sources.abi import entry_parameters, mismatch
from ...frontend.sources.bytecode_file import bytecode_entries
from ...frontend.sources.cutile import compiled_array_facts
from ...frontend.triton.triton_kernels import SpecialisedIr, unit_of_ir
from ...pipeline import CheckOptions
from ...pipeline.repair.kernel_source import KernelSource
from ...pipeline.repair.proposals import proposals
from ...pipeline.unit_check import check_unit
from ...pipeline.unit_summary import solver_version
from ...results import Finding, KernelResult, SourceSite, Verdict
from ...results.codes import TV
from ...results.json_report import result_from_json, result_to_json
from ...system.errors import SourceError, SpecError, TileVerifyError
from ..gated import Reason
from .compile_job import (
    Claimed,
    CompiledUnit,
    Send,
    claims_of,
    failure_of,
    parameter_of,
    raw_of,
    specs_of,
    unit_claimed,
)
from .job_messages import (
    NotPlain,
    ProofAnswer,
    ProofHead,
    ProposalRequest,
    SubmissionRequest,
    harmless_table,
    harmless_text,
    heard_table,
    text,
    whole,
)

_MOST_REASONS: Final = 20
_MOST_NOTES: Final = 20
_LONGEST_SENTENCE: Final = 2000


def prove_submission(request: SubmissionRequest, compiled: bytes, send: Send) -> None:
    """Send a line of JSON, the `ProofHead`; unless the submission was stopped, then a `ProofAnswer` for each of its
    units, in this order."""
    try:
        sent = claims_of(compiled)
        if sent.reasons is not None:
            _send(send, ProofHead(reasons=tuple(map(_reason, sent.reasons[:_MOST_REASONS]))))
            return
        if sent.items is None:
            raise NotPlain("it has another form")
        claims = sent.items
        specs = specs_of(request)
    except (NotPlain, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, NotPlain) else "it has another form"
        _stop(send, Reason("forged-result", f"its process sent no result ({problem})"))
        return
    except TileVerifyError as error:
        _stop(send, Reason("launch-spec", whole(error.message), error.line))
        return
    missing = () if request.only else tuple(map(harmless_text, _missing(specs, claims)))
    units = tuple((harmless_text(each.kernel), harmless_text(each.launch)) for each in claims)
    _send(send, ProofHead(units=units, missing=missing))
    for claim in claims:
        _send(send, _decided(claim, specs, request))


def _send(send: Send, line: ProofHead | ProofAnswer) -> None:
    send(msgspec.json.encode(line) + b"\n")


def _stop(send: Send, reason: Reason) -> None:
    _send(send, ProofHead(reasons=(_reason(reason),)))


def _reason(reason: Reason) -> Reason:
    """As it was sent, if it is one; raises `NotPlain`."""
    id_ = text(reason.id, 40)
    if not id_.replace("-", "a").isalnum() or not id_.isascii():
        raise NotPlain("a reason has no id")
    places = (reason.line, reason.column)
    if not all(place is None or -(1 << 31) <= place < 1 << 31 for place in places):
        raise NotPlain("a number is missing or out of range")
    return replace(reason, message=harmless_text(text(reason.message, _LONGEST_SENTENCE)))


def _missing(specs: SourceSpecs, claims: Sequence[Claimed]) -> Iterator[str]:
    """Launches that a spec speaks of, and the submission does not have."""
    there = {(claim.kernel, claim.written or claim.launch) for claim in claims}
    for kernel in dict.fromkeys(raw.kernel for raw in specs.launches):
        for launch, _, _ in named_launches([raw for raw in specs.launches if raw.kernel == kernel]):
            if (kernel, launch) not in there:
                yield f"{kernel} [{launch}]"


# ------------------------------------------------------------------------------------------------- verdicts
def _decided(claim: Claimed, specs: SourceSpecs, request: SubmissionRequest) -> ProofAnswer:
    """The line of one kernel, with the bundle of a proved one where it was asked for."""
    file = request.file
    try:
        failed = _failed(claim, file)
        if failed is not None:
            return _answer(failed)
        unit = unit_of(claim, specs, file)
    except (NotPlain, KeyError, TypeError, ValueError, RecursionError):
        result = _error(claim, file, TV.BYTECODE_ERROR, "its process sent no kernel")
        return _answer(result, forged=True)
    except TileVerifyError as error:
        line = None if isinstance(error, SpecError) else error.line
        return _answer(_error(claim, file, _code_of(error), error.message, line))
    if request.any_grid:
        unit = replace(unit, launch=replace(unit.launch, grid=None, grid_text=(), complete=()))
    asked = CheckOptions(deny_requires=request.deny_requires, certificate=request.bundles, complete=request.complete)
    result = check_unit(unit, asked)
    narrower = tuple(map(harmless_text, narrowing(unit.launch, result.requires)))
    return _answer(result, bundle=_bundle(unit, result), narrower=narrower)


def _code_of(error: TileVerifyError) -> TV:
    """Of what is wrong with a claim; a line is known of a Triton kernel alone, which is translated here."""
    if isinstance(error, SpecError):
        return TV.SPEC_ERROR
    return TV.BYTECODE_ERROR if error.line is None else TV.SOURCE_ERROR


def _answer(
    result: KernelResult, *, forged: bool = False, bundle: bytes | None = None, narrower: tuple[str, ...] = ()
) -> ProofAnswer:
    return ProofAnswer(harmless_table(result_to_json(result)), forged=forged, narrower=narrower, bundle=bundle)


def _bundle(unit: KernelUnit, result: KernelResult) -> bytes | None:
    """Without cubins: the assembler is a program of its own, and none can be started here."""
    if result.certificate is None:
        return None
    from ...launching.bundle.build import build_bundle
    from ...launching.bundle.manifest import bundle_bytes

    return bundle_bytes(build_bundle(unit, result, solver_version(), None, ()))


def _failed(claim: Claimed, file: str) -> KernelResult | None:
    """The result of a kernel that has no bytecode; ``None`` for one that has."""
    failure = failure_of(claim)
    if failure is None:
        return None
    if failure.code not in (TV.SOURCE_ERROR, TV.SPEC_ERROR):
        raise NotPlain("an error has no code")
    return _error(claim, file, TV(failure.code), text(failure.message), failure.line, failure.column)


def _error(
    claim: Claimed, file: str, code: TV, message: str, line: int | None = None, column: int | None = None
) -> KernelResult:
    sites = () if line is None else (SourceSite(file, line, column, access="", array=""),)
    finding = Finding(code, message, sites)
    return KernelResult(file, claim.kernel, claim.launch, Verdict.ERROR, findings=(finding,), line=claim.line)


def unit_of(claim: Claimed, specs: SourceSpecs, file: str) -> KernelUnit:
    """The kernel with its launch; raises `TileVerifyError` where they do not fit, `NotPlain` for nonsense."""
    sent = unit_claimed(claim)
    parameters = tuple(map(parameter_of, sent.parameters))
    launch = _launch(claim, sent, specs, parameters, file)
    compile_ms = min(max(sent.compile_ms, 0.0), 1e9)
    if sent.ir is not None:
        ir = SpecialisedIr(sent.ir.text, sent.ir.passed)
        made = unit_of_ir(ir, claim.kernel, Path(file), launch, claim.line, perf_counter())
        return replace(made, compile_ms=made.compile_ms + compile_ms)
    symbol = text(sent.symbol, 400)
    facts = compiled_array_facts(launch, parameters)
    entry = entry_parameters(launch, facts)
    for each in bytecode_entries(sent.bytecode, Path(file)):
        if each.symbol == symbol:
            problem = mismatch(entry, launch, each.parameter_types, symbol)
            if problem is not None:
                raise SpecError(f"the launch does not fit the bytecode: {problem}")
            break
    else:
        raise SourceError("the bytecode has no such entry")
    return KernelUnit(
        file=Path(file),
        kernel=claim.kernel,
        launch=launch,
        bytecode=sent.bytecode,
        symbol=symbol,
        parameters=entry,
        compile_ms=compile_ms,
        line=claim.line,
        notes=launch.notes,
    )


def _launch(
    claim: Claimed, sent: CompiledUnit, specs: SourceSpecs, parameters: tuple[KernelParameter, ...], file: str
) -> LaunchSpec:
    if specs.given:
        own = [raw for raw in specs.launches if raw.kernel == claim.kernel]
        for launch, raw, twice in named_launches(own):
            if launch == (claim.written or claim.launch) and twice is None:
                if sent.ir is None:
                    raw.refuse_triton_words()
                tuned = None if sent.ir is None or sent.ir.tuned is None else sent.ir.tuned.configuration()
                vouched = build_launch(_as_tuned(raw, claim, tuned), claim.launch, parameters)
                _look_at_places(raw, parameters)
                return vouched
        raise SpecError("the launch spec has no such launch")
    fields = {**heard_table(sent.fields), "kernel": claim.kernel}
    launch_spec = build_launch(raw_of(fields, file), claim.launch, parameters)
    if launch_spec.trust:
        raise SpecError("a submission cannot say what is trusted; the launch spec that it is judged by can")
    if launch_spec.allow:
        raise SpecError("a submission cannot say what is allowed; the launch spec that it is judged by can")
    if launch_spec.calls:
        raise SpecError("a submission cannot say what its calls touch; the launch spec that it is judged by can")
    notes = tuple(text(each, _LONGEST_SENTENCE) for each in sent.notes[:_MOST_NOTES])
    return replace(launch_spec, origin="inferred" if sent.inferred else launch_spec.origin, notes=notes)


def _as_tuned(raw: RawLaunch, claim: Claimed, tuned: AutotuneConfiguration | None) -> RawLaunch:
    """The vouched launch with what the submission's own ``@triton.autotune`` adds: values that the launch leaves to it.

    Raises `SpecError` where the launch gives them, `NotPlain` where this is not the launch that it is called.
    """
    made = raw if tuned is None else tuned.of(raw, claim.written)
    names = {claim.written or claim.launch} if tuned is None else {str(made.fields["name"])}
    names |= set() if tuned is None else {tuned.long_name(name) for name in names}
    if claim.launch not in names:
        raise NotPlain("a configuration has another name")
    return made


def _look_at_places(raw: RawLaunch, parameters: Sequence[KernelParameter]) -> None:
    """Whoever vouches for a launch makes it by places, as bundles take their arguments; all else here goes by names.

    Raises `SpecError` where the parameters stand in another order than in the spec, or others among them.
    """
    given = raw.fields.get("args")
    wanted = list(given) if isinstance(given, Mapping) else []
    places = [parameter.name for parameter in parameters[: len(wanted)]]
    if places != wanted:
        there, asked = (", ".join(map(harmless_text, names)) for names in (places, wanted))
        raise SpecError(
            f"the parameters of '{harmless_text(raw.kernel)}' are ({there}), but the launch spec has ({asked}): "
            "a launch passes its arguments by place, so write them in the order of the spec"
        )


# ---------------------------------------------------------------------------------------------------------- propose job
# In the sandbox, in a process that never runs the submission: edits that might mend what is wrong with it.
#
# An untrusted text is parsed here and nowhere else; what comes of it is read by `gate` as it reads any answer.


def propose_edits(request: ProposalRequest, source: bytes, send: Callable[[bytes], None]) -> None:
    """Send, for each finding of the request's result, `Proposal`s."""
    text = KernelSource(source.decode("utf-8"))
    findings = result_from_json(request.result).findings
    found = [list(islice(proposals(text, finding, findings), request.most)) for finding in findings]
    send(msgspec.json.encode(found))


# ---------------------------------------------------------------------------------------------------- narrower contract
# Clauses of a proof that take launches away which somebody vouched for.


def narrowing(launch: LaunchSpec, clauses: Iterable[str]) -> tuple[str, ...]:
    """Those of ``clauses`` that speak of no open part of the launch."""
    contract, open_names = ContractInNumbers(launch), _open_names(launch)
    return tuple(clause for clause in clauses if not _is_harmless(clause, contract, open_names))


def _is_harmless(clause: str, contract: ContractInNumbers, open_names: frozenset[str]) -> bool:
    try:
        said = parse_condition(clause)
        return not isinstance(said, SameArray) and all(
            bool(_names(each, contract) & open_names) or _is_met(each, contract) for each in _parts(said)
        )
    except (TileVerifyError, KeyError, Undefined):
        return False


def _parts(said: Expression) -> Iterator[Expression]:
    if isinstance(said, Apply) and said.op == "and":
        for each in said.args:
            yield from _parts(each)
    else:
        yield said


def _open_names(launch: LaunchSpec) -> frozenset[str]:
    arrays = list(launch.arrays())
    strides = {name for array in arrays for stride in array.strides or () for name in free_names(stride)}
    written = {name for array in arrays for size in array.shape for name in free_names(size)}
    written |= {name for each in launch.requires if not isinstance(each, SameArray) for name in free_names(each)}
    written |= {name for axis in launch.grid or () for name in free_names(axis)}
    addresses = {f"{array.name}.address" for array in arrays}
    return frozenset({*(strides - written), *addresses, *(() if launch.grid else GRID_NAMES)})


def _names(said: Expression, contract: ContractInNumbers) -> frozenset[str]:
    """As they stand there, and what they stand for: ``x.strides[0]`` may be a name of the spec."""
    return free_names(said) | free_names(contract.resolved(said))


def _is_met(said: Expression, contract: ContractInNumbers) -> bool:
    """A launch of numbers is proved as it stands; the clause is of the contract that it was widened to."""
    condition = contract.condition(said)
    return not condition.names and condition.holds({})
