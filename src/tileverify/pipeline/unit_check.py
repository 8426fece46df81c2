"""The verdict on one unit, stage by stage: cache, decoding, summary, proof, second reading, details."""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from ..results import Finding, KernelResult, Times, Verdict
from ..results.codes import TV
from ..results.conditional import limits_denied
from ..system.errors import TileVerifyError, UnsupportedOperation
from ..system.pace import Clock, KernelTimeout, collector_paused, deadline, interruptible
from ..system.printable import display_path
from .beside_verdict import completed, with_allowance, with_more, with_playback
from .error_findings import (
    arguments,
    finding_of,
    is_conditional,
    stated,
    tool_failure,
    with_places,
)
from .options import USUAL
from .options import CheckOptions as CheckOptions
from .triton_advice import in_tritons_words
from .triton_order import with_doubtful_order
from .unit_summary import entry_of, solver_version, summary_of

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit
    from ..frontend.sources.cutile import Compile
    from .verdict_cache import Illustration

_GRACE = 1.5
"""The verifier watches --timeout itself; this much later it is interrupted wherever it is."""


def check_unit(unit: KernelUnit, options: CheckOptions = USUAL, compiled_as: Compile | None = None) -> KernelResult:
    """The verdict on one compiled kernel.  Never raises: what goes wrong becomes a result that says so.

    ``compiled_as``: how its repairs are compiled, where its launch does not say it all.
    """
    from ..contract.trustable import trusting

    if options.trust:
        unit = replace(unit, launch=trusting(unit.launch, options.trust))
    compiled = unverified(unit)
    waited = nullcontext() if options.under_way is None else options.under_way.at(title(compiled))
    try:
        with waited, collector_paused(), deadline(options.timeout_s and options.timeout_s * _GRACE):
            result = _decide(unit, compiled, options)
            if unit.most_ordered is not None:
                result = with_doubtful_order(unit, result, lambda other: _decide(other, compiled, options))
            if options.witnesses:
                result = with_allowance(unit, result, lambda other: _decide(other, compiled, options))
            if options.repair or options.quick_repairs:
                result = _with_repairs(unit, result, options, compiled_as)
            result = in_tritons_words(result)
            if options.deny_limits or unit.launch.deny_limits:
                result = limits_denied(result)
            return with_playback(unit, result) if options.playback else result
    except KernelTimeout:
        limit = f"the time limit of {options.timeout_s:g} s for this kernel was reached"
        return replace(compiled, verdict=Verdict.UNDECIDED, findings=(Finding(TV.BUDGET, limit),))
    except UnsupportedOperation as error:
        finding = replace(
            finding_of(error, TV.UNSUPPORTED_OP), message=error.message or f"no rule for the operation {error.op}"
        )
        return replace(compiled, verdict=Verdict.UNDECIDED, findings=(finding,))
    except TileVerifyError as error:
        return replace(compiled, findings=(finding_of(error),))
    except (Exception, RecursionError, MemoryError) as error:
        return replace(compiled, findings=(tool_failure(error, unit, options.archives),))


def title(result: KernelResult) -> str:
    return f"{result.file}::{result.kernel} [{result.launch}]"


def unverified(unit: KernelUnit) -> KernelResult:
    """What is known of a unit before it is decoded; an error until it is decided."""
    from ..contract.trustable import taken_for_granted

    return KernelResult(
        file=display_path(unit.file),
        kernel=unit.kernel,
        launch=unit.launch.name,
        verdict=Verdict.ERROR,
        bytecode_sha256=hashlib.sha256(unit.bytecode).hexdigest(),
        time_ms=Times(compile=unit.compile_ms),
        notes=unit.notes,
        line=unit.line,
        trusted=taken_for_granted(unit.launch),
        producer=unit.producer,
    )


