"""Hand-labelled traces: what the memory model says of each, argued from its text, and what the detector says.

Rules used: only tokens order the accesses of a block; a release publishes what its token waits for, an acquire
protects what waits for its token; they synchronise if the acquire reads the release's value, or what atomics made of
it, on the same location, with scopes that include each other's block; happens-before is the closure of both; a race
is a conflict that it does not order and that is not morally strong.
"""

from __future__ import annotations

import pytest

from .traces import parsed


def check(table: str, *expected: str, loop: str = "") -> None:
    """``expected``: races as ``TV102 W L``, in the order in which the two happened."""
    assert parsed(table, loop).races() == {tuple(race.split()) for race in expected}


# ----------------------------------------------------------------------------- conflicts without any order
def test_two_weak_stores() -> None:
    # Two writes of one location by different blocks, no synchronisation, no scopes.
    check(
        """
        0 W store weak - x[0:4] - -
        1 V store weak - x[0:4] - -
        """,
        "TV101 W V",
    )


def test_weak_store_and_weak_load() -> None:
    # One of the two writes: a conflict, whatever value the load returned.
    check(
        """
        0 W store weak - x[0:4] - -
        1 L load  weak - x[0:4] - W
        """,
        "TV102 W L",
    )


def test_the_load_may_come_first() -> None:
    check(
        """
        1 L load  weak - x[0:4] - -
        0 W store weak - x[0:4] - -
        """,
        "TV102 L W",
    )


def test_reads_do_not_conflict() -> None:
    check(
        """
        0 L load weak - x[0:4] - -
        1 M load weak - x[0:4] - -
        """
    )


def test_other_bytes_do_not_conflict() -> None:
    check(
        """
        0 W store weak - x[0:4] - -
        1 V store weak - x[4:8] - -
        """
    )


def test_elements_between_those_of_another_access() -> None:
    # The ranges overlap, the bytes do not.
    check(
        """
        0 W store weak - x[0:4]+x[8:12]  - -
        1 V store weak - x[4:8]+x[12:16] - -
        """
    )


def test_a_wide_and_a_narrow_access_meet_in_one_byte() -> None:
    check(
        """
        0 W store weak - x[0:4] - -
        1 L load  weak - x[3:4] - W
        """,
        "TV102 W L",
    )


def test_a_narrow_access_behind_a_wide_one() -> None:
    check(
        """
        0 W store weak - x[0:4] - -
        1 L load  weak - x[4:5] - -
        """
    )


# ---------------------------------------------------------------------------------------- message passing
def test_release_and_acquire() -> None:
    # W -> R by a token, R -> A as A reads R's value, A -> L by a token.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 A load  acquire device f[0:4] - R
        1 L load  weak    -      x[0:4] A W
        """
    )


def test_a_relaxed_flag_releases_nothing() -> None:
    # The flag accesses are morally strong, but relaxed ones do not synchronise.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store relaxed device f[0:4] W -
        1 A load  acquire device f[0:4] - R
        1 L load  weak    -      x[0:4] A W
        """,
        "TV102 W L",
    )


def test_a_relaxed_load_acquires_nothing() -> None:
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 A load  relaxed device f[0:4] - R
        1 L load  weak    -      x[0:4] A W
        """,
        "TV102 W L",
    )


def test_the_release_does_not_wait_for_the_data() -> None:
    # A release publishes what its token waits for: nothing here, though the store stands before it.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] - -
        1 A load  acquire device f[0:4] - R
        1 L load  weak    -      x[0:4] A W
        """,
        "TV102 W L",
    )


def test_the_load_does_not_wait_for_the_acquire() -> None:
    # Control dependence (the load runs only if the flag was seen) orders nothing.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 A load  acquire device f[0:4] - R
        1 L load  weak    -      x[0:4] - W
        """,
        "TV102 W L",
    )


def test_the_acquire_read_an_older_value() -> None:
    check(
        """
        1 A load  acquire device f[0:4] - -
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 L load  weak    -      x[0:4] A W
        """,
        "TV102 W L",
    )


def test_another_flag() -> None:
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 A load  acquire device g[0:4] - -
        1 L load  weak    -      x[0:4] A W
        """,
        "TV102 W L",
    )


