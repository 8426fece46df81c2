"""Every way a file can be wrong: refused with the reason, never with another exception, never slowly."""

from __future__ import annotations

import time

import pytest

from tileverify.frontend.bytecode import decode
from tileverify.system.errors import DecodeError

from .craft import (
    ADD_0_0,
    FUNC,
    I32,
    RETURN,
    TILE_4,
    TILE_I32,
    TOKEN,
    TYPES,
    container,
    debug_section,
    file_with,
    function,
    sections,
    varint,
)


def cases(*listed: tuple[object, ...]) -> list[object]:
    """Parameters named by their last part, the reason."""
    return [pytest.param(*case, id=str(case[-1])) for case in listed]


def refusal(data: bytes) -> str:
    with pytest.raises(DecodeError) as caught:
        decode(data, file="broken.tileirbc")
    assert caught.value.file == "broken.tileirbc"
    assert 0 <= caught.value.offset <= len(data)
    return caught.value.message


def test_the_smallest_file_is_accepted() -> None:
    module = decode(file_with(ADD_0_0 + RETURN))
    assert [op.name for op in module.entries[0].body.ops] == ["addi", "return"]


# ------------------------------------------------------------------------------------------- container
@pytest.mark.parametrize(
    ("data", "reason"),
    cases(
        (b"", "not Tile IR bytecode"),
        (b"\x7fELF\x02\x01\x01\x00", "not Tile IR bytecode"),
        (b"\x7fTileIR\x00", "truncated"),
        (container(sections(), version=(13, 6)), "bytecode version 13.6 is not supported"),
        (container(sections(), version=(14, 1)), "bytecode version 14.1 is not supported"),
        (container(sections(), version=(13, 4), tag=1), "unknown version tag 0x1"),
        (container(sections(), version=(13, 5), tag=2), "unknown version tag 0x2"),
        (container(sections(), padding=0), "padding bytes are not 0xCB"),
        (container(sections()) + b"\x00", "1 bytes left over after the end marker"),
        (container([*sections(), (9, 0, b"")]), "unknown section id 9"),
        (container([*sections(), (7, 0, b"\x00")], version=(13, 2)), "a producer section needs bytecode version 13.3"),
        (container([*sections(), (2, 8, function(RETURN))]), "second function section"),
        (container(sections()[:-1]), "string section is missing"),
        (container(sections()[1:]), "function section is missing"),
        (container([(2, 3, b""), *sections()[1:]]), "section alignment 3"),
        (container(sections())[:-1], "truncated"),
        (
            container([(2, 0, function(RETURN) + b"\xcb\x00"), *sections()[1:]]),
            "truncated: 7 bytes expected, 2 are left",
        ),
        (b"\x7fTileIR\x00\x0d\x04\x00\x00\x02" + b"\xff" * 12, "longer than ten bytes"),
        (b"\x7fTileIR\x00\x0d\x04\x00\x00\x01" + b"\xff" * 8 + b"\x7f", "more than accepted"),
    ),
)
def test_container(data: bytes, reason: str) -> None:
    assert reason in refusal(data)


# ---------------------------------------------------------------------------------------------- tables
def tile_of(*dimensions: int, element: int = I32) -> bytes:
    return bytes([13, element, len(dimensions)]) + b"".join(n.to_bytes(8, "little", signed=True) for n in dimensions)


VIEW = b"\x0e\x00\x01\x01" + (1 << 63).to_bytes(8, "little") + b"\x01\x01" + bytes(7)


@pytest.mark.parametrize(
    ("extra", "reason"),
    cases(
        (b"\x63", "unknown type tag 99"),
        (b"\x82\x01", "preview type f8E5M3FNU"),
        (tile_of(3), "tile dimension 3 is not a positive power of two"),
        (tile_of(0), "tile dimension 0"),
        (tile_of(-4), "tile dimension -4"),
        (tile_of(1 << 13, 1 << 12), "more than 16777216 elements"),
        (tile_of(*[1] * 65), "65 dimensions are more than 64"),
        (tile_of(4, element=len(TYPES)), f"type {len(TYPES)} refers to itself"),
        (tile_of(4, element=50), "type 50 does not exist"),
        (tile_of(4, element=TILE_I32), "elements of a tile must be scalars or pointers"),
        (b"\x0d\x01\xff\xff\xff\xff\x0f", "cannot fit"),
        (tile_of(4) + b"\x00", "left over"),
        (b"\x0c\x02\x01", "unknown type flags 0x2"),
        (b"\x0c\x01\x01\x07", "unknown pointer attribute 7"),
        (b"\x0c\x00\x02", "a scalar type is expected here"),
        (b"\x10\x01" + bytes([FUNC]) + b"\x00", "function type inside a function type"),
        (b"\x0e\x00\x01\x01" + bytes(8) + b"\x01" + bytes(8), "must be positive or dynamic"),
        (VIEW[:12] + b"\x00", "1 dimensions with 0 strides"),
        (b"\x0f\x00\x01\x04\x00\x00\x00\x01\x01\x00\x00\x00\x00", "a tensor view type is expected"),
    ),
)
def test_types(extra: bytes, reason: str) -> None:
    assert reason in refusal(file_with(types=[*TYPES, extra]))