def _decide(unit: KernelUnit, compiled: KernelResult, options: CheckOptions) -> KernelResult:
    from ..backend.assembler import notes_on_split_loads
    from ..backend.replay.replay import ANYWHERE_BUDGET, KERNEL_BUDGET, Replayer
    from ..frontend.bytecode import decode
    from ..verifier.budgets import KERNEL_EFFORT
    from ..verifier.obligations.answers import Limits
    from ..verifier.verify import VerifyOptions, verify
    from .verdict_cache import ResultCache

    # The time limit is no part of the key: only verdicts that do not depend on it are kept.
    key = options.decisive
    cache = ResultCache(options.cache, solver_version()) if options.cache else None
    known = cache.load(unit, key) if cache and not options.anew else None
    if known is not None:
        illustration = cache.illustration(unit, key, known) if cache and options.details else None
        if illustration is not None or not options.details:
            return _shown(replace(known, file=compiled.file, line=unit.line), unit, illustration)

    clock = Clock()
    module = decode(unit.bytecode, file=compiled.file)
    entry = entry_of(module, unit)
    decode_ms = clock.lap()
    summary = summary_of(module, unit)
    execute_ms = clock.lap()
    spent = (decode_ms + execute_ms) / 1000
    left = None if options.timeout_s is None else max(options.timeout_s - spent, 0.001)
    replayer = Replayer(module, entry, unit.parameters, total=KERNEL_BUDGET, others=ANYWHERE_BUDGET)
    outcome = verify(
        summary,
        unit.launch,
        unit.parameters,
        options=VerifyOptions(
            timeout_s=left,
            deny_requires=options.deny_requires,
            limits=Limits().times(options.limits),
            seed=options.seed,
            effort=max(int(options.effort * KERNEL_EFFORT), 1),
            watch=None if options.under_way is None else options.under_way.proves,
            witnesses=options.witnesses,
            refutations=options.refutations,
        ),
        confirm=replayer,
        runs=replayer.enumerated,
    )
    times = Times(compile=unit.compile_ms, decode=decode_ms, execute=execute_ms, prove=clock.lap())
    result = replace(
        compiled,
        verdict=outcome.verdict,
        holds_for=outcome.holds_for,
        deterministic=outcome.deterministic,
        contract=unit.launch.origin,
        requires=outcome.requires,
        limits=outcome.limits,
        conditional=is_conditional(unit, outcome),
        assumes=outcome.assumes,
        observed=outcome.observed,
        findings=with_places(outcome.findings, unit.launch),
        obligations=outcome.obligations,
        proved_codes=outcome.proved_codes,
        cut_short=outcome.cut_short,
        stated=stated(unit, outcome),
        arguments=arguments(unit, outcome),
        proved_launch=(outcome.launch or unit.launch) if outcome.verdict is Verdict.PROVED else None,
        time_ms=times,
        notes=tuple(dict.fromkeys((*unit.notes, *outcome.notes))),
    )
    rest = left and max(left - times.prove / 1000, 0.001)
    if result.verdict is Verdict.PROVED and unit.launch.complete:
        confirm = replayer if options.witnesses else None
        result = completed(unit, entry, summary, result, rest, confirm)
    if result.verdict is Verdict.PROVED:
        result = replace(result, notes=(*result.notes, *notes_on_split_loads(entry)))
    if options.audit and result.proved_launch is not None:
        from .second_readings import audited

        result = audited(module, entry, unit, summary, result)
    if cache and result.verdict is not Verdict.ERROR:
        cache.store(unit, key, replace(result, second_reading=None), timed=options.timeout_s is not None)
    if result.proved_launch is not None:
        result = with_more(unit, entry, summary, result, options, rest, replayer)
    if options.details:
        from ..reports.details.collect import collect

        try:
            result = replace(result, details=collect(unit, module, entry, summary, result, outcome.decided))
        except (Exception, RecursionError, MemoryError) as error:  # a verdict outlives what only illustrates it
            result = replace(result, notes=(*result.notes, f"no details: {tool_failure(error).message}"))
        else:
            if cache:
                cache.illustrate(unit, key, result, timed=options.timeout_s is not None)
    return _shown(result, unit)


def _shown(result: KernelResult, unit: KernelUnit, kept: Illustration | None = None) -> KernelResult:
    """``result`` with its details, or those that were ``kept`` of it, and short paths."""
    from .error_findings import Displayed

    displayed = Displayed(unit)
    details = result.details if kept is None else kept.details
    return replace(
        result,
        findings=displayed.findings(result.findings),
        details=None if details is None else displayed.details(details),
    )


def _with_repairs(
    unit: KernelUnit, result: KernelResult, options: CheckOptions, compiled_as: Compile | None
) -> KernelResult:
    from .repair.repairing import trials_of, with_repairs

    most, trial = trials_of(result, options)
    kinds = trial, replace(trial, deny_requires=True)
    try:
        with interruptible():
            return with_repairs(unit, result, lambda changed, deny: check_unit(changed, kinds[deny]), most, compiled_as)
    except KernelTimeout:  # a verdict outlives what only adds to it
        return result
    except (Exception, RecursionError, MemoryError) as error:
        return replace(result, notes=(*result.notes, f"no repairs: {tool_failure(error).message}"))