def test_a_release_in_block_scope() -> None:
    # The scope of R does not include block 1: no synchronisation, and the flag accesses race themselves.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release tl_blk f[0:4] W -
        1 A load  acquire device f[0:4] - R
        1 L load  weak    -      x[0:4] A W
        """,
        "TV103 R A",
        "TV102 W L",
    )


def test_an_acquire_in_block_scope() -> None:
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 A load  acquire tl_blk f[0:4] - R
        1 L load  weak    -      x[0:4] A W
        """,
        "TV103 R A",
        "TV102 W L",
    )


def test_scopes_nest() -> None:
    # sys includes device includes both blocks.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release sys    f[0:4] W -
        1 A load  acquire device f[0:4] - R
        1 L load  weak    -      x[0:4] A W
        """
    )


def test_a_weak_flag() -> None:
    # A weak access has no scope: the flag itself is a race, and nothing is released.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store weak    -      f[0:4] W -
        1 A load  acquire device f[0:4] - R
        1 L load  weak    -      x[0:4] A W
        """,
        "TV103 R A",
        "TV102 W L",
    )


def test_data_that_is_written_after_the_acquire() -> None:
    # Ordered as well: a later write by the receiver does not meet the earlier one unordered.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 A load  acquire device f[0:4] - R
        1 V store weak    -      x[0:4] A -
        """
    )


def test_data_that_is_written_after_the_release() -> None:
    # What follows a release is not published by it, token or not.
    check(
        """
        0 R store release device f[0:4] - -
        0 W store weak    -      x[0:4] R -
        1 A load  acquire device f[0:4] - R
        1 L load  weak    -      x[0:4] A W
        """,
        "TV102 W L",
    )


def test_a_release_publishes_what_it_waits_for_through_others() -> None:
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 K load  weak    -      y[0:4] W -
        0 R store release device f[0:4] K -
        1 A load  acquire device f[0:4] - R
        1 K2 load weak    -      y[4:8] A -
        1 L load  weak    -      x[0:4] K2 W
        """
    )


# ---------------------------------------------------------------------------------------------- atomics
@pytest.mark.parametrize("scopes", [("device", "device"), ("device", "sys"), ("sys", "sys")])
def test_atomics_in_covering_scopes(scopes: tuple[str, str]) -> None:
    # Morally strong: both scopes include the other's block.
    check(
        f"""
        0 A atomic relaxed {scopes[0]} x[0:4] - -
        1 B atomic relaxed {scopes[1]} x[0:4] - A
        """
    )


@pytest.mark.parametrize("scopes", [("tl_blk", "tl_blk"), ("tl_blk", "device"), ("sys", "tl_blk")])
def test_atomics_in_block_scope(scopes: tuple[str, str]) -> None:
    check(
        f"""
        0 A atomic acq_rel {scopes[0]} x[0:4] - -
        1 B atomic acq_rel {scopes[1]} x[0:4] - A
        """,
        "TV103 A B",
    )


def test_a_weak_store_beside_an_atomic() -> None:
    check(
        """
        0 W store  weak    -      x[0:4] - -
        1 B atomic relaxed device x[0:4] - W
        """,
        "TV103 W B",
    )


def test_a_weak_load_beside_an_atomic() -> None:
    check(
        """
        0 A atomic acq_rel device x[0:4] - -
        1 L load   weak    -      x[0:4] - A
        """,
        "TV103 A L",
    )


def test_a_weak_load_behind_the_own_atomic() -> None:
    # Block 1's atomic reads from block 0's and its token orders the load behind both; block 2's is unordered with it.
    check(
        """
        0 A atomic acq_rel device x[0:4] - -
        1 B atomic acq_rel device x[0:4] - A
        1 L load   weak    -      x[0:4] B B
        2 C atomic acq_rel device x[0:4] - B
        """,
        "TV103 L C",
    )


def test_relaxed_stores_and_loads() -> None:
    check(
        """
        0 W store relaxed device x[0:4] - -
        1 L load  relaxed device x[0:4] - W
        1 V store relaxed sys    x[0:4] - -
        """
    )


def test_a_failed_exchange_is_a_read() -> None:
    check(
        """
        0 L load   weak    -      x[0:4] - -
        1 C failed relaxed device x[0:4] - -
        """
    )


