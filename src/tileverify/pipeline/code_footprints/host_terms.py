"""The host code that fills tensor maps, executed on terms: what each map says, for all arguments of a launch.

The machine is that of `x86`.  In place of numbers it meets `HostBits`, whose parts are terms at places of a word, and
`HostInteger`, the exact result of arithmetic on such, of which each instruction keeps the low bits.  Where the code
decides by an argument nothing is known, but for a bit that ``setcc`` makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, cast

from ...backend.compiled.hidden_parameters import (
    MAP_BYTES,
    BrokenObject,
    HostSide,
    MapField,
    NoHiddenParameters,
    TensorMap,
    UnknownTensorMap,
    decoded_fields,
)
from ...backend.compiled.ptx import Parameter
from ...backend.compiled.x86 import HostFault, HostMachine
from ...contract import terms as t
from ...contract.terms import Function, Scope, Sort, Term, TermKind
from ...contract.terms.rendering import unsigned_reading
from .ptx_values import signed

_WORD: Final = 64


Decides: TypeAlias = "Callable[[Term], bool | None]"
"""Whether a condition on the arguments holds, or does not; ``None`` where that is not known."""
_DECIDES: Final[ContextVar[Decides]] = ContextVar("decides")


class DecidesByArgument(HostFault):
    """Host code goes on in two ways, as a ``condition`` on the arguments holds or not."""

    def __init__(self, condition: Term) -> None:
        super().__init__("host code decides by an argument")
        self.condition = condition


def _decided(condition: Term) -> bool:
    found = _DECIDES.get()(condition)
    if found is None:
        raise DecidesByArgument(condition)
    return found


@dataclass(frozen=True, slots=True)
class BitRun:
    """``width`` bits of the number ``source``, which has ``bits`` bits, from its bit ``low`` on, at ``place``."""

    place: int
    source: Term
    bits: int
    low: int
    width: int

    @property
    def end(self) -> int:
        return self.place + self.width

    def cut(self, low: int, end: int) -> BitRun | None:
        """What lies at the places from ``low`` to ``end``."""
        first, last = max(low, self.place), min(end, self.end)
        if first >= last:
            return None
        return replace(self, place=first, low=self.low + first - self.place, width=last - first)

    def term(self) -> Term:
        """The number that the part is, at place 0."""
        found = t.floordiv(self.source, t.const(1 << self.low)) if self.low else self.source
        return found if self.low + self.width >= self.bits else t.floormod(found, t.const(1 << self.width))


class _Arithmetic:
    """Operators of `HostBits` and `HostInteger`."""

    def _term(self) -> Term:
        raise NotImplementedError

    def __add__(self, other: _Value) -> _Value:
        return HostInteger(t.add(self._term(), _term_of(other)))

    def __sub__(self, other: _Value) -> _Value:
        return HostInteger(t.sub(self._term(), _term_of(other)))

    def __rsub__(self, other: int) -> _Value:
        return HostInteger(t.sub(t.const(other), self._term()))

    def __mul__(self, other: _Value) -> _Value:
        return HostInteger(t.mul(self._term(), _term_of(other)))

    __radd__, __rmul__ = __add__, __mul__

    def __invert__(self) -> _Value:
        return HostInteger(t.sub(t.const(-1), self._term()))

    def __lt__(self, other: _Value) -> bool:
        return _decided(t.lt(self._term(), _term_of(other)))

    def __le__(self, other: _Value) -> bool:
        return _decided(t.le(self._term(), _term_of(other)))

    def __gt__(self, other: _Value) -> bool:
        return not self <= other

    def __ge__(self, other: _Value) -> bool:
        return not self < other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | _Arithmetic):
            return NotImplemented
        return _decided(t.eq(self._term(), _term_of(cast("_Value", other))))

    def __hash__(self) -> int:
        return id(self)

    def __format__(self, spec: str) -> str:
        """For reasons why code is not followed, which print numbers in hexadecimal."""
        return str(self._term())

    def __bool__(self) -> bool:
        return not _decided(t.eq(self._term(), t.ZERO))


@dataclass(frozen=True, eq=False)
class HostInteger(_Arithmetic):
    """An integer of any size."""

    number: Term

    def _term(self) -> Term:
        return self.number

    def __and__(self, mask: _Value) -> _Value:
        if not isinstance(mask, int):
            raise HostFault("host code takes bits of an argument as another one says")
        mask &= (1 << _WORD) - 1
        return HostBits.of(self.number, mask.bit_length()) & mask if mask else 0

    __rand__ = __and__

    def __lshift__(self, by: int) -> _Value:
        return HostInteger(t.scale(1 << _count(by), self.number))

    def __rshift__(self, by: int) -> _Value:
        return HostInteger(t.floordiv(self.number, t.const(1 << _count(by))))


@dataclass(frozen=True, eq=False)
class HostBits(_Arithmetic):
    """``constant`` and ``parts``, no two of which have a bit in common; all other bits are 0."""

    constant: int
    parts: tuple[BitRun, ...]

    @staticmethod
    def of(source: Term, bits: int) -> HostBits:
        """The lowest ``bits`` bits of an integer."""
        low = t.unsigned(bits, signed(bits, source))
        most = bits if low.high is None else min(bits, max(low.high.bit_length(), 1))
        return HostBits(0, (BitRun(0, low, most, 0, most),))

    @property
    def support(self) -> int:
        """The bits that may be set."""
        found = self.constant
        for part in self.parts:
            found |= ((1 << part.width) - 1) << part.place
        return found

    def _term(self) -> Term:
        return t.add(t.const(self.constant), *(t.scale(1 << part.place, part.term()) for part in self.parts))

    def __and__(self, mask: _Value) -> _Value:
        if isinstance(mask, HostBits) and self._is(mask):
            return self
        if not isinstance(mask, int):
            raise HostFault("host code takes bits of an argument as another one says")
        kept = [each for part in self.parts for low, end in _runs(mask, part.end) if (each := part.cut(low, end))]
        return _bits(self.constant & mask, kept)

    __rand__ = __and__

    def _is(self, other: HostBits) -> bool:
        return self.constant == other.constant and self.parts == other.parts

    def __or__(self, other: _Value) -> _Value:
        if isinstance(other, HostBits) and self._is(other):
            return self
        if isinstance(other, int):
            kept = self & ~other
            return _bits(self.constant | other, kept.parts if isinstance(kept, HostBits) else ())
        if not isinstance(other, HostBits) or self.support & other.support:
            raise HostFault("host code joins bits of two arguments")
        return _bits(self.constant | other.constant, (*self.parts, *other.parts))

    __ror__ = __or__

    def __xor__(self, other: _Value) -> _Value:
        if isinstance(other, HostBits) and self._is(other):
            return 0
        if isinstance(other, int) and not other & self.support:
            return self | other
        raise HostFault("host code turns bits of an argument round")

    __rxor__ = __xor__

    def __add__(self, other: _Value) -> _Value:
        apart = other.support if isinstance(other, HostBits) else other if isinstance(other, int) else -1
        if apart >= 0 and not self.support & apart:
            return self | other
        return super().__add__(other)

    __radd__ = __add__

    def __lshift__(self, by: int) -> _Value:
        count = _count(by)
        return _bits(self.constant << count, [replace(part, place=part.place + count) for part in self.parts])

    def __rshift__(self, by: int) -> _Value:
        count = _count(by)
        kept = [each for part in self.parts if (each := part.cut(count, part.end))]
        return _bits(self.constant >> count, [replace(part, place=part.place - count) for part in kept])


_Value: TypeAlias = "int | HostBits | HostInteger"


def _count(by: object) -> int:
    if not isinstance(by, int):
        raise HostFault("host code shifts by an argument")
    return by


def _bits(constant: int, parts: Sequence[BitRun]) -> _Value:
    """Parts that follow each other in one source are one."""
    joined: list[BitRun] = []
    for part in sorted(parts, key=lambda each: each.place):
        last = joined[-1] if joined else None
        if last is not None and last.source is part.source and (last.end, last.low + last.width) == (
            part.place, part.low,
        ):  # fmt: skip
            joined[-1] = replace(last, width=last.width + part.width)
        else:
            joined.append(part)
    return HostBits(constant, tuple(joined)) if joined else constant


def _runs(mask: int, end: int) -> Iterator[tuple[int, int]]:
    """Where ``mask`` has ones, below ``end``."""
    start = None
    for place in range(end + 1):
        one = place < end and bool(mask >> place & 1)
        if one and start is None:
            start = place
        elif not one and start is not None:
            yield start, place
            start = None


def _term_of(value: _Value) -> Term:
    return t.const(value) if isinstance(value, int) else value._term()


def _with_byte(value: _Value, byte: int, instead: _Value) -> _Value:
    kept, put = value & ~(0xFF << 8 * byte), instead << 8 * byte
    assert not isinstance(kept, HostInteger)
    assert not isinstance(put, HostInteger)
    return kept | put


# ------------------------------------------------------------------------------------------- machine
@dataclass
class _TermMachine(HostMachine):
    """``terms``: bytes of memory that are no numbers, each a value and which byte of it.

    The methods of `HostMachine` say ``int`` for what is a `HostBits` here: only its operators are used.
    """

    terms: dict[int, tuple[HostBits, int]] = field(default_factory=dict)
    opened: int = 0

    def load(self, address: int, size: int) -> int:
        found: _Value = super().load(address, size)
        for byte in range(size):
            if (known := self.terms.get(address + byte)) is not None:
                value, place = known
                found = _with_byte(found, byte, (value >> 8 * place) & 0xFF)
        return cast("int", found)

    def store(self, address: int, size: int, value: int) -> None:
        kept = cast("_Value", value)
        super().store(address, size, kept if isinstance(kept, int) else 0)
        if isinstance(kept, HostInteger):
            kept = kept & ((1 << 8 * size) - 1)
        for byte in range(size):
            self.terms.pop(address + byte, None)
            if isinstance(kept, HostBits):
                self.terms[address + byte] = kept, byte

    def one_if(self, condition: int) -> int:
        try:
            return super().one_if(condition)
        except DecidesByArgument:
            self.opened += 1
            opened = t.apply(Function(f"host#{self.opened}", Scope.LAUNCH, 0, 1, Sort.INT))
            return cast("int", HostBits(0, (BitRun(0, opened, 1, 0, 1),)))

    def signed(self, value: int, bits: int) -> int:
        kept = cast("_Value", value)
        return (
            super().signed(kept, bits)
            if isinstance(kept, int)
            else cast("int", HostInteger(signed(bits, _term_of(kept))))
        )


def maps_of(
    host: HostSide, entry: str, parameters: Sequence[Parameter], values: Mapping[str, Term | None], decides: Decides
) -> Mapping[str, TensorMap[Term]]:
    """The tensor map in each hidden parameter, where visible ones hold ``values``.

    :raises NoHiddenParameters: the host code cannot be followed, or makes something else.
    :raises DecidesByArgument: it goes on in two ways.
    """
    token = _DECIDES.set(decides)
    try:
        call = host.call_of(entry, parameters)
        machine = _TermMachine(call.code, call.memory())
        visible = [each for each in parameters if not each.hidden]
        given = {each.name: HostBits.of(_number(each, values.get(each.name)), 8 * each.size) for each in visible}
        for each in visible:
            machine.store(call.place(each), each.size, cast("int", given[each.name]))
        if call.made_by(machine):
            raise NoHiddenParameters("the host code refuses the launch")
        for each in visible:
            left: _Value = machine.load(call.place(each), each.size)
            if _term_of(left) is not _term_of(given[each.name]):
                raise NoHiddenParameters("the host code changes arguments")
        found = {
            each.name: _map(machine, call.place(each)) for each in parameters if each.hidden and each.size == MAP_BYTES
        }
        return {name: _plain_map(each, decides) for name, each in found.items()}
    except DecidesByArgument:
        raise
    except (BrokenObject, HostFault, UnknownTensorMap, TypeError) as error:
        raise NoHiddenParameters(str(error)) from None
    finally:
        _DECIDES.reset(token)


def _number(parameter: Parameter, held: Term | None) -> Term:
    """What the bytes of a parameter are as an integer; any, where it holds a float."""
    if held is None:
        return t.apply(Function(f"bytes of {parameter.name}", Scope.LAUNCH, 0, (1 << 8 * parameter.size) - 1, Sort.INT))
    return t.ite(held, t.ONE, t.ZERO) if held.sort is Sort.BOOL else held


def _map(machine: HostMachine, start: int) -> TensorMap[Term]:
    def read(place: MapField) -> _Value:
        word: _Value = machine.load(start + 8 * place.word, 8)
        return (word >> place.low) & ((1 << place.width) - 1)

    def number(place: MapField) -> int:
        found = read(place)
        if not isinstance(found, int):
            raise UnknownTensorMap("the form of a tensor map hangs on an argument")
        return found

    return decoded_fields(
        number,
        lambda place: _term_of(read(place)),
        t.const,
        lambda term, factor, more: t.add(t.scale(factor, term), t.const(more)),
    )


# ------------------------------------------------------------------------------------------- what fields are
_ADDRESSES: Final = 57
"""Bits of an address in global memory: a tensor map has room for no more, as the hardware has none."""


def _plain_map(found: TensorMap[Term], decides: Decides) -> TensorMap[Term]:
    """The map with its fields as they are without the bits that are cut off, where no argument has such."""
    base = _plain(found.base)
    beyond = t.le(t.const(1 << _ADDRESSES), base)
    return replace(
        found,
        base=base if decides(t.or_(beyond, t.eq(base, found.base))) else found.base,
        sizes=tuple(_without_cuts(size, decides) for size in found.sizes),
        strides=tuple(_without_cuts(stride, decides) for stride in found.strides),
    )


def _without_cuts(term: Term, decides: Decides) -> Term:
    plain = _plain(term)
    return plain if plain is term or decides(t.eq(plain, term)) else term


def _plain(term: Term) -> Term:
    """``term`` without remainders, wraps, and divisions that are multiplied back."""
    reading = unsigned_reading(term)
    if reading is not None:
        return _plain(reading[1])
    match term.kind:
        case TermKind.WRAP:
            return _plain(term.args[0])
        case TermKind.MOD if term.args[1].kind is TermKind.CONST:
            return _plain(term.args[0])
        case TermKind.SUM:
            constant, parts = t.linear_parts(term)
            return t.add(t.const(constant), *(_multiplied(factor, part) for factor, part in parts))
    return term


def _multiplied(factor: int, term: Term) -> Term:
    inner = _plain(term)
    if inner.kind is TermKind.DIV and (by := inner.args[1]).kind is TermKind.CONST and factor % by.value == 0:
        return t.scale(factor // by.value, _plain(inner.args[0]))
    return t.scale(factor, inner)
