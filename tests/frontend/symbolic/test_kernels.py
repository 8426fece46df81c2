"""Compiled kernels against hand-written expectations: which element, under which condition, after which accesses."""

from __future__ import annotations

import pytest

from tileverify.contract.terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Function,
    Scope,
    Term,
    TermKind,
    add,
    and_,
    apply,
    ceildiv,
    const,
    eq,
    floordiv,
    floormod,
    ite,
    le,
    lt,
    minimum,
    mul,
    ne,
    or_,
    postorder,
    scale,
    sub,
    unsigned,
    var,
    wrap,
)
from tileverify.contract.variables import BID, GRID
from tileverify.frontend.bytecode.location import Location, user_frame
from tileverify.frontend.symbolic.execute import summarize
from tileverify.frontend.symbolic.summary import Access, OriginKind, PointerFootprint, Site, ViewFootprint, earlier

from .compiled import decoded, summary

L0, L1 = var("l0", Scope.LANE, 0, 127), var("l1", Scope.LANE, 0, 15)


def size(name: str, dim: int = 0) -> Term:
    return var(f"{name}.shape[{dim}]", Scope.LAUNCH, 0, 2**31 - 1)


def stride(name: str, dim: int) -> Term:
    return var(f"{name}.strides[{dim}]", Scope.LAUNCH, 0, 2**31 - 1)


def scalar(name: str) -> Term:
    return var(name, Scope.LAUNCH, -(2**31), 2**31 - 1)


def lane(dim: int, extent: int) -> Term:
    return var(f"l{dim}", Scope.LANE, 0, extent - 1)


def view(site: Site) -> ViewFootprint:
    assert isinstance(site.footprint, ViewFootprint)
    return site.footprint


def offset(site: Site) -> Term:
    assert isinstance(site.footprint, PointerFootprint)
    return site.footprint.offset


def waits(site: Site) -> dict[int, Term]:
    return {wait.site: wait.condition for wait in site.waits}


def iteration(site: Site, depth: int = 0) -> Term:
    return site.loops[depth].iteration


def test_copy() -> None:
    read, write = summary("copy").sites
    assert (read.access, write.access) == (Access.READ, Access.WRITE)
    assert (read.ordering, read.scope) == ("weak", None)
    for site, name in ((read, "x"), (write, "out")):
        assert site.origin.name == name
        assert site.origin.kind is OriginKind.PARAMETER
        assert site.guard is TRUE
        assert view(site).index == (BID[0],)
        assert view(site).index_space == (ceildiv(size(name), const(128)),)
        assert view(site).coordinates == (add(scale(128, BID[0]), L0),)
        assert view(site).shape == (size(name),)
        assert view(site).strides == (ONE,)
        assert view(site).base is ZERO
        assert [lane.size for lane in site.lanes] == [128]
        assert not site.waits
    assert not [promise for promise in summary("copy").promises if promise.code == "TV402"]
    assert summary("copy").stable_arrays == {"x"}
    assert user_frame(read.location).line == user_frame(write.location).line == 11  # type: ignore[union-attr]


def test_transposed() -> None:
    read, write = summary("transposed").sites
    assert view(read).index == (BID[0], BID[1])
    assert view(write).index == (BID[1], BID[0])
    assert view(write).coordinates == (add(scale(16, BID[1]), lane(0, 16)), add(scale(16, BID[0]), lane(1, 16)))
    assert view(write).strides == (stride("out", 0), ONE)


def test_persistent_loop_keeps_its_indices_without_wraps() -> None:
    read, write = summary("persistent").sites
    tile = add(BID[0], mul(GRID[0], iteration(write)))
    assert view(write).index == view(read).index == (tile,)
    assert write.guard is lt(tile, ceildiv(size("x"), const(128)))
    assert write.loops[0].value is tile


def test_grouped_product_is_division_and_remainder() -> None:
    *reads, write = summary("grouped_product").sites
    rows, columns = ceildiv(size("a"), const(16)), ceildiv(size("b", 1), const(32))
    first = scale(4, floordiv(BID[0], scale(4, columns)))
    group = minimum(sub(rows, first), const(4))
    row = add(first, floormod(BID[0], group))
    column = floordiv(floormod(BID[0], scale(4, columns)), group)
    assert view(write).index == (unsigned(32, row), unsigned(32, column))
    assert [view(read).index for read in reads] == [
        (unsigned(32, row), iteration(reads[0])),
        (iteration(reads[0]), unsigned(32, column)),
    ]
    divisors = [p.condition for p in summary("grouped_product").promises if p.text == "divisor is not 0"]
    assert set(divisors) == {ne(scale(4, columns), ZERO), ne(group, ZERO)}


def test_gather_reads_contents_as_a_function_of_the_launch() -> None:
    index, read, write = summary("gathered").sites
    place = add(scale(128, BID[0]), L0)
    assert index.guard is lt(place, size("idx"))
    assert offset(index) is scale(4, place)
    contents = apply(Function("idx", Scope.LAUNCH, -(2**31), 2**31 - 1, array="idx"), place)
    found = ite(lt(place, size("idx")), contents, ZERO)
    assert offset(read) is scale(4, found)
    assert read.guard is and_(le(ZERO, found), lt(found, size("x")))
    assert (write.guard, offset(write)) == (lt(place, size("out")), scale(4, place))


def test_gather_of_rows() -> None:
    _, write = summary("gathered_rows").sites
    assert offset(write) is scale(4, add(mul(BID[0], stride("out", 0)), L0))
    assert write.guard is and_(lt(BID[0], size("out")), lt(L0, size("out", 1)))