# ------------------------------------------------------------------------------------- release sequences
def test_a_chain_of_atomics_continues_a_release() -> None:
    # C reads what B made of A's value: B belongs to the release sequence of A although it is relaxed.
    check(
        """
        0 W store  weak    -      x[0:4] - -
        0 A atomic release device f[0:4] W -
        1 B atomic relaxed device f[0:4] - A
        2 C atomic acquire device f[0:4] - B
        2 L load   weak    -      x[0:4] C W
        """
    )


def test_a_relaxed_link_publishes_nothing_of_its_own() -> None:
    check(
        """
        0 A atomic release device f[0:4] - -
        1 V store  weak    -      y[0:4] - -
        1 B atomic relaxed device f[0:4] V A
        2 C atomic acquire device f[0:4] - B
        2 L load   weak    -      y[0:4] C V
        """,
        "TV102 V L",
    )


def test_every_release_of_a_chain_publishes() -> None:
    # The last of the blocks that count sees what all of them wrote.
    check(
        """
        0 W0 store weak    -      x[0:4]  - -
        0 A0 atomic acq_rel device f[0:4] W0 -
        1 W1 store weak    -      x[4:8]  - -
        1 A1 atomic acq_rel device f[0:4] W1 A0
        2 W2 store weak    -      x[8:12] - -
        2 A2 atomic acq_rel device f[0:4] W2 A1
        2 L  load  weak    -      x[0:12/4] A2 W0+W1+W2
        """
    )


def test_a_counter_that_only_acquires() -> None:
    check(
        """
        0 W store  weak    -      x[0:4] - -
        0 A atomic acquire device f[0:4] W -
        1 B atomic acquire device f[0:4] - A
        1 L load   weak    -      x[0:4] B W
        """,
        "TV102 W L",
    )


def test_a_counter_that_only_releases() -> None:
    check(
        """
        0 W store  weak    -      x[0:4] - -
        0 A atomic release device f[0:4] W -
        1 B atomic release device f[0:4] - A
        1 L load   weak    -      x[0:4] B W
        """,
        "TV102 W L",
    )


def test_a_relaxed_store_ends_the_sequence() -> None:
    # C reads V's value, which is no atomic read-modify-write of R's.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 V store relaxed device f[0:4] - -
        2 C load  acquire device f[0:4] - V
        2 L load  weak    -      x[0:4] C W
        """,
        "TV102 W L",
    )


def test_a_weak_store_ends_the_sequence_and_races() -> None:
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 V store weak    -      f[0:4] - -
        2 C load  acquire device f[0:4] - V
        2 L load  weak    -      x[0:4] C W
        """,
        "TV103 R V",
        "TV103 V C",
        "TV102 W L",
    )


def test_a_later_release_is_a_sequence_of_its_own() -> None:
    # C observes R1 alone: block 1's data is published, block 0's is not.
    check(
        """
        0 W0 store weak    -      x[0:4] - -
        0 R0 store release device f[0:4] W0 -
        1 W1 store weak    -      x[4:8] - -
        1 R1 store release device f[0:4] W1 -
        2 C  load  acquire device f[0:4] - R1
        2 L0 load  weak    -      x[0:4] C W0
        2 L1 load  weak    -      x[4:8] C W1
        """,
        "TV102 W0 L0",
    )


def test_a_link_in_block_scope_breaks_the_chain() -> None:
    # B's scope includes neither neighbour: it races with both and observes nothing of A.
    check(
        """
        0 W store  weak    -      x[0:4] - -
        0 A atomic release device f[0:4] W -
        1 B atomic relaxed tl_blk f[0:4] - A
        2 C atomic acquire device f[0:4] - B
        2 L load   weak    -      x[0:4] C W
        """,
        "TV103 A B",
        "TV103 B C",
        "TV102 W L",
    )


def test_a_failed_exchange_changes_no_sequence() -> None:
    check(
        """
        0 W store  weak    -      x[0:4] - -
        0 R store  release device f[0:4] W -
        1 C failed relaxed device f[0:4] - R
        2 A load   acquire device f[0:4] - R
        2 L load   weak    -      x[0:4] A W
        """
    )