def test_two_types_that_refer_to_each_other() -> None:
    first, second = len(TYPES), len(TYPES) + 1
    data = file_with(types=[*TYPES, tile_of(4, element=second), tile_of(4, element=first)])
    assert "refers to itself" in refusal(data)


def test_forward_references_are_resolved() -> None:
    data = file_with(types=[*TYPES, tile_of(4, element=len(TYPES) + 1), b"\x01"])
    assert len(decode(data).entries) == 1


def test_dimension_map_must_be_a_permutation() -> None:
    types = [*TYPES, VIEW, b"\x0f\x00\x01\x04\x00\x00\x00" + bytes([len(TYPES)]) + b"\x01\x01\x00\x00\x00"]
    assert "no permutation" in refusal(file_with(types=types))


@pytest.mark.parametrize(("tag", "since"), [(18, 2), (19, 3), (22, 3), (20, 3), (21, 3)])
def test_types_of_newer_versions(tag: int, since: int) -> None:
    assert f"needs bytecode version 13.{since}" in refusal(
        file_with(types=[*TYPES, bytes([tag])], version=(13, since - 1))
    )


def test_string_tables() -> None:
    assert "is not UTF-8" in refusal(file_with(strings=[b"\xff"]))
    assert "longer than" in refusal(file_with(strings=[b"k" * 70_000]))
    assert "string 0 does not exist" in refusal(file_with(strings=[]))
    bad = b"\x02\xcb\xcb\xcb" + (0).to_bytes(4, "little") + (9).to_bytes(4, "little") + b"ab"
    assert "outside their section" in refusal(container([*sections()[:-1], (1, 4, bad)]))


@pytest.mark.parametrize("size", [0, 2, 3, 5, 8, 15, 17])
def test_constant_of_the_wrong_size(size: int) -> None:
    body = b"\x10" + bytes([TILE_4]) + b"\x00" + RETURN
    assert f"cannot have {size} bytes" in refusal(file_with(body, constants=[varint(size) + bytes(size)]))


# ------------------------------------------------------------------------------------------- functions
@pytest.mark.parametrize(
    ("functions", "reason"),
    cases(
        (function(RETURN, flags=0), "is not a kernel entry"),
        (function(RETURN, flags=3), "is private"),
        (function(RETURN, flags=10), "unknown flags 0xa"),
        (function(RETURN, flags=0x12), "unknown flags 0x12"),
        (function(RETURN, flags=6), "the hints of an entry do not start with their tag"),
        (function(RETURN, length=500), "500 bytes expected"),
        (function(RETURN, length=2), "truncated"),
        (function(RETURN + RETURN), "stands in the middle of a block"),
        (function(ADD_0_0), "does not end in"),
        (function(b""), "does not end in"),
        (function(RETURN, signature=I32), "has no function type"),
        (function(RETURN) + function(RETURN), "padding bytes are not 0xCB"),
        (b"\x02" + function(RETURN)[1:] * 2, "second entry 'k'"),
        (b"\xff\xff\xff\xff\x0f", "cannot fit"),
    ),
)
def test_functions(functions: bytes, reason: str) -> None:
    assert reason in refusal(file_with(functions=functions))


def test_a_debug_index_without_debug_section_means_unknown() -> None:
    assert decode(file_with(functions=function(RETURN, debug=1))).entries[0].location is None


