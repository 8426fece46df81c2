"""Compiled kernels against hand-written expectations: which element, under which condition, after which accesses."""

from __future__ import annotations

import pytest

from tileverify.contract import terms as t
from tileverify.contract.terms import Function, Scope, Term, TermKind
from tileverify.contract.variables import BID, GRID
from tileverify.frontend.bytecode.location import Location, user_frame
from tileverify.frontend.symbolic.execute import summarize
from tileverify.frontend.symbolic.summary import Access, OriginKind, PointerFootprint, Site, ViewFootprint, earlier

from .compiled import decoded, summary

L0, L1 = t.var("l0", Scope.LANE, 0, 127), t.var("l1", Scope.LANE, 0, 15)


def size(name: str, dim: int = 0) -> Term:
    return t.var(f"{name}.shape[{dim}]", Scope.LAUNCH, 0, 2**31 - 1)


def stride(name: str, dim: int) -> Term:
    return t.var(f"{name}.strides[{dim}]", Scope.LAUNCH, 0, 2**31 - 1)


def scalar(name: str) -> Term:
    return t.var(name, Scope.LAUNCH, -(2**31), 2**31 - 1)


def lane(dim: int, extent: int) -> Term:
    return t.var(f"l{dim}", Scope.LANE, 0, extent - 1)


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
        assert site.guard is t.TRUE
        assert view(site).index == (BID[0],)
        assert view(site).index_space == (t.ceildiv(size(name), t.const(128)),)
        assert view(site).coordinates == (t.add(t.scale(128, BID[0]), L0),)
        assert view(site).shape == (size(name),)
        assert view(site).strides == (t.ONE,)
        assert view(site).base is t.ZERO
        assert [lane.size for lane in site.lanes] == [128]
        assert not site.waits
    assert not [promise for promise in summary("copy").promises if promise.code == "TV402"]
    assert summary("copy").stable_arrays == {"x"}
    assert user_frame(read.location).line == user_frame(write.location).line == 11  # type: ignore[union-attr]


def test_transposed() -> None:
    read, write = summary("transposed").sites
    assert view(read).index == (BID[0], BID[1])
    assert view(write).index == (BID[1], BID[0])
    assert view(write).coordinates == (t.add(t.scale(16, BID[1]), lane(0, 16)), t.add(t.scale(16, BID[0]), lane(1, 16)))
    assert view(write).strides == (stride("out", 0), t.ONE)


def test_persistent_loop_keeps_its_indices_without_wraps() -> None:
    read, write = summary("persistent").sites
    tile = t.add(BID[0], t.mul(GRID[0], iteration(write)))
    assert view(write).index == view(read).index == (tile,)
    assert write.guard is t.lt(tile, t.ceildiv(size("x"), t.const(128)))
    assert write.loops[0].value is tile


def test_grouped_product_is_division_and_remainder() -> None:
    *reads, write = summary("grouped_product").sites
    rows, columns = t.ceildiv(size("a"), t.const(16)), t.ceildiv(size("b", 1), t.const(32))
    first = t.scale(4, t.floordiv(BID[0], t.scale(4, columns)))
    group = t.minimum(t.sub(rows, first), t.const(4))
    row = t.add(first, t.floormod(BID[0], group))
    column = t.floordiv(t.floormod(BID[0], t.scale(4, columns)), group)
    assert view(write).index == (t.unsigned(32, row), t.unsigned(32, column))
    assert [view(read).index for read in reads] == [
        (t.unsigned(32, row), iteration(reads[0])),
        (iteration(reads[0]), t.unsigned(32, column)),
    ]
    divisors = [p.condition for p in summary("grouped_product").promises if p.text == "divisor is not 0"]
    assert set(divisors) == {t.ne(t.scale(4, columns), t.ZERO), t.ne(group, t.ZERO)}


def test_gather_reads_contents_as_a_function_of_the_launch() -> None:
    index, read, write = summary("gathered").sites
    place = t.add(t.scale(128, BID[0]), L0)
    assert index.guard is t.lt(place, size("idx"))
    assert offset(index) is t.scale(4, place)
    contents = t.apply(Function("idx", Scope.LAUNCH, -(2**31), 2**31 - 1, array="idx"), place)
    found = t.ite(t.lt(place, size("idx")), contents, t.ZERO)
    assert offset(read) is t.scale(4, found)
    assert read.guard is t.and_(t.le(t.ZERO, found), t.lt(found, size("x")))
    assert (write.guard, offset(write)) == (t.lt(place, size("out")), t.scale(4, place))


