"""Broken bytecode, made from good files: the same seed gives the same input everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

INTERESTING = (0x00, 0x01, 0x02, 0x7F, 0x80, 0xFF, 0xCB, 0x40, 0x0D, 0x29, 0x32, 0x58)
HEADER = 12

Mutation = Callable[[Random, bytearray, Sequence[bytes]], None]


def mutated(seed: int, files: Sequence[bytes]) -> bytes:
    """One to four changes to one of ``files``, most of them small; one in sixteen inputs is cut off."""
    random = Random(seed)
    data = bytearray(random.choice(files))
    if random.randrange(16) == 0:
        del data[random.randrange(len(data)) :]
        return bytes(data)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        if len(data) > HEADER:
            random.choice(MUTATIONS)(random, data, files)
    return bytes(data)


def _place(random: Random, data: bytearray) -> int:
    """Mostly behind the header, which rejects almost every change at once."""
    return random.randrange(HEADER if random.randrange(50) else 0, len(data))


def _flip_bit(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    data[_place(random, data)] ^= 1 << random.randrange(8)


def _set_byte(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    data[_place(random, data)] = random.choice(INTERESTING)


def _nudge_byte(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    place = _place(random, data)
    data[place] = (data[place] + random.choice((-2, -1, 1, 2))) & 0xFF


def _huge_number(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    """A count near the limits of 32 or 64 bits where a small one stood."""
    place = _place(random, data)
    number = random.choice((b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\xff" * 12, b"\x80\x80\x80\x08"))
    data[place : place + (len(number) if random.randrange(2) else 1)] = number


def _delete(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    place = _place(random, data)
    del data[place : place + random.randrange(1, 9)]


def _repeat(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    place = _place(random, data)
    piece = data[place : place + random.randrange(1, 33)]
    data[place:place] = piece * random.randrange(1, 5)


def _swap(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    a, b = _place(random, data), _place(random, data)
    data[a], data[b] = data[b], data[a]


def _graft(random: Random, data: bytearray, files: Sequence[bytes]) -> None:
    """A piece of another file, over as many bytes as it has."""
    other = random.choice(files)
    place, start = _place(random, data), random.randrange(len(other))
    piece = other[start : start + random.randrange(1, 65)]
    data[place : place + len(piece)] = piece


MUTATIONS: tuple[Mutation, ...] = (
    _flip_bit,
    _set_byte,
    _nudge_byte,
    _nudge_byte,
    _huge_number,
    _delete,
    _repeat,
    _swap,
    _graft,
)