@pytest.mark.parametrize(
    ("body", "reason"),
    cases(
        (b"\x16\x00", "unknown opcode 0x16"),
        (b"\x7e\x00", "unknown opcode 0x7e"),
        (b"\x82\x80\x01\x00", "preview$call"),
        (b"\x03\x02\x04\x00\x00", "unknown value 4 of attribute ovf"),
        (b"\x03\x02\x00\x00\x01", "operand rhs is %1, which is not visible here"),
        (b"\x03\x02\x00\x00\xff\xff\xff\xff\x0f", "not visible here"),
        (b"\x03\x32\x00\x00\x00", "type 50 does not exist"),
        (bytes([3, TILE_4]) + b"\x00\x00\x00", "operand lhs and the result differ in type"),
        (bytes([3, TOKEN]) + b"\x00\x00\x00", "the result is not an integer tile"),
        (b"\x15\x02\x00\x00\x00\x00", "rounding nearest_even does not exist for integers"),
        (b"\x0f\x02\x00\x00\x00\x00", "the result is not an i1 tile"),
        (b"\x43\x01\x02\x00\x00\x00", "not a tile of pointers"),
        (b"\x3e\x02\x02\x05\x00\x00\x00\x00\x01\x00", "a partition, strided or gather_scatter view is expected"),
        (b"\x06\x02\x0e\x00", "unknown attribute tag 14"),
        (b"\x06\x02\x07\x00\x00\x00", "dense elements are not supported"),
        (b"\x06\x02\x08\x03\x00\x00", "divisor 3 of an assumption is not a power of two"),
        (b"\x06\x02\x08\x04\x01\x00\x00", "come together or not at all"),
        (b"\x06\x02\x0c\x04\x00", "unknown bounded flags"),
        (b"\x06\x02\x03\x01\x00", "needs div_by, bounded or same_elements"),
        (b"\x02\x02\x02\x00\x00\x00", "unknown flags 0x2"),
        (b"\x2c\x02\x01", "the module has no global 'name'"),
        (b"\x05\x01\x00", "the condition is not an i1 tile"),
        (b"\x3c\x01\x05\x00", "there is nothing to join"),
        (b"\x3c\x01\x05\x01\x00", "an operand is not a token"),
        (b"\x0a\x00\x00", "stands outside any region"),
        (b"\x5c\x00\x01\x00", "hands on 1 values"),
        (b"\x5c\x01\x02\x00", "it has results"),
        (b"\x10\x02\x00", "constant 0 does not exist"),
        (b"\x26\x01\x02\x00", "operand s is missing"),
        (b"\x77\x05\x02\x00\x00", "2 operands are too many"),
    ),
)
def test_ops(body: bytes, reason: str) -> None:
    assert reason in refusal(file_with(body + RETURN))


@pytest.mark.parametrize(
    ("body", "version", "since"),
    cases(
        (b"\x6e\x02\x00\x00", (13, 1), "atan2 needs bytecode version 13.2"),
        (b"\x71\x02\x00\x01\x01", (13, 2), "alloca needs bytecode version 13.3"),
        (b"\x76\x00\x00", (13, 3), "insert needs bytecode version 13.4"),
        (b"\x7b\x00\x00", (13, 4), "multimem_load_reduce_view_tko needs bytecode version 13.5"),
    ),
)
def test_ops_of_newer_versions(body: bytes, version: tuple[int, int], since: str) -> None:
    assert since in refusal(file_with(body + RETURN, version=version))


# ----------------------------------------------------------------------------------------- control flow
CONDITION = b"\x0f\x04\x00\x00\x00\x00"
YIELD = b"\x6d\x00\x00"


def branch(then: bytes, otherwise: bytes = b"\x00", *, results: bytes = b"\x00", condition: int = 1) -> bytes:
    return b"\x32" + results + bytes([condition]) + b"\x02" + then + otherwise


def block(*ops: bytes, arguments: bytes = b"\x00") -> bytes:
    return b"\x01" + arguments + varint(len(ops)) + b"".join(ops)


def test_branches_are_accepted() -> None:
    decode(file_with(CONDITION + branch(block(ADD_0_0, YIELD), block(YIELD)) + RETURN))


def test_values_of_a_finished_block_are_gone() -> None:
    inside = CONDITION + branch(block(ADD_0_0, b"\x03\x02\x00\x02\x02", YIELD), block(b"\x03\x02\x00\x02\x00", YIELD))
    assert "operand lhs is %2, which is not visible here" in refusal(file_with(inside + RETURN))
    after = CONDITION + branch(block(ADD_0_0, YIELD)) + b"\x03\x02\x00\x02\x00"
    assert "not visible here" in refusal(file_with(after + RETURN))


@pytest.mark.parametrize(
    ("body", "reason"),
    cases(
        (branch(block(YIELD), condition=0), "the condition is not an i1 tile"),
        (branch(b"\x00"), "the first region is empty"),
        (branch(b"\x02\x00\x00\x00\x00"), "2 blocks; only structured control flow"),
        (branch(block(ADD_0_0)), "does not end in"),
        (branch(block(YIELD, YIELD)), "stands in the middle of a block"),
        (branch(block(YIELD), results=b"\x01\x02"), "hands on 0 values"),
        (branch(block(b"\x6d\x00\x01\x00"), results=b"\x01\x02"), "no else region"),
        (branch(block(b"\x6d\x00\x01\x00")), "hands on 1 values"),
        (branch(block(b"\x0a\x00\x00")), "no loop around it can take it"),
        (branch(block(YIELD, arguments=b"\x01\x02")), "take no arguments"),
        (b"\x32\x00\x01\x01" + block(YIELD), "needs 2 regions"),
        (b"\x41\x00\x00\x01" + block(YIELD), "stands directly inside loop"),
        (b"\x29\x00\x00\x03\x00\x00\x00\x01" + block(b"\x0a\x00\x00", arguments=b"\x01\x02"), "no loop around it"),
        (b"\x29\x00\x00\x03\x00\x00\x00\x01" + block(b"\x11\x00\x00"), "arguments of the body do not fit"),
        (b"\x29\x00\x00\x03\x00\x00\x00\x01" + block(RETURN, arguments=b"\x01\x02"), "it stands inside for"),
        (b"\x29\x00\x00\x02\x00\x00\x00", "operand step is missing"),
    ),
)
def test_control_flow(body: bytes, reason: str) -> None:
    assert reason in refusal(file_with(CONDITION + body + RETURN))


