"""`summarize`: executes one entry symbolically for one generic tile block, and returns its access summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...contract.launch import EntryParameter
from ...contract.terms import FALSE
from ...system.errors import UnsupportedOperation
from ..bytecode.model import Entry, Module
from .block_numbers import read_axes
from .entry_state import Binding, bind
from .loop_forms import without
from .machine import Machine
from .numbering import Numbering, number
from .open_values import OpenValues, leaves_open
from .rules import RULES
from .summary import AccessSummary, OriginKind, Wait
from .values import Pointer
from .written import ANYTHING, Written, find_written


def summarize(
    module: Module,
    entry: Entry,
    parameters: Sequence[EntryParameter] = (),
    *,
    may_overlap: Sequence[frozenset[str]] = (),
) -> AccessSummary:
    """All memory accesses and promises of ``entry``.

    ``parameters``: the meaning of each entry parameter; empty for bytecode without a description.  ``may_overlap``:
    groups of arguments that may share memory: a write to one may change the contents of the whole group.

    Raises:
        UnsupportedOperation: an op without a symbolic rule, or a use of one that is not allowed (TV902).
        SpecError: ``parameters`` does not fit the entry.
    """
    if any(entry.argument_attributes):
        raise UnsupportedOperation(
            f"entry '{entry.name}' has attributes on its arguments, and what they promise is not known (TV902)",
            op="entry",
        )
    binding = bind(entry, parameters)
    numbering = number(entry)
    pointers = [(value, content.origin) for value, content in binding.values.items() if isinstance(content, Pointer)]
    written = find_written(entry, pointers, may_overlap, numbering)
    machine = _execute(module, entry, binding, numbering, written)
    if ANYTHING not in written.keys and any(
        site.writes and site.origin.kind is OriginKind.UNKNOWN for site in machine.sites.values()
    ):
        # The execution lost an origin that the points-to pass knew: it may write to any memory.
        written = Written(written.keys | {ANYTHING}, written.groups)
        machine.open_values = None
        machine = _execute(module, entry, binding, numbering, written)
    summary = _summary(entry, binding, machine, written)
    machine.open_values = None  # it refers to the machine: the cycle would keep both alive until a collection
    return summary


def _execute(module: Module, entry: Entry, binding: Binding, numbering: Numbering, written: Written) -> Machine:
    machine = Machine(module, entry, RULES, numbering, written)
    machine.env.update(binding.values)
    machine.elements.update((f"p:{name}", element) for name, element in binding.pointees.items())
    if leaves_open(entry):
        machine.open_values = OpenValues(machine)
    machine.run(entry.body)
    return machine


def _summary(entry: Entry, binding: Binding, machine: Machine, written: Written) -> AccessSummary:
    """The summary without impossible sites; the others are numbered without gaps, in program order."""
    alive = [site for _, site in sorted(machine.sites.items()) if site.guard is not FALSE]
    renumbered = {site.number: position for position, site in enumerate(alive)}
    sites = []
    for site in alive:
        waits = machine.waits[site.number].awaits.items()
        sites.append(
            replace(
                site,
                number=renumbered[site.number],
                waits=tuple(
                    Wait(renumbered[key], condition)
                    for key, condition in sorted((k, c) for k, c in waits if isinstance(k, int))
                    if key in renumbered
                ),
            )
        )
    dead = {op.offset for op, position in machine.numbering.site.items() if position not in renumbered}
    origins = dict(binding.origins)
    for site in sites:
        origins.setdefault(site.origin.name, site.origin)
    return AccessSummary(
        entry=entry.name,
        sites=tuple(sites),
        promises=tuple(machine.promises),
        origins=origins,
        stable_arrays=frozenset(
            name
            for name, origin in binding.origins.items()
            if origin.kind is OriginKind.PARAMETER and not written.may_write(origin)
        ),
        order_ops=tuple(machine.order_ops),
        names=machine.names,
        notes=tuple(machine.notes),
        loop_values=tuple(machine.loop_values),
        read_axes=read_axes(entry),
        assertions=tuple(machine.assertions),
        loop_forms=tuple(without(form, dead) for form in machine.loop_forms),
        written=written.keys,
        open_uses=() if machine.open_values is None else machine.open_values.promises(),
        order_bound=() if machine.open_values is None else machine.open_values.order_bound(),
    )
