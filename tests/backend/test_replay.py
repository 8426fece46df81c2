"""Claims about cuTile kernels: faults are confirmed where they are, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from tileverify.backend.replay.replay import KERNEL_BUDGET, replay
from tileverify.contract.launch import ConcreteLaunch
from tileverify.results.claim import Claim, Confirmation, Shown
from tileverify.results.codes import TV

from .helpers import array, compiled, decoded, launch, replayer

A, B = (0, 0, 0), (1, 0, 0)
ALL_CODES = ("TV101", "TV102", "TV103", "TV201", "TV202", "TV301", "TV302", "TV303", "TV401", "TV402")


def claim(code: str, a: tuple[int, int, int] = A, b: tuple[int, int, int] = B) -> Claim:
    return Claim(TV(code), a, b if code < "TV2" else None)


def confirmed(kernel: str, concrete: ConcreteLaunch, wanted: Claim) -> Confirmation:
    found = replayer("racy", kernel)(concrete, wanted)
    assert found is not None
    return found


def codes_shown(kernel: str, concrete: ConcreteLaunch) -> list[str]:
    check = replayer("racy", kernel)
    return [code for code in ALL_CODES if check(concrete, claim(code)) is not None]


# --------------------------------------------------------------------------------------- between blocks
def test_write_write_race() -> None:
    concrete = launch((4, 1, 1), x=array("f32", 64), out=array("f32", 64))
    found = confirmed("everyone_writes", concrete, claim("TV101", (1, 0, 0), (3, 0, 0)))
    assert (found.array, found.element, found.byte) == ("out", "out[0:16]", 0)
    assert found.second is not None
    assert (found.first.block, found.second.block) == ((1, 0, 0), (3, 0, 0))
    assert found.first.access == found.second.access == "store"
    assert found.first.offset == found.second.offset > 0
    assert codes_shown("everyone_writes", concrete) == ["TV101"]


def test_disjoint_tiles_do_not_race() -> None:
    assert codes_shown("own_tile", launch((4, 1, 1), x=array("f32", 64), out=array("f32", 64))) == []


def test_a_race_of_blocks_that_do_not_come_to_their_ends() -> None:
    concrete = launch((2, 1, 1), out=array("f32", 1 << 16))
    check = replayer("racy", "everyone_writes_all", total=1 << 22)
    assert check(concrete, claim("TV101")) is not None
    check = replayer("racy", "everyone_writes_all", others=1 << 24)
    assert check.anywhere(concrete, claim("TV101")).confirmation is not None


def test_read_write_race_and_its_direction() -> None:
    concrete = launch((3, 1, 1), x=array("f32", 64))
    found = confirmed("neighbour", concrete, claim("TV102"))
    assert found.second is not None
    assert found.element == "x[16:32]"
    assert (found.first.access, found.second.access) == ("load", "store")
    swapped = confirmed("neighbour", concrete, claim("TV102", B, A))
    assert swapped.second is not None
    assert (swapped.first.access, swapped.second.access) == ("store", "load")
    assert codes_shown("neighbour", concrete) == ["TV102"]
    assert replayer("racy", "neighbour")(concrete, claim("TV102", A, (2, 0, 0))) is None


def test_overlapping_arguments() -> None:
    concrete = launch(
        (2, 1, 1), x=array("f32", 64, allocation="m"), out=array("f32", 64, allocation="m", byte_offset=64)
    )
    found = confirmed("own_tile", concrete, claim("TV102"))
    assert (found.array, found.element, found.byte) == ("out", "out[0:16]", 64)
    whole = launch((2, 1, 1), x=array("f32", 64, allocation="m"), out=array("f32", 64, allocation="m"))
    assert replayer("racy", "own_tile")(whole, claim("TV102")) is None


def test_rows_closer_than_their_width() -> None:
    concrete = launch((3, 1, 1), out=array("f32", 3, 10, strides=(4, 1)))
    found = confirmed("rows_without_second_axis", concrete, claim("TV101"))
    assert found.byte == 16
    apart = launch((3, 1, 1), out=array("f32", 3, 10, strides=(10, 1)))
    assert codes_shown("rows_without_second_axis", apart) == []


def test_scatter_by_index_contents() -> None:
    contents = {i: i for i in range(32)}
    clash = launch((2, 1, 1), idx=array("i32", 32, contents=contents | {20: 3}), out=array("f32", 64))
    found = confirmed("scattered", clash, claim("TV101"))
    assert found.element == "out[3]"
    clean = launch((2, 1, 1), idx=array("i32", 32, contents=contents), out=array("f32", 64))
    assert codes_shown("scattered", clean) == []


def test_plain_load_beside_atomics() -> None:
    concrete = launch((2, 1, 1), x=array("i32", 32), counts=array("i32", 16), out=array("i32", 32))
    found = confirmed("counts_and_reads", concrete, claim("TV103"))
    assert found.array == "counts"
    assert codes_shown("counts_and_reads", concrete) == ["TV103"]
    assert codes_shown("counts", launch((2, 1, 1), x=array("i32", 32), counts=array("i32", 16))) == []


def test_tickets_are_distinct() -> None:
    """Both blocks see 0 when run apart; that is no execution, and no order of the two makes them meet."""
    assert codes_shown("ticket", launch((2, 1, 1), counter=array("i32", 1), out=array("f32", 4))) == []


def test_release_and_acquire_order_the_last_block() -> None:
    concrete = launch((2, 1, 1), parts=array("f32", 2), counter=array("i32", 1), out=array("f32", 2))
    assert codes_shown("last_block", concrete) == []
    relaxed = confirmed("last_block_relaxed", concrete, claim("TV102"))
    assert relaxed.array == "parts"
    assert relaxed.replayed_by.endswith("before block_b")
    crowd = launch((3, 1, 1), parts=array("f32", 3), counter=array("i32", 1), out=array("f32", 2))
    assert codes_shown("last_block", crowd) == []


def test_a_count_that_starts_too_high_shows_in_the_whole_launch() -> None:
    """The second block to count takes itself for the last one; which two race depends on the third."""
    crowd = launch((3, 1, 1), parts=array("f32", 3), counter=array("i32", 1, fill=1), out=array("f32", 2))
    found = confirmed("last_block", crowd, claim("TV102"))
    assert found.array == "parts"
    assert "the other blocks" in found.replayed_by


# ------------------------------------------------------------------------------------------ in one block
def test_two_lanes_on_one_element() -> None:
    concrete = launch((1, 1, 1), idx=array("i32", 16, contents={i: i // 2 for i in range(16)}), out=array("f32", 16))
    found = confirmed("scattered", concrete, claim("TV202"))
    assert found.second is None
    assert found.element == "out[0:8]"
    assert codes_shown("scattered", concrete) == ["TV202"]


def test_view_index_outside_its_index_space() -> None:
    concrete = launch((3, 1, 1), x=array("f32", 32), out=array("f32", 32))
    found = confirmed("own_tile", concrete, claim("TV301", (2, 0, 0)))
    assert (found.array, found.element, found.first.access) == ("x", "x[32:48]", "load")
    assert replayer("racy", "own_tile")(concrete, claim("TV301", B)) is None


def test_pointer_outside_its_allocation() -> None:
    concrete = launch((1, 1, 1), x=array("f32", 10), idx=array("i32", 16, contents={5: 10}), out=array("f32", 16))
    found = confirmed("unchecked", concrete, claim("TV302"))
    assert (found.array, found.element, found.byte) == ("x", "x[10]", 40)
    inside = launch((1, 1, 1), x=array("f32", 11), idx=array("i32", 16, contents={5: 10}), out=array("f32", 16))
    assert codes_shown("unchecked", inside) == []
    before = launch((1, 1, 1), x=array("f32", 11), idx=array("i32", 16, contents={5: -1}), out=array("f32", 16))
    assert confirmed("unchecked", before, claim("TV302")).element == "x[-1]"


def test_division_by_a_launch_scalar() -> None:
    zero = launch((2, 1, 1), {"n": 0}, out=array("f32", 8))
    assert confirmed("divides", zero, claim("TV402")).first.access == "divi"
    assert codes_shown("divides", launch((2, 1, 1), {"n": 1}, out=array("f32", 8))) == []
    assert codes_shown("divides", launch((2, 1, 1), {"n": 5}, out=array("f32", 8))) == ["TV101"]


def test_wrapped_index_meets_another_block() -> None:
    """4 * 2^30 wraps to 0 in 32 bits: blocks 0 and 4 meet, and a nominally huge array costs nothing."""
    concrete = launch((5, 1, 1), {"width": 1 << 30}, out=array("f32", 1 << 31 - 1))
    assert replayer("racy", "wide_grid")(concrete, claim("TV101", A, B)) is None
    assert confirmed("wide_grid", concrete, claim("TV101", A, (4, 0, 0))).element == "out[0:16]"


# ----------------------------------------------------------------------------------------------- the rest
def test_list_descriptors() -> None:
    module, entry = decoded("racy", "from_list")
    parameters = compiled("racy", "from_list").parameters
    concrete = ConcreteLaunch(
        (2, 1, 1), {"out": array("f32", 48)}, {}, {"xs": (array("f32", 16), array("f32", 7), array("f32", 0))}
    )
    found = replay(module, entry, parameters, concrete, claim("TV101"))
    assert found is not None
    assert found.element == "out[0:16]"
    twice = (array("f32", 16, allocation="m"),) * 2
    aliased = ConcreteLaunch((1, 1, 1), {"out": array("f32", 32)}, {}, {"xs": twice})
    for code in ("TV201", "TV202", "TV302", "TV401"):
        assert replay(module, entry, parameters, aliased, claim(code)) is None
    onto_itself = ConcreteLaunch((1, 1, 1), {"out": array("f32", 32, allocation="m")}, {}, {"xs": twice})
    assert replay(module, entry, parameters, onto_itself, claim("TV201")) is not None


def test_reasons() -> None:
    check = replayer("racy", "spins", budget=1 << 22)
    concrete = launch((2, 1, 1), flag=array("i32", 1), out=array("f32", 1))
    assert check(concrete, claim("TV101")) is None
    assert "waits for another block" in str(check.last_reason)
    check = replayer("racy", "own_tile")
    arrays = {"x": array("f32", 32), "out": array("f32", 32)}
    for concrete, wanted, reason in (
        (launch((2, 1, 1), **arrays), Claim(cast(TV, "TV999"), A, None), "TV999 is not something that a run can show"),
        (launch((2, 1, 1), **arrays), claim("TV101", A, A), "two different blocks"),
        (launch((2, 1, 1), **arrays), claim("TV101", A, (2, 0, 0)), "no block (2, 0, 0)"),
        (launch((0, 1, 1), **arrays), claim("TV301"), "no block"),
        (launch((2, 1, 1), x=array("f32", 32)), claim("TV101"), "no array or list out"),
        (launch((2, 1, 1), x=array("f32", 1 << 32), out=arrays["out"]), claim("TV101"), "does not fit"),
        (launch((2, 1, 1), **arrays), claim("TV101"), "no TV101 shows"),
    ):
        assert check(concrete, wanted) is None
        assert reason in str(check.last_reason)


def test_undefined_behaviour_before_a_race_does_not_hide_it() -> None:
    """A grid beyond the tiles: the race that follows is there as well, and the replay says what came before it."""
    concrete = launch((4, 1, 1), x=array("f32", 32), out=array("f32", 64))
    check = replayer("racy", "everyone_writes")
    past, clean = check(concrete, claim("TV101", (2, 0, 0), (3, 0, 0))), check(concrete, claim("TV101"))
    assert past is not None
    assert past.replayed_by.endswith("past another fault")
    assert clean is not None
    assert "another fault" not in clean.replayed_by


def test_the_claimed_ops_are_preferred() -> None:
    _, entry = decoded("racy", "neighbour")
    load, store = (next(op for op in entry.body.ops if op.name == name) for name in ("load_view_tko", "store_view_tko"))
    concrete = launch((3, 1, 1), x=array("f32", 64))
    found = replayer("racy", "neighbour")(concrete, Claim(TV.RACE_READ_WRITE, A, B, load.offset, store.offset))
    assert found is not None
    assert found.second is not None
    assert (found.first.offset, found.second.offset) == (load.offset, store.offset)


# ------------------------------------------------------------------------------------------ in any blocks
def test_a_race_between_blocks_that_the_claim_does_not_name() -> None:
    contents = {i: i for i in range(64)} | {50: 3}
    concrete = launch((4, 1, 1), idx=array("i32", 64, contents=contents), out=array("f32", 64))
    check = replayer("racy", "scattered")
    assert check(concrete, claim("TV101")) is None
    shown = check.anywhere(concrete, claim("TV101"))
    assert (shown.claim.block_a, shown.claim.block_b) == ((0, 0, 0), (3, 0, 0))
    assert shown.confirmation is not None
    assert shown.confirmation.element == "out[3]"
    again = check(concrete, shown.claim)
    assert again is not None
    assert shown.confirmation.steps > again.steps > 0
    assert replace(again, steps=shown.confirmation.steps) == shown.confirmation


def test_what_is_at_stake_where_no_fault_shows() -> None:
    def shown(*, first: int) -> Shown:
        contents = {i: first + i for i in range(64)}
        concrete = launch((4, 1, 1), idx=array("i32", 64, contents=contents), out=array("f32", 64))
        return check.anywhere(concrete, Claim(TV.RACE_WRITE_WRITE, A, B, stored.first.offset, stored.first.offset))

    check = replayer("racy", "scattered")
    clash = launch((2, 1, 1), idx=array("i32", 32), out=array("f32", 64))
    stored = confirmed("scattered", clash, claim("TV101"))
    assert (shown(first=0).confirmation, shown(first=0).at_stake) == (None, True)
    assert (shown(first=64).confirmation, shown(first=64).at_stake) == (None, False)
    alone = shown(first=63)
    assert (alone.confirmation, alone.at_stake, alone.reach) == (None, True, 1), "one block gets there, one element far"
    assert shown(first=0).reach == 16


def test_an_event_in_a_block_that_the_claim_does_not_name() -> None:
    concrete = launch((9, 1, 1), x=array("f32", 64), out=array("f32", 64))
    check = replayer("racy", "own_tile")
    assert check(concrete, claim("TV301")) is None
    shown = check.anywhere(concrete, claim("TV301"))
    assert shown.confirmation is not None
    assert shown.claim.block_a == shown.confirmation.first.block == (4, 0, 0)


def test_what_cannot_be_run_shows_nothing_and_may_be_at_stake() -> None:
    check = replayer("racy", "own_tile", others=10)
    concrete = launch((4, 1, 1), x=array("f32", 64), out=array("f32", 64))
    shown = check.anywhere(concrete, claim("TV101"))
    assert (shown.confirmation, shown.at_stake) == (None, True)
    assert check.others.left == 0
    assert check(concrete, claim("TV101")) is None
    assert check.last_reason == "no TV101 shows", "it has steps of its own"


def test_launches_of_one_claim_leave_steps_to_the_others() -> None:
    concrete, steps = launch((9, 1, 1), x=array("f32", 64), out=array("f32", 64)), 1 << 24
    check = replayer("racy", "own_tile", total=steps, others=steps)
    while check.anywhere(concrete, claim("TV101")).otherwise:
        pass
    assert check.others.left is not None
    assert 0 < check.others.left < steps, "one claim has a part of the steps"
    assert check.anywhere(concrete, claim("TV301")).confirmation is not None
    assert check.claims.left == steps
    assert check(concrete, Claim(TV.TILE_OUT_OF_INDEX_SPACE, (4, 0, 0), None)) is not None


def test_what_a_block_does_alone_takes_no_other_blocks() -> None:
    def steps(blocks: int, code: str, elements: int) -> int:
        check, concrete = replayer("racy", "neighbour"), launch((blocks, 1, 1), x=array("f32", elements))
        found = check(concrete, Claim(TV(code), A, B if code == "TV102" else None))
        assert found is not None
        second = None if found.second is None else found.second.offset
        shown = check.anywhere(concrete, Claim(TV(code), A, B if second else None, found.first.offset, second))
        assert shown.confirmation is not None
        assert shown.claim.block_a == A
        return shown.confirmation.steps

    assert steps(2, "TV301", 16) == steps(12, "TV301", 16), "the tile of the next block is outside, even for the first"
    assert steps(2, "TV102", 64) < steps(12, "TV102", 64), "any other block may be the other half of a race"


# ------------------------------------------------------------------------------------- by addresses alone
WIDE = (256, 512)


def test_what_a_wide_tile_computes_costs_nothing_where_it_decides_about_no_access() -> None:
    concrete = launch((2, 1, 1), x=array("f32", *WIDE), out=array("f32", *WIDE))
    found = replayer("racy", "wide_everyone_writes", total=KERNEL_BUDGET)(concrete, claim("TV101"))
    assert found is not None
    assert (found.array, found.element) == ("out", "out[0:128, 0:128]")
    assert replayer("racy", "wide_everyone_writes", total=KERNEL_BUDGET)(concrete, claim("TV201")) is None


def test_contents_that_are_addresses_are_loaded() -> None:
    concrete = launch((2, 1, 1), idx=array("i32", 256, fill=3), x=array("f32", *WIDE), out=array("f32", *WIDE))
    check = replayer("racy", "wide_gather", total=KERNEL_BUDGET)
    found = check(concrete, claim("TV101"))
    assert found is not None
    assert found.element == "out[3, 0:128]"
    apart = array("i32", 256, contents={n: n for n in range(256)})
    assert check(replace(concrete, arrays={**concrete.arrays, "idx": apart}), claim("TV101")) is None


def test_what_decides_about_an_access_is_computed() -> None:
    concrete = launch((2, 1, 1), x=array("i32", *WIDE), out=array("i32", *WIDE))
    assert confirmed("wide_steered", concrete, claim("TV101")).element == "out[0:128, 0:128]"
    ones = replace(concrete, arrays={**concrete.arrays, "x": array("i32", *WIDE, fill=1)})
    assert replayer("racy", "wide_steered")(ones, claim("TV101")) is None


def test_what_comes_back_from_memory_as_an_address_is_computed() -> None:
    contents = {n: n for n in range(32)}
    concrete = launch((2, 1, 1), idx=array("i32", 32, contents=contents), out=array("f32", 32))
    assert confirmed("through_memory", concrete, claim("TV101")).element == "out[0]"