def test_a_failed_exchange_may_acquire() -> None:
    check(
        """
        0 W store  weak    -      x[0:4] - -
        0 R store  release device f[0:4] W -
        1 C failed acquire device f[0:4] - R
        1 L load   weak    -      x[0:4] C W
        """
    )


# ------------------------------------------------------------------------------------------------- locks
LOCKED = """
    0 A0 atomic {acquire} device f[0:4] -  -
    0 L0 load   weak      -      x[0:4] A0 -
    0 W0 store  weak      -      x[0:4] L0 -
    0 R0 store  release   device f[0:4] W0 -
    1 A1 atomic {acquire} device f[0:4] -  R0
    1 L1 load   weak      -      x[0:4] A1 W0
    1 W1 store  weak      -      x[0:4] L1 -
    1 R1 store  release   device f[0:4] W1 -
"""


def test_a_lock() -> None:
    check(LOCKED.format(acquire="acquire"))


def test_a_lock_taken_with_a_relaxed_exchange() -> None:
    # W0 meets L1 and W1, and L0 meets W1; nothing orders block 1 behind block 0.
    check(LOCKED.format(acquire="relaxed"), "TV102 L0 W1", "TV102 W0 L1", "TV101 W0 W1")


# ------------------------------------------------------------------------------------------ transitivity
def test_through_a_third_block() -> None:
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 A load  acquire device f[0:4] - R
        1 S store release device g[0:4] A -
        2 B load  acquire device g[0:4] - S
        2 L load  weak    -      x[0:4] B W
        """
    )


def test_a_third_block_that_does_not_pass_it_on() -> None:
    # S does not wait for A: it publishes nothing of what A learnt.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 A load  acquire device f[0:4] - R
        1 S store release device g[0:4] - -
        2 B load  acquire device g[0:4] - S
        2 L load  weak    -      x[0:4] B W
        """,
        "TV102 W L",
    )


def test_two_acquires_that_are_joined() -> None:
    # L waits for both acquires, which do not wait for each other.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 V store weak    -      y[0:4] - -
        1 S store release device g[0:4] V -
        2 A load  acquire device f[0:4] - R
        2 B load  acquire device g[0:4] - S
        2 L load  weak    -      x[0:4] A+B W
        2 M load  weak    -      y[0:4] A+B V
        """
    )


def test_back_to_the_first_block() -> None:
    # Block 0's own store and load are related by no token, but through block 1 and back.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 A load  acquire device f[0:4] - R
        1 S store release device g[0:4] A -
        0 B load  acquire device g[0:4] - S
        0 L load  weak    -      x[0:4] B W
        """
    )


