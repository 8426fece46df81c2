"""What the executor calls launch-wide against what blocks really compute, value by value.

Every value of a program is recorded in both machines: what the symbolic execution knows of it, and what each block of a
launch gets in each iteration of the loops around.  Where the execution says that a value is a function of nothing but
the launch, the block's number and the iterations, blocks and iterations that agree on those must have the same value,
lane by lane: an opaque value that is launch-wide must be the same in all, a term in all that agree on its variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tileverify.backend.interpreter import Budget, Memory, bind_launch
from tileverify.backend.interpreter.control import execute_at_once
from tileverify.backend.interpreter.machine import BlockInterpreter
from tileverify.backend.interpreter.values import UNSPECIFIED, InterpreterStop, Tile
from tileverify.contract.launch import ConcreteLaunch, EntryParameter
from tileverify.contract.terms import Scope, Term, TermKind
from tileverify.contract.terms.launch_wide import Opaque, is_launch_wide
from tileverify.contract.variables import BID
from tileverify.frontend.bytecode.model import Block, Entry, Module, Op, Value
from tileverify.frontend.bytecode.traverse import walk
from tileverify.frontend.symbolic.execute import RULES, bind
from tileverify.frontend.symbolic.machine import SymbolicExecutor
from tileverify.frontend.symbolic.values import Pointer
from tileverify.frontend.symbolic.written import find_written, number

from ...grids import blocks_of

Iterations = tuple[int, ...]
Point = tuple[int, int, int]


class Disagreement(AssertionError):
    """Two blocks have different values where the executor said that they have one."""


@dataclass(frozen=True)
class Claim:
    """``variables``: what the value may depend on besides the launch and the lane: block numbers and iterations."""

    value: Value
    content: object
    variables: tuple[Term, ...]
    loops: tuple[Term, ...]


@dataclass
class Compared:
    """How many values were compared with another one's, by kind of claim."""

    opaque: int = 0
    terms: int = 0


# ---------------------------------------------------------------------------------------- the executor's side
class _Claims(dict[Value, Any]):
    """The machine's values; those of the recorded run are kept with the loops they stand in."""

    def __init__(self, machine: SymbolicExecutor, bodies: frozenset[Value]) -> None:
        super().__init__()
        self.machine, self.bodies = machine, bodies
        self.claims: list[Claim] = []

    def __setitem__(self, value: Value, content: Any) -> None:
        super().__setitem__(value, content)
        if self.machine.recording and value not in self.bodies:
            variables = _variables(content)
            if variables is not None:
                self.claims.append(Claim(value, content, variables, self.machine.iterations))

    def update(self, pairs: Mapping[Value, Any] | Iterable[tuple[Value, Any]] = ()) -> None:  # type: ignore[override]
        for value, content in pairs.items() if isinstance(pairs, Mapping) else pairs:
            self[value] = content


def _variables(content: object) -> tuple[Term, ...] | None:
    """What a value is said to depend on; None where nothing is said."""
    if isinstance(content, Opaque):
        return () if is_launch_wide(content) else None
    if not isinstance(content, Term):
        return None
    leaves = content.free
    if any(leaf.kind is TermKind.APPLY and leaf.function.scope is not Scope.LAUNCH for leaf in leaves):
        return None
    variables = [leaf for leaf in leaves if leaf.kind is TermKind.VAR]
    return tuple(leaf for leaf in variables if leaf.symbol.scope in (Scope.BLOCK, Scope.ITERATION))


def claims(module: Module, entry: Entry, parameters: Sequence[EntryParameter]) -> list[Claim]:
    binding, numbering = bind(entry, parameters), number(entry)
    pointers = [(value, content.origin) for value, content in binding.values.items() if isinstance(content, Pointer)]
    machine = SymbolicExecutor(module, entry, RULES, numbering, find_written(entry, pointers, (), numbering))
    env = machine.env = _Claims(machine, _inside_reductions(entry))
    env.update(binding.values)
    machine.elements.update((f"p:{name}", element) for name, element in binding.pointees.items())
    machine.run(entry.body)
    return env.claims


def _inside_reductions(entry: Entry) -> frozenset[Value]:
    """What the bodies of reductions compute, which has no lane or iteration of its own."""
    blocks = [op.regions[0].blocks[0] for op in walk(entry.body) if op.name in ("reduce", "scan")]
    return frozenset(value for block in blocks for value in (*block.arguments, *_results(block)))


def _results(block: Block) -> Iterator[Value]:
    for op in walk(block):
        yield from op.results