# ----------------------------------------------------------------------------------------------- bounds
def quickly(data: bytes) -> str:
    begun = time.perf_counter()
    message = refusal(data)
    assert time.perf_counter() - begun < 1.0
    return message


def test_deep_regions() -> None:
    depth = 50_000
    loops = b"\x41\x00\x00\x01\x01\x00\x01" * depth
    assert "regions nest deeper than 128" in quickly(file_with(loops + RETURN))


def test_deep_attributes() -> None:
    assert "attributes nest deeper" in quickly(file_with(b"\x06\x02" + b"\x06\x01" * 50_000 + RETURN))


def test_huge_counts() -> None:
    count = b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
    for body in (b"\x3c" + count, b"\x3c\x01\x05" + count, b"\x41\x00\x00\x01\x01" + count, b"\x53\x02" + count):
        assert "cannot fit" in quickly(file_with(body + RETURN))


def test_sections_are_bounded() -> None:
    assert "more than accepted" in quickly(file_with(functions=bytes(3 << 20)))
    assert "more than the" in quickly(bytes(1 << 27))


# ------------------------------------------------------------------------------------------------ debug
LOCATION = b"\x04\x00\x00\x05\x07"


def with_debug(indices: list[int], records: list[bytes]) -> bytes:
    return file_with(functions=function(RETURN, debug=1), debug=debug_section(indices, records))


def test_debug_locations_are_accepted() -> None:
    entry = decode(with_debug([0, 1], [LOCATION])).entries[0]
    assert entry.location is None
    location = entry.body.ops[0].location
    assert location is not None
    assert (location.file, location.line, location.column) == ("k", 5, 7)


@pytest.mark.parametrize(
    ("indices", "records", "reason"),
    cases(
        ([0, 2], [LOCATION], "debug attribute 2 does not exist"),
        ([0, 1], [b"\x09"], "unknown debug attribute tag 9"),
        ([0, 1], [b"\x06\x01\x01"], "refers to itself"),
        ([0, 1], [b"\x06\x02\x02", b"\x06\x01\x01"], "refers to itself"),
        ([0, 1], [LOCATION + b"\x00"], "left over"),
        ([0, 1], [b"\x04\x00\x09\x05\x07"], "string 9 does not exist"),
        ([0, 1], [b"\x04\x02\x00\x05\x07", b"\x03\x02\x00\x01\x01"], "refer to themselves"),
        ([0, 0, 0], [LOCATION], "3 debug indices for a function of 1 ops"),
    ),
)
def test_debug(indices: list[int], records: list[bytes], reason: str) -> None:
    assert reason in refusal(with_debug(indices, records))


def test_debug_index_of_no_function() -> None:
    data = file_with(functions=function(RETURN, debug=2), debug=debug_section([0, 0], [LOCATION]))
    assert "debug index 2 does not exist" in refusal(data)


def test_call_sites_that_double_at_every_step() -> None:
    records = [LOCATION, *(b"\x06" + varint(i) * 2 for i in range(1, 60))]
    assert "longer than" in quickly(with_debug([0, 60], records))


def test_long_call_site_chains() -> None:
    records = [LOCATION, *(b"\x06\x01" + varint(i) for i in range(1, 5000))]
    assert "longer than" in quickly(with_debug([0, 5000], records))
    entry = decode(with_debug([0, 200], records)).entries[0]
    location = entry.body.ops[0].location
    assert location is not None
    assert len(list(location.chain())) == 200
    assert location == location


def test_paths_need_not_be_utf8() -> None:
    data = file_with(
        functions=function(RETURN, debug=1),
        debug=debug_section([0, 1], [b"\x04\x00\x02\x05\x07"]),
        strings=(b"k", b"name", b"/caf\xe9.py"),
    )
    location = decode(data).entries[0].body.ops[0].location
    assert location is not None
    assert location.file == "/caf\N{REPLACEMENT CHARACTER}.py"


def test_bytes_like_input() -> None:
    data = file_with(RETURN)
    assert decode(bytearray(data)).version == decode(memoryview(data)).version == (13, 4)  # type: ignore[arg-type]