def test_a_release_that_the_own_block_observes() -> None:
    # Synchronisation asks for scopes that include the other's block, which the own block's always do.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release tl_blk f[0:4] W -
        0 A load  acquire tl_blk f[0:4] - R
        0 L load  weak    -      x[0:4] A W
        """
    )


# ------------------------------------------------------------------------------------- inside one block
def test_store_and_load_without_a_token() -> None:
    check(
        """
        0 W store weak - x[0:4] - -
        0 L load  weak - x[0:4] - W
        """,
        "TV201 W L",
    )


def test_load_and_store_without_a_token() -> None:
    check(
        """
        0 L load  weak - x[0:4] - -
        0 W store weak - x[0:4] - -
        """,
        "TV201 L W",
    )


def test_a_token_path() -> None:
    check(
        """
        0 W store weak - x[0:4] - -
        0 K load  weak - y[0:4] W -
        0 L load  weak - x[0:4] K W
        """
    )


def test_joined_tokens() -> None:
    check(
        """
        0 W store weak - x[0:4] -   -
        0 V store weak - x[4:8] -   -
        0 L load  weak - x[0:8/4] W+V W+V
        """
    )


def test_one_of_two_tokens() -> None:
    check(
        """
        0 W store weak - x[0:4] - -
        0 V store weak - x[4:8] - -
        0 L load  weak - x[0:8/4] V W+V
        """,
        "TV201 W L",
    )


def test_scoped_accesses_of_one_block() -> None:
    # Morally strong in any scope: each includes the own block.
    check(
        """
        0 W store  relaxed tl_blk x[0:4] - -
        0 B atomic relaxed device x[0:4] - W
        """
    )


def test_a_weak_access_beside_an_atomic_of_the_block() -> None:
    check(
        """
        0 B atomic acq_rel device x[0:4] - -
        0 L load   weak    -      x[0:4] - B
        """,
        "TV201 B L",
    )


def test_iterations_without_a_token() -> None:
    check(
        """
        0 W#1 store weak - x[0:4] - -
        0 W#2 store weak - x[0:4] - -
        """,
        "TV201 W W",
        loop="W",
    )


def test_only_the_last_token_leaves_a_loop() -> None:
    # nvcc's pattern, which the text does not settle: an access behind the loop that waits for a later instance.
    table = """
        0 W#1 store weak - x[0:4] -   -
        0 W#2 store weak - x[4:8] -   -
        0 L   load  weak - x[0:4] W#2 W#1
        """
    check(table, loop="W")
    check(table, "TV201 W L")


# ------------------------------------------------------------------------------------ elements of a tile
def test_lanes_of_one_store_that_meet() -> None:
    check("0 W store weak - x[0:4]+x[8:12]+x[0:4] - -", "TV202 W")


def test_lanes_of_a_scoped_store_and_of_an_atomic() -> None:
    # Both lanes carry a scope that includes the block: morally strong.
    check(
        """
        0 W store  relaxed tl_blk x[0:4]+x[0:4] - -
        0 B atomic relaxed device y[0:4]+y[0:4] - -
        """
    )


def test_one_of_many_flags() -> None:
    # Every element of the release waits for W; observing one of them is enough.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:16/4] W -
        1 A load  acquire device f[8:12] - R
        1 L load  weak    -      x[0:4] A W
        """
    )


def test_elements_of_a_release_that_nobody_observed() -> None:
    # Elements of one access have no order among them: only f[0] comes before A, and so before L and M.
    check(
        """
        0 R store release device f[0:8/4] - -
        1 A load  acquire device f[0:4] - R
        1 L load  weak    -      f[0:4] A R
        1 M load  weak    -      f[4:8] A R
        """,
        "TV103 R M",
    )


def test_elements_of_an_acquire_that_observed_nothing() -> None:
    # W comes before the element of A that reads R's value, not before the other one.
    check(
        """
        0 W store weak    -      f[4:8] - -
        0 R store release device f[0:4] W -
        1 A load  acquire device f[0:8/4] - R+W
        """,
        "TV103 W A",
    )


def test_elements_of_an_acquire_with_a_chain_each() -> None:
    # What waits for A waits for all its elements, so it is behind both releases.
    check(
        """
        0 W store  weak    -      x[0:4] - -
        0 R atomic release device f[0:4] W -
        1 V store  weak    -      y[0:4] - -
        1 S atomic release device f[4:8] V -
        2 A atomic acquire device f[0:8/4] - R+S
        2 L load   weak    -      x[0:4] A W
        2 M load   weak    -      y[0:4] A V
        """
    )


def test_part_of_a_flag_is_another_location() -> None:
    # The acquire reads one byte of a released element of four: not the same location, so no synchronisation, and no
    # access that may meet the release.
    check(
        """
        0 W store weak    -      x[0:4] - -
        0 R store release device f[0:4] W -
        1 A load  acquire device f[0:1] - R
        1 L load  weak    -      x[0:4] A W
        """,
        "TV102 W L",
        "TV103 R A",
    )


@pytest.mark.parametrize(
    ("block", "waits", "race"),
    [(0, "-", {("TV201", "A", "B")}), (0, "A", set()), (1, "-", {("TV103", "A", "B")})],
)
def test_atomics_of_two_widths_need_an_order(block: int, waits: str, race: set[tuple[str, str, str]]) -> None:
    table = f"""
        0       A atomic relaxed device f[0:4] -       ?
        {block} B atomic relaxed device f[0:8] {waits} ?
        """
    assert parsed(table, sources=False).races() == race


# ----------------------------------------------------------------------------------------- the tables
def test_a_table_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(AssertionError, match="reads from"):
        parsed(
            """
            0 W store weak - x[0:4] - -
            1 L load  weak - x[0:4] - -
            """
        )