def test_break_in_a_counted_loop() -> None:
    read, write = summary("left_by_break").sites
    k = iteration(write)
    assert view(read).index == (k,)
    assert view(write).index == (scale(2, k),)
    (flag,) = [part for part in postorder(read.guard) if part.kind is TermKind.APPLY]
    assert flag.function.scope is Scope.LAUNCH  # it compares with a number of the launch
    assert flag.args == (k,)
    (condition,) = waits(write).values()
    assert lt(earlier(k), k) in condition.args


def test_while_counts_without_wrapping() -> None:
    read, write = summary("counted_while").sites
    k = iteration(write)
    assert view(read).index == view(write).index == (k,)
    assert lt(k, scalar("n")) in (write.guard, *write.guard.args)
    assert waits(write) == {1: lt(earlier(k), k)}


def test_early_return_is_a_path_condition() -> None:
    for site in summary("early_return").sites:
        assert site.guard is lt(BID[0], scalar("n"))


def test_in_place_loop_is_ordered_completely() -> None:
    sites = summary("in_place").sites
    assert [site.access.value for site in sites] == ["read", "write", "read", "write"]
    k = iteration(sites[0])
    before, now = lt(earlier(k), k), le(earlier(k), k)
    for site in sites:
        expected = {number: now if number < site.number else before for number in range(4)}
        assert waits(site) == expected
    assert not summary("in_place").stable_arrays


def test_nested_loops_are_ordered_lexicographically_and_behind_them_completely() -> None:
    _, inner, after, last = summary("nested").sites
    outer, k = iteration(inner), iteration(inner, 1)
    assert waits(inner) == {1: or_(lt(earlier(outer), outer), and_(eq(earlier(outer), outer), lt(earlier(k), k)))}
    assert waits(after) == {1: TRUE}
    assert waits(last) == {1: TRUE, 2: TRUE}


def test_arrays_of_a_list() -> None:
    rows, read, write = summary("from_list").sites
    k = iteration(write)
    assert rows.origin.kind is OriginKind.LIST
    assert view(rows).index[0] is k
    assert view(rows).index_space[0] is var("xs.length", Scope.LAUNCH, 0, 2**31 - 1)
    assert read.origin.kind is OriginKind.LIST_ELEMENT
    assert read.origin.index is k
    word = Function("xs[].shape[0]", Scope.LAUNCH, 0, 2**63 - 1)
    assert read.origin.shape[0] is apply(word, k)
    assert view(read).shape[0] is unsigned(32, wrap(32, apply(word, k)))


def test_an_atomic_gives_a_value_of_its_own() -> None:
    counter, write = summary("work_queue").sites
    assert (counter.access, counter.mode, counter.scope) == (Access.ATOMIC, "add", "device")
    assert counter.argument is ONE
    assert counter.value is not None
    assert counter.value.function.scope is Scope.BLOCK
    assert view(write).index == (unsigned(32, counter.value),)
    assert waits(write) == {0: TRUE}


def test_python_division_of_signed_numbers() -> None:
    read, write = summary("python_division").sites
    n = scalar("n")
    assert view(read).index == (floormod(wrap(32, sub(BID[0], n)), const(7)),)
    assert view(write).index == (unsigned(32, floordiv(BID[0], n)),)
    assert [(p.code, p.condition) for p in summary("python_division").promises if p.code == "TV402"] == [
        ("TV402", ne(n, ZERO))
    ]


def test_a_short_search_loop_is_run_out() -> None:
    *_, write = summary("found_group").sites
    unknown = [part for part in postorder(view(write).index[0]) if part.kind is TermKind.APPLY]
    assert {part.function.name for part in unknown if part.function.scope is Scope.LAUNCH} == {"sizes"}
    assert not [part for part in unknown if part.function.name.startswith("loop")]


def test_an_unknown_sum_of_multiples_stays_one() -> None:
    *_, write = summary("multiples").sites
    assert [p for p in summary("multiples").promises if "divisible by 64" in p.text] == []
    assert view(write).index[0].kind is not TermKind.CONST


def test_written_arrays_have_no_contents_that_blocks_share() -> None:
    module, entry, unit = decoded("patterns.py", "gathered")
    overlapping = summarize(module, entry, unit.parameters, may_overlap=[frozenset({"idx", "out"})])
    assert overlapping.stable_arrays == {"x"}
    (index,) = [part for part in postorder(offset(overlapping.sites[1])) if part.kind is TermKind.APPLY]
    assert index.function.scope is Scope.BLOCK
    assert index.function.array is None


def test_without_a_description_parameters_are_numbered() -> None:
    module, entry, _ = decoded("patterns.py", "early_return")
    plain = summarize(module, entry)
    assert {origin.name for origin in plain.origins.values()} == {"arg0", "arg3"}
    assert [site.guard for site in plain.sites] == [lt(BID[0], scalar("arg6"))] * 2


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (["/home/me/k.py"], "/home/me/k.py"),
        (["/opt/cuda/include/cuda_tile.h", "/home/me/k.cu", "/home/me/main.cu"], "/home/me/main.cu"),
        (
            ["/usr/local/cuda-13.4/targets/x86_64-linux/include/x.h"],
            "/usr/local/cuda-13.4/targets/x86_64-linux/include/x.h",
        ),
        (["/home/me/helpers.py", "/home/me/k.py", "/v/site-packages/cuda/tile/_ir/ops.py"], "/home/me/k.py"),
    ],
)
def test_the_outermost_frame_of_the_user(frames: list[str], expected: str) -> None:
    location = None
    for file in reversed(frames):
        location = Location(file, 1, 0, caller=location)
    found = user_frame(location)
    assert found is not None
    assert found.file == expected


def test_nothing_is_false_of_every_launch() -> None:
    for kernel in ("copy", "persistent", "nested", "left_by_break"):
        assert all(site.guard is not FALSE for site in summary(kernel).sites)
