"""PTX executed for one generic thread of one generic block: each access to global memory under its path.

Instructions are taken in the order of the text, in which every branch but those of loops leads on.  What two branches
give is joined where they meet.  A loop is executed once, for its round k: what registers hold then is known by
`ptx_values`, or a number of which nothing is known.  A loop that counts to a number that stands fast has a known last
round, if its counter does not wrap (`ptx_values`).  A register that nothing of this hangs on is not followed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from ...backend.compiled.hidden_parameters import TensorMap
from ...backend.compiled.ptx import (
    Immediate,
    Instruction,
    Negated,
    Operand,
    Pair,
    PtxAddress,
    PtxEntry,
    PtxSymbol,
    Register,
    Vector,
)
from ...contract import terms as t
from ...contract.terms import Function, Scope, Sort, Term, TermKind
from . import ptx_text
from .ptx_text import (
    CodeAccess,
    CodeLoop,
    Followed,
    Path,
    Premise,
    PtxNotFollowed,
    PtxText,
    alike_for,
    box_access,
    float_width,
    registers_in,
    results_of,
)
from .ptx_values import WARP, Registers, closed, counted, divides_by, signed, special, value, width_of

_MAPS: Final = 1 << 56
"""Its multiples stand for the places of tensor maps: so far apart, no sum of small numbers leads to another one."""
MOST_SIZE: Final = 4_000
"""Nodes of a term beyond which a value is given up."""


@dataclass(frozen=True, slots=True)
class _State:
    """What holds where the execution is: ``path`` decides about it, ``known`` follows from it."""

    path: Path
    known: Path
    registers: Registers

    def under(self, condition: Term) -> _State:
        return self if condition is t.TRUE else replace(self, path=(*self.path, condition))


def follow(
    entry: PtxEntry, parameters: Mapping[str, Term | None], uncounted: Container[int] = (),
    maps: Mapping[str, TensorMap[Term]] = MappingProxyType({}),
) -> Followed:  # fmt: skip
    """``parameters``: what each holds, where that is a number.  ``uncounted``: the blocks where loops begin whose
    premises do not hold.  ``maps``: the tensor maps in hidden parameters.

    :raises PtxNotFollowed: branches go where no loop begins, or an instruction touches memory without a rule for it.
    """
    return _Execution(entry, parameters, uncounted, maps).followed()


@dataclass
class _Execution:
    entry: PtxEntry
    parameters: Mapping[str, Term | None]
    uncounted: Container[int]
    maps: Mapping[str, TensorMap[Term]]
    premises: list[Premise] = field(default_factory=list)
    accesses: list[CodeAccess] = field(default_factory=list)
    reached: dict[Term, CodeLoop] = field(default_factory=dict)
    loops: list[CodeLoop] = field(default_factory=list)
    unknown: int = 0
    looks: int = 0
    """How many loops are executed to see what they hand on: nothing is noted then."""

    def followed(self) -> Followed:
        count = self.entry.threads * self.entry.cluster
        if self.entry.cluster > 1 and self.entry.threads % WARP:
            raise PtxNotFollowed("blocks of a cluster end inside a warp")
        self.thread = t.var("tid", Scope.LANE, 0, count - 1)
        self.text = PtxText(self.entry)
        self.wanted = ptx_text.wanted_registers(self.entry)
        self.live = self.text.live(self.wanted)
        self.bytes_of = {each.name: each.size for each in self.entry.parameters}
        self.places = {name: t.const(_MAPS * number) for number, name in enumerate(self.maps, 1)}
        self.map_at = {place: self.maps[name] for name, place in self.places.items()}
        self._range(0, len(self.text.blocks), _State((), (), {}), inside=False)
        return Followed(self.thread, count, tuple(self.accesses), self.reached, tuple(self.premises))

    # --------------------------------------------------------------------------------------- control
    def _range(self, first: int, end: int, state: _State, *, inside: bool) -> dict[int, list[_State]]:
        """The states in which blocks ``first`` to ``end`` are left, by the block that they lead to; ``inside``: the
        loop that begins there is being executed, and leads back to ``first``."""
        pending: dict[int, list[_State]] = {first: [state]}
        left: dict[int, list[_State]] = {}
        number = first
        while number < end:
            arriving = pending.pop(number, None)
            if arriving is None:
                number += 1
                continue
            merged = self._merged(arriving, self.live[number])
            loop = self.text.loops.get(number)
            if loop is not None and not (inside and number == first):
                leaving, behind = self._loop(number, loop, merged), loop
            else:
                leaving, behind = [*self._block(number, merged)], number + 1
            if any(each < behind for each in pending):
                raise PtxNotFollowed("a branch leads into a loop")
            for target, each in leaving:
                if target >= end or (inside and target == first):
                    left.setdefault(target, []).append(each)
                elif target >= behind:
                    pending.setdefault(target, []).append(each)
                else:
                    raise PtxNotFollowed("a branch leads back to where no loop begins")
            number = behind
        return left

    def _block(self, number: int, state: _State) -> Iterator[tuple[int, _State]]:
        registers = dict(state.registers)
        state = replace(state, registers=registers)
        for instruction in self.text.blocks[number]:
            base = instruction.opcode[0]
            if base in ("bra", "ret", "exit", "trap"):
                condition = self._guard(instruction, registers)
                if base == "trap" and not self.looks:
                    path = state.under(condition).path
                    self.accesses.append(
                        CodeAccess(instruction, False, False, 0, t.ZERO, path, state.known, tuple(self.loops), ())
                    )
                if condition is not t.FALSE and base == "bra":
                    (label,) = instruction.operands
                    assert isinstance(label, PtxSymbol)
                    yield self.text.block_of(label.name), state.under(condition)
                if condition is t.TRUE:
                    return
                state = state.under(t.not_(condition))
            elif base in ("call", "brx"):
                raise PtxNotFollowed(f"{instruction.name} is not followed", instruction)
            else:
                self._execute(instruction, state)
        yield number + 1, state

    def _guard(self, instruction: Instruction, registers: Registers) -> Term:
        if instruction.guard is None:
            return t.TRUE
        holds = self._read(instruction.guard, "pred", registers)
        return t.not_(holds) if instruction.negated else holds

    # --------------------------------------------------------------------------------------- joining
    def _merged(self, states: Sequence[_State], live: frozenset[str]) -> _State:
        """What holds where all of ``states`` meet, of the registers in ``live``: those that parted last are joined
        first."""
        left = [
            replace(each, registers={name: term for name, term in each.registers.items() if name in live})
            for each in states
        ]
        while len(left) > 1:
            pairs = [(alike_for(left[i].path, left[j].path), -i, -j) for j in range(len(left)) for i in range(j)]
            _, i, j = max(pairs)
            second, first = left.pop(-j), left.pop(-i)
            left.append(self._joined(first, second))
        return left[0]

    def _joined(self, a: _State, b: _State) -> _State:
        shared = alike_for(a.path, b.path)
        first, second = (t.and_(*each.path[shared:]) for each in (a, b))
        # A condition with its contrary is flattened before it is seen as that, where one is a disjunction.
        either = t.TRUE if first is t.not_(second) else t.or_(first, second)
        path = a.path[:shared] if either is t.TRUE else (*a.path[:shared], either)
        known = a.known[: alike_for(a.known, b.known)]
        registers: Registers = {}
        for name in a.registers.keys() | b.registers.keys():
            one, other = (each.registers.get(name) for each in (a, b))
            if one is not other:
                one, other = (self._unset(name) if each is None else each for each in (one, other))
                registers[name] = t.ite(first, one, other)
            elif one is not None:
                registers[name] = one
        return _State(path, known, registers)

    def _unset(self, name: str) -> Term:
        """What a register holds that nobody set."""
        return self._opaque("unset", *self._sort_and_range(name))

    # --------------------------------------------------------------------------------------- loops
    def _loop(self, first: int, end: int, state: _State) -> list[tuple[int, _State]]:
        self.unknown += 1
        number = t.var(f"round{self.unknown}", Scope.ITERATION, 0)
        changed = [name for name in self.text.written(first, end) if name in self.wanted]
        known, goes_on = self._recurrences(first, end, state, changed, number)
        count = None if first in self.uncounted else counted(goes_on, number)
        loop = CodeLoop(number, goes_on, None if count is None else count.last)
        if count is None:
            reached = t.or_(t.eq(number, t.ZERO), t.substitute(goes_on, {number: t.sub(number, t.ONE)}))
            self.reached[reached] = loop
        else:
            reached = count.reached
            if not self.looks:
                self.premises.append(Premise(first, state.path, state.known, count.premise, len(self.accesses)))
        inner = replace(state, registers={**state.registers, **known}).under(reached)
        self.loops.append(loop)
        left = self._range(first, end, inner, inside=True)
        self.loops.pop()
        left.pop(first, None)
        only = len(left) == 1 and not self.text.ends_threads(first, end)
        return [*self._exits(left, state, inner, loop, only)]

    def _exits(
        self, left: Mapping[int, Sequence[_State]], state: _State, inner: _State, loop: CodeLoop, only: bool
    ) -> Iterator[tuple[int, _State]]:
        """Where the loop leads, in states that speak of its last iteration; ``only``: all threads come there."""
        for target, states in left.items():
            exit_ = self._merged(states, self.live[target] if target < len(self.live) else frozenset())
            last = loop.last if loop.last is not None and only else self._opaque("last", Sort.INT, 0, None)
            final = {loop.number: last}
            registers = {name: t.substitute(term, final) for name, term in exit_.registers.items()}
            said = self._seen(t.substitute(each, final) for each in exit_.path[len(inner.path) :])
            kept = self._seen(t.substitute(each, final) for each in exit_.known[len(state.known) :])
            if only:
                yield target, _State(state.path, (*state.known, *kept, *said), registers)
            else:
                yield target, _State((*state.path, *said), (*state.known, *kept), registers)

    def _seen(self, conditions: Iterable[Term]) -> Path:
        return tuple(each for each in conditions if each is not t.TRUE)

    def _recurrences(
        self, first: int, end: int, state: _State, changed: Sequence[str], number: Term
    ) -> tuple[Registers, Term]:
        """What the registers that the loop changes hold as iteration ``number`` begins, and where another follows."""
        standing = {name: self._standing(name) for name in changed}
        self.looks += 1
        self.loops.append(CodeLoop(number, t.TRUE))
        begun = self.unknown
        left = self._range(first, end, _State((), (), {**state.registers, **standing}), inside=True)
        self.loops.pop()
        self.looks -= 1
        if first not in left:
            raise PtxNotFollowed("a loop never goes on")
        latch = self._merged(left[first], self.live[first])
        handed_on = {name: latch.registers.get(name, standing[name]) for name in changed}
        known = closed(handed_on, standing, state.registers, number, begun)
        for name in changed:
            if name not in known:
                known[name] = self._opaque("carried", *self._sort_and_range(name), around=(number,))
        values = {standing[name]: known[name] for name in changed}
        goes_on = t.substitute(t.and_(*latch.path), values)
        return known, goes_on

    def _standing(self, name: str) -> Term:
        self.unknown += 1
        sort, low, high = self._sort_and_range(name)
        return t.var(f"{name}#{self.unknown}", Scope.ITERATION, low, high, sort)

    # --------------------------------------------------------------------------------------- values
    def _sort_and_range(self, register: str) -> tuple[Sort, int | None, int | None]:
        try:
            type_ = self.entry.type_of(register)
        except KeyError:  # a special register of which nothing is known, as `%smid`
            return Sort.INT, None, None
        bits = width_of(type_)
        if type_ == "pred":
            return Sort.BOOL, None, None
        return (Sort.INT, None, None) if bits is None else (Sort.INT, -(1 << bits - 1), (1 << bits - 1) - 1)

    def _is_special(self, register: str) -> bool:
        """Whether nobody declared it: it may be another number at each reading, as `%clock` is."""
        return register not in self.entry.registers and register.rstrip("0123456789") not in self.entry.registers

    def _opaque(
        self, what: str, sort: Sort, low: int | None, high: int | None, around: tuple[Term, ...] = ()
    ) -> Term:  # fmt: skip
        """A value of which nothing is known, of this thread in this iteration."""
        self.unknown += 1
        function = Function(f"{what}#{self.unknown}", Scope.LANE, low, high, sort)
        return t.apply(function, self.thread, *(loop.number for loop in self.loops), *around)

    def _read(self, operand: Operand | None, type_: str, registers: Registers) -> Term:
        if isinstance(operand, Negated):
            return t.not_(self._read(operand.register, "pred", registers))
        if isinstance(operand, Register):
            held = registers.get(operand.name)
            if held is None:
                held = special(operand.name, self.thread, self.entry.threads, self.entry.cluster)
            if held is None:
                held = self._unset(operand.name)
                if operand.name in self.wanted and not self._is_special(operand.name):
                    registers[operand.name] = held
            return held
        if isinstance(operand, PtxSymbol) and operand.name in self.places:
            return self.places[operand.name]
        if isinstance(operand, Immediate):
            return t.boolean(bool(operand.bits)) if type_ == "pred" else t.const(operand.bits)
        bits = width_of(type_) or 64
        return self._opaque(str(operand), Sort.INT, -(1 << bits - 1), (1 << bits - 1) - 1)

    # --------------------------------------------------------------------------------------- instructions
    def _execute(self, instruction: Instruction, state: _State) -> None:
        registers = state.registers
        results = results_of(instruction)
        if ptx_text.is_copy(instruction):
            self._copy(instruction, state)
            return
        if ptx_text.is_box_copy(instruction):
            self._box_copy(instruction, state)
            return
        reads, writes = ptx_text.touches(instruction)
        if reads or writes:
            found = self._access(instruction, reads, writes, state, results)
        elif not any(name in self.wanted for name in results):
            return
        else:
            found = self._values(instruction, results, registers)
        condition = self._guard(instruction, registers)
        for name, term in zip(results, found, strict=True):
            if name not in self.wanted:
                continue
            if condition is not t.TRUE:
                term = t.ite(condition, term, self._read(Register(name), "", registers))
            registers[name] = term

    def _values(self, instruction: Instruction, results: Sequence[str], registers: Registers) -> list[Term]:
        if len(results) == 1 and not any(isinstance(each, Vector | Pair) for each in instruction.operands):
            found = self._computed(instruction, registers)
            if found is not None and _is_small(found):
                return [found]
        return [self._opaque(instruction.opcode[0], *self._sort_and_range(name)) for name in results]

    def _computed(self, instruction: Instruction, registers: Registers) -> Term | None:
        base, operands = instruction.opcode[0], instruction.operands[1:]
        if base == "ld":
            return self._parameter(instruction)
        if base == "shfl":
            return self._shuffled(instruction, registers)
        moves = base == "mov" or (base == "cvta" and instruction.has("param"))
        if moves and len(operands) == 1 and (place := self._map_in(operands[0], registers)) is not None:
            return place
        if any(isinstance(each, PtxSymbol | PtxAddress) for each in operands):
            return None
        types = [instruction.type] * len(operands)
        if base in ("selp", "setp") and len(operands) == 3:
            types[2] = "pred"
        sources = [self._read(each, kind, registers) for each, kind in zip(operands, types, strict=True)]
        found, divisor = value(instruction, sources), divides_by(instruction, sources)
        if found is None or divisor is None:
            return found
        (name,) = registers_in(instruction.operands[0])
        sort, low, high = self._sort_and_range(name)
        by_zero = Function(f"{instruction.name} by 0", Scope.LAUNCH, low, high, sort)
        return t.ite(t.eq(divisor, t.ZERO), t.apply(by_zero, sources[0]), found)

    def _parameter(self, instruction: Instruction) -> Term | None:
        """``ld.param`` of a whole parameter: its bits with zeros above, or with its sign."""
        place, bits = instruction.operands[1], width_of(instruction.type)
        if not instruction.has("param") or not isinstance(place, PtxAddress) or bits is None or place.offset:
            return None
        held = self.parameters.get(str(place.base))
        if held is None or bits > 8 * self.bytes_of[str(place.base)]:
            return None
        low = signed(bits, t.ite(held, t.ONE, t.ZERO) if held.sort is Sort.BOOL else held)
        (name,) = registers_in(instruction.operands[0])
        held_in = width_of(self.entry.type_of(name))
        if held_in is None:
            return None
        return low if instruction.type[0] == "s" else signed(held_in, t.unsigned(bits, low))

    def _shuffled(self, instruction: Instruction, registers: Registers) -> Term | None:
        """``shfl.sync.idx`` of what one thread of the warp holds, for the whole warp."""
        source, lane, clamp, _ = instruction.operands[1:]
        fixed = isinstance(lane, Immediate) and isinstance(clamp, Immediate) and clamp.bits == WARP - 1
        if not instruction.has("idx") or not fixed:
            return None
        assert isinstance(lane, Immediate)
        held = self._read(source, instruction.type, registers)
        if any(each.kind is TermKind.APPLY for each in held.free):
            return None
        first = t.scale(WARP, t.floordiv(self.thread, t.const(WARP)))
        return t.substitute(held, {self.thread: t.add(first, t.const(lane.bits % WARP))})

    def _access(
        self, instruction: Instruction, reads: bool, writes: bool, state: _State, results: Sequence[str]
    ) -> list[Term]:
        place = next(each for each in instruction.operands if isinstance(each, PtxAddress))
        if not isinstance(place.base, Register) or place.coordinates:
            raise PtxNotFollowed(f"the address of {instruction.name} is no register", instruction)
        address = signed(64, t.add(self._read(place.base, "b64", state.registers), t.const(place.offset)))
        found = [self._opaque("loaded", *self._sort_and_range(name)) for name in results]
        if not self.looks:
            bits = width_of(instruction.type) or float_width(instruction.type)
            if bits is None:
                raise PtxNotFollowed(f"{instruction.name} is not followed", instruction)
            count = next((int(part[1:]) for part in instruction.opcode if part in ("v2", "v4", "v8")), 1)
            guarded = state.under(self._guard(instruction, state.registers))
            access = CodeAccess(
                instruction, reads, writes, bits // 8 * count, address, guarded.path, state.known, tuple(self.loops),
                tuple(each.function for each in found),
            )  # fmt: skip
            self.accesses.append(access)
        return found

    def _copy(self, instruction: Instruction, state: _State) -> None:
        """``cp.async [shared], [global], bytes {, bytes that are read}``: a load where it reads any."""
        if self.looks:
            return
        source, size, *part = instruction.operands[1 : -1 if instruction.has("L2::cache_hint") else None]
        if not (isinstance(source, PtxAddress) and isinstance(source.base, Register) and isinstance(size, Immediate)):
            raise PtxNotFollowed(f"{instruction.name} is not followed", instruction)
        address = signed(64, t.add(self._read(source.base, "b64", state.registers), t.const(source.offset)))
        path = state.under(self._guard(instruction, state.registers)).path
        if part:
            path = (*path, t.lt(t.ZERO, t.unsigned(32, signed(32, self._read(part[0], "b32", state.registers)))))
        self.accesses.append(
            CodeAccess(instruction, True, False, size.bits, address, path, state.known, tuple(self.loops), ())
        )

    def _map_in(self, operand: Operand | None, registers: Registers) -> Term | None:
        """The place of a tensor map, where the operand is one."""
        if not isinstance(operand, Register | PtxSymbol):
            return None
        held = self._read(operand, "b64", registers)
        return held if held in self.map_at else None

    def _box_copy(self, instruction: Instruction, state: _State) -> None:
        """``[map, {corner}]`` to or from shared memory: an access to each element of the box that lies in the array."""
        if self.looks:
            return
        place = next(each for each in instruction.operands if isinstance(each, PtxAddress) and each.coordinates)
        at = (
            self._map_in(place.base, state.registers) if isinstance(place.base, Register) and not place.offset else None
        )
        found = None if at is None else self.map_at[at]
        if found is None or len(place.coordinates) != found.rank:
            raise PtxNotFollowed(f"the tensor map of {instruction.name} is not known", instruction)
        self.unknown += 1
        corner = [signed(32, self._read(each, "b32", state.registers)) for each in place.coordinates]
        path = state.under(self._guard(instruction, state.registers)).path
        self.accesses.append(box_access(instruction, found, corner, path, state.known, tuple(self.loops), self.unknown))


def _is_small(term: Term) -> bool:
    return sum(1 for _ in zip(t.postorder(term), range(MOST_SIZE + 1), strict=False)) <= MOST_SIZE
