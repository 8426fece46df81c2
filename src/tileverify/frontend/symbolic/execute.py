"""`summarize`: executes one entry symbolically for one generic tile block, and returns its access summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

from ...contract.launch import EntryParameter, Role
from ...contract.terms import FALSE, TRUE, ZERO, Sort, Term, boolean, const, ite, not_, render
from ...contract.terms.launch_wide import launch_variable, opaque, without_bits
from ...contract.variables import BID, GRID
from ...system.errors import SpecError, UnsupportedOperation
from ..bytecode.location import user_frame
from ..bytecode.model import Entry, Module, Op, PointerType, ScalarType, TileType, Value
from ..bytecode.traverse import read_values
from . import integers, loops, memory, pointers, tiles
from .loops import without
from .machine import Exit, Rule, SymbolicExecutor, scalar_of, shape_of
from .open_values import OpenValues, leaves_open
from .sources import arrays_behind
from .summary import AccessSummary, Footprint, Loop, Origin, OriginKind, Promise, Site, ViewFootprint, Wait
from .tokens import EMPTY, Token, join
from .values import Pointer, SymbolicValue, choose
from .written import ANYTHING, Numbering, Written, find_written, number, read_axes


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


def _execute(
    module: Module, entry: Entry, binding: Binding, numbering: Numbering, written: Written
) -> SymbolicExecutor:
    machine = SymbolicExecutor(module, entry, RULES, numbering, written)
    machine.env.update(binding.values)
    machine.elements.update((f"p:{name}", element) for name, element in binding.pointees.items())
    machine.addresses.update(binding.addresses)
    if leaves_open(entry):
        machine.open_values = OpenValues(machine)
    machine.run(entry.body)
    return machine


def _summary(entry: Entry, binding: Binding, machine: SymbolicExecutor, written: Written) -> AccessSummary:
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
        computed_from=arrays_behind(entry, binding.values, machine, sites),
        read_axes=read_axes(entry),
        assertions=tuple(machine.assertions),
        loop_forms=tuple(without(form, dead) for form in machine.loop_forms),
        written=written.keys,
        open_uses=() if machine.open_values is None else machine.open_values.promises(),
        order_bound=() if machine.open_values is None else machine.open_values.order_bound(),
    )


# ---------------------------------------------------------------------------------------------------------- entry state
# What the parameters of an entry are when a launch begins.


@dataclass(slots=True)
class Binding:
    """``values``: each entry parameter's value; ``origins``: arrays and lists by name; ``pointees``: what they hold;
    ``addresses``: lists that are passed as the addresses of their arrays alone."""

    values: dict[Value, SymbolicValue] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    pointees: dict[str, ScalarType] = field(default_factory=dict)
    addresses: set[str] = field(default_factory=set)


_OF_LISTS: Final = (Role.LIST_POINTER, Role.ADDRESSES)


def bind(entry: Entry, parameters: Sequence[EntryParameter]) -> Binding:
    """Give every entry parameter its meaning.

    Without ``parameters`` (bytecode that nobody described) a pointer is an array ``arg0`` of unknown layout and a
    scalar is a variable ``arg1``.

    Raises:
        SpecError: the description does not fit the entry's parameters.
    """
    described = parameters or [_undescribed(i, value) for i, value in enumerate(entry.parameters)]
    if len(described) != len(entry.parameters):
        raise SpecError(
            f"kernel '{entry.name}' has {len(entry.parameters)} parameters in its bytecode, but the launch describes "
            f"{len(described)}: give one entry for every parameter of the kernel, in order"
        )
    pairs = list(zip(entry.parameters, described, strict=True))
    _check_partitions(pairs, read_values(entry))
    binding = Binding()
    layouts = {Role.SHAPE: _dimensions(pairs, Role.SHAPE), Role.STRIDE: _dimensions(pairs, Role.STRIDE)}
    for value, parameter in pairs:
        element = _element(entry, value, parameter)
        if isinstance(element, PointerType):
            origin = Origin(
                OriginKind.LIST if parameter.role in _OF_LISTS else OriginKind.PARAMETER,
                parameter.argument,
                element.pointee.bytes,
                layouts[Role.SHAPE].get(parameter.argument, ()),
                layouts[Role.STRIDE].get(parameter.argument, ()),
            )
            binding.origins[parameter.argument] = origin
            binding.pointees[parameter.argument] = element.pointee
            binding.values[value] = Pointer(origin, ZERO)
            if parameter.role is Role.ADDRESSES:
                binding.addresses.add(parameter.argument)
        else:
            binding.values[value] = _scalar(parameter, element)
    return binding


def _check_partitions(pairs: Sequence[tuple[Value, EntryParameter]], read: frozenset[Value]) -> None:
    """What comes with a partition is no fact of the launch: a kernel that reads it is not followed."""
    for value, parameter in pairs:
        if parameter.role is Role.PARTITION and value in read:
            raise SpecError(
                f"args.{parameter.argument}: the kernel reads number {parameter.dim} of those that come with a "
                "partition, and what they mean to it is not known; describe the tensor without '&mut' and '@', and"
                " these numbers as scalars behind it"
            )


def _undescribed(index: int, value: Value) -> EntryParameter:
    assert isinstance(value.type, TileType)
    role = Role.POINTER if isinstance(value.type.element, PointerType) else Role.SCALAR
    return EntryParameter(role, f"arg{index}")


def _element(entry: Entry, value: Value, parameter: EntryParameter) -> ScalarType | PointerType:
    assert isinstance(value.type, TileType)
    element = value.type.element
    pointer = parameter.role in (Role.POINTER, *_OF_LISTS)
    if pointer != isinstance(element, PointerType):
        kind = "a pointer" if isinstance(element, PointerType) else f"an {element.name}"
        raise SpecError(
            f"'{parameter.argument}' of kernel '{entry.name}' is described as a {parameter.role.value}, but the "
            f"entry's parameter is {kind}: give the arguments in the order of the kernel's parameters"
        )
    return element


def _dimensions(pairs: Sequence[tuple[Value, EntryParameter]], role: Role) -> dict[str, tuple[Term, ...]]:
    """Sizes or strides by array, in order of the dimensions."""
    found: dict[str, dict[int, Term]] = {}
    for value, parameter in pairs:
        if parameter.role is role:
            assert parameter.dim is not None
            term = _scalar(parameter, scalar_of(value))
            assert isinstance(term, Term)
            found.setdefault(parameter.argument, {})[parameter.dim] = term
    return {name: tuple(term for _, term in sorted(dims.items())) for name, dims in found.items()}


def _scalar(parameter: EntryParameter, element: ScalarType) -> SymbolicValue:
    """A size, stride, length or runtime scalar.

    Standing facts of every launch (``docs/specs.md``): sizes and strides are not negative and fit their type.
    """
    if element.is_float:
        return opaque(bits=launch_variable(f"bits of {parameter.argument}"))
    if parameter.static is not None:
        return const(parameter.static) if element.bits > 1 else boolean(bool(parameter.static))
    half = 1 << (element.bits - 1)
    match parameter.role:
        case Role.SHAPE:
            return launch_variable(f"{parameter.argument}.shape[{parameter.dim}]", 0, half - 1)
        case Role.STRIDE:
            return launch_variable(f"{parameter.argument}.strides[{parameter.dim}]", 0, half - 1)
        case Role.LIST_LENGTH:
            return launch_variable(f"{parameter.argument}.length", 0, half - 1)
        case Role.PARTITION:  # nobody reads it
            return launch_variable(f"{parameter.argument}.partition[{parameter.dim}]", -half, half - 1)
        case _:
            if element.bits == 1:
                return launch_variable(parameter.argument, sort=Sort.BOOL)
            return launch_variable(parameter.argument, -half, half - 1)


# -------------------------------------------------------------------------------------------------------------- control
# Rules for branches, terminators, block ids and the ops that only the host sees.


def block_id(m: SymbolicExecutor, op: Op) -> tuple[Term, ...]:
    return BID


def grid(m: SymbolicExecutor, op: Op) -> tuple[Term, ...]:
    return GRID


def branch(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    """Both sides under their condition.

    What follows runs where the side that was taken reached its end; a side that left (``return``, ``continue``,
    ``break``) only narrows the path.
    """
    condition = m.term(op.value("c"))
    sides: list[tuple[Term, tuple[SymbolicValue, ...]]] = []
    for taken, region in ((condition, op.regions[0]), (not_(condition), op.regions[1])):
        values: tuple[SymbolicValue, ...] | None = None
        live = FALSE
        if taken is not FALSE:
            with m.branch(taken) as side:
                values = m.run(region.blocks[0]) if region.blocks else ()
            live = side.live
        sides.append((FALSE, ()) if values is None else (live, values))
    (then_live, then_values), (else_live, else_values) = sides
    m.narrow(ite(condition, then_live, else_live))
    if then_live is FALSE or else_live is FALSE:
        return else_values if then_live is FALSE else then_values
    return tuple(choose(condition, a, b) for a, b in zip(then_values, else_values, strict=True))


def _operands(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    return tuple(m.value(value) for value in op.group("args"))


def finish_region(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    return _operands(m, op)


def next_iteration(m: SymbolicExecutor, op: Op) -> None:
    m.exits.continues.append(Exit(m.inside, _operands(m, op), m.bounds))
    m.stop()


def leave_loop(m: SymbolicExecutor, op: Op) -> None:
    m.exits.breaks.append(Exit(m.inside, tuple(map(without_bits, _operands(m, op))), m.bounds))
    m.stop()


def leave_entry(m: SymbolicExecutor, op: Op) -> None:
    m.stop()


# ---------------------------------------------------------------------------------------- tokens, the host
def make_token(m: SymbolicExecutor, op: Op) -> Token:
    return EMPTY


def join_tokens(m: SymbolicExecutor, op: Op) -> Token:
    return join(m.token(value) for value in op.group("tokens"))


def order(m: SymbolicExecutor, op: Op) -> Token:
    """Grid dependency control and alias fences: they touch no memory, their token waits for what they wait for."""
    m.order_ops[op.name] = None
    return m.token(op.optional("s" if "s" in op.operands else "token"))


def check(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    """``assert`` reports to the host and lets the kernel go on: it gives no fact.

    Where the launch trusts that a block stops at one that fails, control goes on only where its condition holds, as
    behind a ``return``: for what the program has behind it, in this iteration and, of a ``loop``, in later ones.  A
    tile of conditions gives no fact even then: there is no term for all of its lanes.
    """
    if m.entry.asserts_stop:
        operand = op.value("c")
        condition = m.term(operand)
        m.assertion(op, condition, shape_of(operand))
        if not shape_of(operand):
            m.narrow(condition)
            if condition is FALSE:
                m.stop()
    return ()


def print_text(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    """Printing touches no memory of the program; its token waits for what it waits for."""
    return (m.token(op.optional("token")),) if op.results else ()


CONTROL_RULES: Final[dict[str, Rule]] = {
    "get_tile_block_id": block_id,
    "get_num_tile_blocks": grid,
    "if": branch,
    "yield": finish_region,
    "continue": next_iteration,
    "break": leave_loop,
    "return": leave_entry,
    "make_token": make_token,
    "join_tokens": join_tokens,
    "gdc_wait_tko": order,
    "gdc_launch_dependents_tko": order,
    "memory_fence_alias_tko": order,
    "assert": check,
    "print_tko": print_text,
}


# ---------------------------------------------------------------------------------------------------------------- rules
# The table of all rules: what every op of Tile IR does to a symbolic state.


RULES: Final[dict[str, Rule]] = {
    **CONTROL_RULES,
    **integers.RULES,
    **loops.RULES,
    **memory.RULES,
    **pointers.RULES,
    **tiles.RULES,
    **pointers.VIEW_RULES,
}


# -------------------------------------------------------------------------------------------------------------- printed
# An access summary as text for people: ``tileverify footprint``.


def footprint_text(summary: AccessSummary) -> str:
    """One paragraph for each access, then what the kernel promised; ends with a newline."""
    blocks = [_heading(summary), *(_site(summary, site) for site in summary.sites)]
    if summary.promises:
        blocks.append(["promises", *(f"  {_promise(promise)}" for promise in summary.promises)])
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _heading(summary: AccessSummary) -> list[str]:
    count = len(summary.sites)
    lines = [f"{summary.entry}: {count} access{'' if count == 1 else 'es'}"]
    if summary.stable_arrays:
        lines.append(f"  never written: {', '.join(sorted(summary.stable_arrays))}")
    if summary.order_ops:
        lines.append(f"  orders memory beyond tokens: {', '.join(summary.order_ops)}")
    return lines


def _site(summary: AccessSummary, site: Site) -> list[str]:
    place = user_frame(site.location)
    where = f"  {place.file}:{place.line}" if place else ""
    manner = site.ordering if site.scope is None else f"{site.ordering}, {site.scope}"
    operation = f"{site.access.value} {site.mode}" if site.mode else site.access.value
    lines = [f"#{site.number} {operation} {origin_text(site.origin)} ({manner}){where}"]
    lines.extend(f"  {line}" for line in _footprint(site.footprint))
    if site.lanes:
        lines.append("  lanes: " + ", ".join(f"{render(lane.variable)} < {lane.size}" for lane in site.lanes))
    lines.extend(_loop(summary, loop) for loop in site.loops)
    if site.guard is not TRUE:
        lines.append(f"  if: {render(site.guard)}")
    if site.waits:
        waits = (
            f"#{wait.site}" if wait.condition is TRUE else f"#{wait.site} if {render(wait.condition)}"
            for wait in site.waits
        )
        lines.append("  waits for: " + "; ".join(waits))
    return lines


def _loop(summary: AccessSummary, loop: Loop) -> str:
    name = render(loop.iteration)
    text = f"  loop: {name}, {summary.names.get(name, 'its iteration')}"
    return text if loop.value in (None, loop.iteration) else f"{text}; value {render(loop.value)}"


def origin_text(origin: Origin) -> str:
    """The name of what is accessed."""
    match origin.kind:
        case OriginKind.PARAMETER:
            return origin.name
        case OriginKind.LIST_ELEMENT:
            assert origin.index is not None
            return f"{origin.name}[{render(origin.index)}]"
        case OriginKind.UNKNOWN:
            return "unknown memory"
        case _:
            return f"{origin.kind.value} {origin.name}"


def _footprint(place: Footprint) -> Iterator[str]:
    if not isinstance(place, ViewFootprint):
        yield f"bytes: {render(place.offset)} .. +{place.element_bytes - 1}"
        return
    yield "element: [" + ", ".join(render(coordinate) for coordinate in place.coordinates) + "]"
    layout = f"layout: shape ({_list(place.shape)}), strides ({_list(place.strides)})"
    yield layout if place.base is ZERO else f"{layout}, from byte {render(place.base)}"
    parts = []
    for index, space, inside in zip_longest(place.index, place.index_space, place.inbounds, fillvalue=None):
        assert index is not None
        limit = "" if space is None else f" of {render(space)}"
        parts.append(f"{render(index)}{limit}{' (promised inside)' if inside else ''}")
    yield "tile: " + ", ".join(parts)


def _list(terms: tuple[Term, ...]) -> str:
    return ", ".join(render(term) for term in terms)


def _promise(promise: Promise) -> str:
    place = user_frame(promise.location)
    where = f" ({place.file}:{place.line})" if place else ""
    guard = "" if promise.guard is TRUE else f", if {render(promise.guard)}"
    return f"{promise.code} {promise.text}: {render(promise.condition)}{guard}{where}"