def test_gather_of_rows() -> None:
    _, write = summary("gathered_rows").sites
    assert offset(write) is t.scale(4, t.add(t.mul(BID[0], stride("out", 0)), L0))
    assert write.guard is t.and_(t.lt(BID[0], size("out")), t.lt(L0, size("out", 1)))


def test_break_in_a_counted_loop() -> None:
    read, write = summary("left_by_break").sites
    k = iteration(write)
    assert view(read).index == (k,)
    assert view(write).index == (t.scale(2, k),)
    (flag,) = [part for part in t.postorder(read.guard) if part.kind is TermKind.APPLY]
    assert flag.function.scope is Scope.LAUNCH  # it compares with a number of the launch
    assert flag.args == (k,)
    (condition,) = waits(write).values()
    assert t.lt(earlier(k), k) in condition.args


def test_while_counts_without_wrapping() -> None:
    read, write = summary("counted_while").sites
    k = iteration(write)
    assert view(read).index == view(write).index == (k,)
    assert t.lt(k, scalar("n")) in (write.guard, *write.guard.args)
    assert waits(write) == {1: t.lt(earlier(k), k)}


def test_early_return_is_a_path_condition() -> None:
    for site in summary("early_return").sites:
        assert site.guard is t.lt(BID[0], scalar("n"))


def test_in_place_loop_is_ordered_completely() -> None:
    sites = summary("in_place").sites
    assert [site.access.value for site in sites] == ["read", "write", "read", "write"]
    k = iteration(sites[0])
    before, now = t.lt(earlier(k), k), t.le(earlier(k), k)
    for site in sites:
        expected = {number: now if number < site.number else before for number in range(4)}
        assert waits(site) == expected
    assert not summary("in_place").stable_arrays


def test_nested_loops_are_ordered_lexicographically_and_behind_them_completely() -> None:
    _, inner, after, last = summary("nested").sites
    outer, k = iteration(inner), iteration(inner, 1)
    assert waits(inner) == {
        1: t.or_(t.lt(earlier(outer), outer), t.and_(t.eq(earlier(outer), outer), t.lt(earlier(k), k)))
    }
    assert waits(after) == {1: t.TRUE}
    assert waits(last) == {1: t.TRUE, 2: t.TRUE}


def test_arrays_of_a_list() -> None:
    rows, read, write = summary("from_list").sites
    k = iteration(write)
    assert rows.origin.kind is OriginKind.LIST
    assert view(rows).index[0] is k
    assert view(rows).index_space[0] is t.var("xs.length", Scope.LAUNCH, 0, 2**31 - 1)
    assert read.origin.kind is OriginKind.LIST_ELEMENT
    assert read.origin.index is k
    word = Function("xs[].shape[0]", Scope.LAUNCH, 0, 2**63 - 1)
    assert read.origin.shape[0] is t.apply(word, k)
    assert view(read).shape[0] is t.unsigned(32, t.wrap(32, t.apply(word, k)))


def test_an_atomic_gives_a_value_of_its_own() -> None:
    counter, write = summary("work_queue").sites
    assert (counter.access, counter.mode, counter.scope) == (Access.ATOMIC, "add", "device")
    assert counter.argument is t.ONE
    assert counter.value is not None
    assert counter.value.function.scope is Scope.BLOCK
    assert view(write).index == (t.unsigned(32, counter.value),)
    assert waits(write) == {0: t.TRUE}


def test_python_division_of_signed_numbers() -> None:
    read, write = summary("python_division").sites
    n = scalar("n")
    assert view(read).index == (t.floormod(t.wrap(32, t.sub(BID[0], n)), t.const(7)),)
    assert view(write).index == (t.unsigned(32, t.floordiv(BID[0], n)),)
    assert [(p.code, p.condition) for p in summary("python_division").promises if p.code == "TV402"] == [
        ("TV402", t.ne(n, t.ZERO))
    ]


def test_a_short_search_loop_is_run_out() -> None:
    *_, write = summary("found_group").sites
    unknown = [part for part in t.postorder(view(write).index[0]) if part.kind is TermKind.APPLY]
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
    (index,) = [part for part in t.postorder(offset(overlapping.sites[1])) if part.kind is TermKind.APPLY]
    assert index.function.scope is Scope.BLOCK
    assert index.function.array is None


def test_without_a_description_parameters_are_numbered() -> None:
    module, entry, _ = decoded("patterns.py", "early_return")
    plain = summarize(module, entry)
    assert {origin.name for origin in plain.origins.values()} == {"arg0", "arg3"}
    assert [site.guard for site in plain.sites] == [t.lt(BID[0], scalar("arg6"))] * 2


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
        assert all(site.guard is not t.FALSE for site in summary(kernel).sites)