# ------------------------------------------------------------------------------------------- the blocks' side
class _Values(dict[Value, Any]):
    """A block's values, with the iterations in which it had them, up to the first undefined behaviour."""

    def __init__(self, entry: Entry, wanted: frozenset[Value]) -> None:
        super().__init__()
        self.wanted = wanted
        self.seen: dict[tuple[Value, Iterations], Tile] = {}
        self.loops: dict[Value, tuple[Op, ...]] = {}
        self.started: dict[Value, Op] = {}
        self.inner: dict[Op, list[Op]] = {}
        self.count: dict[Op, int] = {}
        self.run: BlockInterpreter | None = None
        self._place(entry.body, ())

    def _place(self, block: Block, loops: tuple[Op, ...]) -> None:
        for op in block.ops:
            self.loops.update(dict.fromkeys(op.results, loops))
            inside = loops
            if op.name in ("for", "loop"):
                inside = (*loops, op)
                self.inner[op] = []
                for outer in loops:
                    self.inner[outer].append(op)
                self.started[op.regions[0].blocks[0].arguments[0]] = op
            for region in op.regions:
                for body in region.blocks:
                    self.loops.update(dict.fromkeys(body.arguments, inside))
                    self._place(body, inside)

    def __setitem__(self, value: Value, content: Any) -> None:
        super().__setitem__(value, content)
        if (loop := self.started.get(value)) is not None:
            self.count[loop] = self.count.get(loop, -1) + 1
            for inner in self.inner[loop]:
                self.count.pop(inner, None)
        log = self.run.log if self.run is not None else None
        if value in self.wanted and isinstance(content, Tile) and not (log and (log.events or log.left_out)):
            at = tuple(self.count[loop] for loop in self.loops.get(value, ()))
            self.seen[value, at] = content

    def update(self, pairs: Mapping[Value, Any] | Iterable[tuple[Value, Any]] = ()) -> None:  # type: ignore[override]
        for value, content in pairs.items() if isinstance(pairs, Mapping) else pairs:
            self[value] = content


def compare_blocks(
    module: Module, parameters: Sequence[EntryParameter], launch: ConcreteLaunch, *, budget: int = 1 << 22
) -> Compared:
    """Run all blocks of ``launch`` and compare them.

    :raises Disagreement: a value is not what the executor said.
    """
    entry = module.entries[0]
    said = claims(module, entry, parameters)
    wanted = frozenset(claim.value for claim in said)
    bound = bind_launch(module, entry, parameters, launch)
    bound.program.uniform = frozenset()  # every block computes everything for itself
    runs: list[tuple[Point, _Values]] = []
    for block in blocks_of(launch.grid):
        run = BlockInterpreter(bound.program, Memory(bound.image), launch.grid, block, Budget(budget))
        values = _Values(entry, wanted)
        values.update(bound.arguments)
        run.values = values
        values.run = run
        try:
            with np.errstate(all="ignore"):
                execute_at_once(run, entry.body)
        except InterpreterStop:
            pass
        runs.append((block, values))
    compared = Compared()
    for claim in said:
        _compare(claim, runs, compared)
    return compared


def _compare(claim: Claim, runs: list[tuple[Point, _Values]], compared: Compared) -> None:
    """Values of one claim, in groups that agree on what it may depend on."""
    if not set(claim.variables) <= {*BID, *claim.loops}:
        return
    first: dict[tuple[int, ...], tuple[str, Tile]] = {}
    for block, values in runs:
        for (value, at), tile in values.seen.items():
            if value is not claim.value or len(at) != len(claim.loops):
                continue
            known = {**dict(zip(BID, block, strict=True)), **dict(zip(claim.loops, at, strict=True))}
            key = tuple(known[variable] for variable in claim.variables)
            where = f"block {block}, iterations {at}"
            if key not in first:
                first[key] = (where, tile)
                continue
            other, earlier = first[key]
            _same(claim, earlier, tile, f"{other} and {where}")
            compared.opaque += isinstance(claim.content, Opaque)
            compared.terms += isinstance(claim.content, Term)


def _same(claim: Claim, one: Tile, other: Tile, where: str) -> None:
    for tile in (one, other):
        if tile.taint is not None and (np.asarray(tile.taint) & UNSPECIFIED).any():
            raise Disagreement(f"{claim.content} is left open by the specification in {where}")
    if one.data.tobytes() != np.ascontiguousarray(other.data).tobytes():
        raise Disagreement(f"{claim.content} of {claim.value} is {one.data} and {other.data} in {where}")
