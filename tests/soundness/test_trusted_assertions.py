"""Attempts at a wrong `proved` by an assertion at which blocks are trusted to stop (``trust = ["assert-stops"]``).

Each kernel reads ``table[id]``, ``id`` from memory: proved where an assertion on that value stands in front of the
access on every way to it, and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import jsonschema
import numpy as np
import pytest
from tests.command_line import CommandLine

from tileverify.contract.arguments import parse_description
from tileverify.contract.launch import KernelUnit
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import launches_of_text
from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import I1, I32, BodyBuilder, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Value
from tileverify.frontend.sources.bytecode_file import bytecode_entries, entry_unit
from tileverify.launching.bundle.build import Belief, build_bundle, bundle_text
from tileverify.launching.bundle.manifest import BundleRefused, bundle_bytes
from tileverify.launching.bundled import load
from tileverify.launching.calls import values_by_contract
from tileverify.launching.proofs import proof_of
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import entry_of, solver_version
from tileverify.results import KernelResult, Verdict
from tileverify.results.json_report import schema_text
from tileverify.system.errors import SpecError
from tileverify.verifier.certificate.model import CertificateError, certificate_text
from tileverify.verifier.certificate.recheck import Rechecking, recheck
from tileverify.verifier.certificate.report import CertificateRow, recheck_text
from tileverify.verifier.certificate.second_solver import SecondSolver

NUMBER: Final = tile(I32)
WORDS: Final = tile(pointer(I32))
SPEC: Final = """
[[launch]]
kernel = "k"
grid = [16]
requires = ["n >= 1"]
{more}
[launch.args]
ids = "i32[16]"
table = "i32[n]"
out = "i32[16]"
n = "i32"
"""
TRUST: Final = 'trust = ["assert-stops"]'


class Reads:
    """The kernel's words; ``ids``, ``table`` and ``out`` are pointers, ``n`` is the size of the table."""

    def __init__(self, f: BodyBuilder) -> None:
        self.f = f
        self.ids, self.table, self.out, self.n = f.parameters
        self.block: Value = f.op("get_tile_block_id")[0]

    def at(self, base: Value, place: Value) -> Value:
        made: Value = self.f.op("offset", ptr=base, off=place)
        return made

    def load(self, base: Value, place: Value) -> Value:
        made: Value = self.f.op("load_ptr_tko", ptr=self.at(base, place))[0]
        return made

    def id(self, place: Value | None = None) -> Value:
        return self.load(self.ids, self.block if place is None else place)

    def number(self, value: int) -> Value:
        return self.f.constant(NUMBER, value)

    def compare(self, lhs: Value, pred: str, rhs: Value) -> Value:
        made: Value = self.f.op("cmpi", lhs=lhs, rhs=rhs, pred=pred, sgn="signed")
        return made

    def inside(self, value: Value) -> Value:
        low, high = (
            self.compare(value, "greater_than_or_equal", self.number(0)),
            self.compare(value, "less_than", self.n),
        )
        made: Value = self.f.op("andi", lhs=low, rhs=high)
        return made

    def check(self, condition: Value) -> None:
        self.f.op("assert", c=condition, msg="id is no row")

    def checked(self, value: Value) -> None:
        self.check(self.inside(value))

    def read(self, place: Value) -> None:
        """The access at stake; what it gives goes to an element of the block's own."""
        self.keep(self.load(self.table, place))

    def keep(self, value: Value) -> None:
        self.f.op("store_ptr_tko", ptr=self.at(self.out, self.block), val=value)


Fill = Callable[[Reads], None]


def bytecode(fill: Fill) -> bytes:
    builder = ModuleBuilder()
    with builder.entry("k", [WORDS, WORDS, WORDS, NUMBER]) as f:
        fill(Reads(f))
        f.op("return")
    return encode(builder.build())


def unit_of(data: bytes, more: str = TRUST) -> KernelUnit:
    (raw,) = launches_of_text(SPEC.replace("{more}", more), Path("spec"))
    (entry,) = bytecode_entries(data, Path("k.tileirbc"))
    return entry_unit(entry, build_launch(raw, "0", None))


def judged(fill: Fill, more: str = TRUST, options: CheckOptions | None = None) -> KernelResult:
    return check_unit(unit_of(bytecode(fill), more), options or CheckOptions())


# ------------------------------------------------------------------------------------------- what is meant
def in_front(k: Reads) -> None:
    value = k.id()
    k.checked(value)
    k.read(value)


def in_front_in_its_branch(k: Reads) -> None:
    value = k.id()
    with k.f.if_(k.compare(k.block, "less_than", k.number(8))) as branch, branch.then():
        k.checked(value)
        k.read(value)
        k.f.op("yield", args=())


def on_both_sides(k: Reads) -> None:
    value = k.id()
    with k.f.if_(k.compare(k.block, "less_than", k.number(8))) as branch:
        with branch.then():
            k.checked(value)
            k.f.op("yield", args=())
        with branch.otherwise():
            k.checked(value)
            k.f.op("yield", args=())
    k.read(value)


def in_front_of_a_loop(k: Reads) -> None:
    value = k.id()
    k.checked(value)
    with k.f.for_(k.number(0), k.number(3), k.number(1)):
        k.load(k.table, value)
        k.f.op("continue", args=())
    k.read(value)


@pytest.mark.parametrize("fill", [in_front, in_front_in_its_branch, on_both_sides, in_front_of_a_loop])
def test_an_assertion_in_front_of_an_access_is_a_fact_where_that_is_trusted(fill: Fill) -> None:
    trusted, plain = judged(fill), judged(fill, "")
    assert trusted.verdict is Verdict.PROVED
    assert plain.verdict is not Verdict.PROVED
    assert trusted.trusted == ("assert-stops",)
    assert any("assert-stops" in line for line in trusted.stated)
    assert "the assertion 'id is no row' is not shown to hold" in " ".join(trusted.notes)
    assert not plain.trusted
    assert "assert" not in " ".join((*plain.stated, *plain.notes))


# ---------------------------------------------------------------------------------- what gives no fact
def behind(k: Reads) -> None:
    value = k.id()
    k.read(value)
    k.checked(value)


def in_one_branch(k: Reads) -> None:
    value = k.id()
    with k.f.if_(k.compare(k.block, "less_than", k.number(8))) as branch, branch.then():
        k.checked(value)
        k.f.op("yield", args=())
    k.read(value)


def in_the_other_branch(k: Reads) -> None:
    value = k.id()
    with k.f.if_(k.compare(k.block, "less_than", k.number(8))) as branch:
        with branch.then():
            k.checked(value)
            k.f.op("yield", args=())
        with branch.otherwise():
            k.read(value)
            k.f.op("yield", args=())


def chosen_with_an_unchecked_one(k: Reads) -> None:
    first, second = k.id(), k.id(k.number(0))
    with k.f.if_(k.compare(k.block, "less_than", k.number(8)), [NUMBER]) as branch:
        with branch.then():
            k.checked(first)
            k.f.op("yield", args=(first,))
        with branch.otherwise():
            k.f.op("yield", args=(second,))
    k.read(branch.results[0])


def in_a_loop_that_may_not_run(k: Reads) -> None:
    value = k.id()
    with k.f.for_(k.number(0), k.block, k.number(1)):
        k.checked(value)
        k.f.op("continue", args=())
    k.read(value)


def behind_in_a_loop(k: Reads) -> None:
    """The first iteration reads in front of the first assertion."""
    value = k.id()
    with k.f.for_(k.number(0), k.number(4), k.number(1)):
        k.load(k.table, value)
        k.checked(value)
        k.f.op("continue", args=())


def of_an_earlier_iteration(k: Reads) -> None:
    """What is carried on was checked before it grew."""
    with k.f.for_(k.number(0), k.number(4), k.number(1), [k.id()]) as loop:
        carried = loop.arguments[1]
        k.checked(carried)
        k.f.op("continue", args=(k.f.op("addi", lhs=carried, rhs=k.number(1)),))
    k.read(loop.results[0])


def of_the_last_round_of_a_loop(k: Reads) -> None:
    """A loop that ends by a break in front of its assertion."""
    with k.f.loop([k.id(), k.number(0)]) as loop:
        value, count = loop.arguments
        with k.f.if_(k.compare(count, "greater_than_or_equal", k.number(2))) as branch, branch.then():
            k.f.op("break", args=(value, count))
        k.checked(value)
        more = k.f.op("addi", lhs=count, rhs=k.number(1))
        k.f.op("continue", args=(k.id(more), more))
    k.read(loop.results[0])


def of_another_value(k: Reads) -> None:
    k.checked(k.id(k.number(0)))
    k.read(k.id())


def of_another_reading(k: Reads) -> None:
    """Other blocks write between the two loads what both read."""
    at = k.at(k.out, k.number(0))
    first = k.f.op("load_ptr_tko", ptr=at, ord="relaxed", scope="device")[0]
    k.checked(first)
    second = k.f.op("load_ptr_tko", ptr=at, ord="relaxed", scope="device")[0]
    k.load(k.table, second)
    k.f.op("atomic_rmw_tko", ptr=at, arg=k.number(1), ord="relaxed", scope="device", mode="add")


def of_one_side_alone(k: Reads) -> None:
    """A negative id is below n as well."""
    value = k.id()
    k.check(k.compare(value, "less_than", k.n))
    k.read(value)


def of_a_sum_that_wraps(k: Reads) -> None:
    """2**31 - 1 and 1 more is the least number of all."""
    value = k.id()
    k.check(k.compare(value, "greater_than_or_equal", k.number(0)))
    k.check(k.compare(k.f.op("addi", lhs=value, rhs=k.number(1)), "less_than_or_equal", k.n))
    k.read(value)


def of_the_opposite(k: Reads) -> None:
    value = k.id()
    k.check(k.f.op("xori", lhs=k.inside(value), rhs=k.f.constant(tile(I1), 1)))
    k.read(value)


def of_a_tile(k: Reads) -> None:
    """All 16 lanes are conditions on ids of their own; there is no term for all of them."""
    lanes = k.f.op("iota", results=[tile(I32, 16)])
    base = k.f.op(
        "broadcast", s=k.f.op("reshape", s=k.ids, results=[tile(pointer(I32), 1)]), results=[tile(pointer(I32), 16)]
    )
    values = k.f.op("load_ptr_tko", ptr=k.f.op("offset", ptr=base, off=lanes))[0]
    limit = k.f.op("broadcast", s=k.f.op("reshape", s=k.n, results=[tile(I32, 1)]), results=[tile(I32, 16)])
    k.check(k.compare(values, "less_than", limit))
    k.check(k.compare(values, "greater_than_or_equal", k.f.constant(tile(I32, 16), 0)))
    k.read(k.id())


def of_one_lane(k: Reads) -> None:
    """A tile of one condition, which is no scalar."""
    value = k.id()
    k.check(k.f.op("reshape", s=k.inside(value), results=[tile(I1, 1)]))
    k.read(value)


def in_the_next_block(k: Reads) -> None:
    """Block 0 checks what block 1 reads; one that stops stops itself alone."""
    with k.f.if_(k.compare(k.block, "equal", k.number(0))) as branch, branch.then():
        k.checked(k.id(k.number(1)))
        k.f.op("yield", args=())
    k.read(k.id(k.number(1)))


def ordered_by_a_token_alone(k: Reads) -> None:
    """The access waits for a load behind the assertion by a token; in the program it stands in front."""
    value = k.id()
    token = k.f.op("make_token")
    made = k.f.op("load_ptr_tko", ptr=k.at(k.table, value), token=token)[0]
    k.checked(value)
    k.keep(made)


NO_FACT = [
    behind, in_one_branch, in_the_other_branch, chosen_with_an_unchecked_one, in_a_loop_that_may_not_run,
    behind_in_a_loop, of_an_earlier_iteration, of_the_last_round_of_a_loop, of_another_value, of_another_reading,
    of_one_side_alone, of_a_sum_that_wraps, of_the_opposite, of_a_tile, of_one_lane, in_the_next_block,
    ordered_by_a_token_alone,
]  # fmt: skip


@pytest.mark.parametrize("fill", NO_FACT, ids=lambda fill: fill.__name__)
def test_an_assertion_that_is_not_in_front_of_it_on_every_way_gives_an_access_nothing(fill: Fill) -> None:
    assert judged(fill).verdict is not Verdict.PROVED


def race_in_front(k: Reads) -> None:
    k.f.op("store_ptr_tko", ptr=k.out, val=k.block)
    k.check(k.f.constant(tile(I1), 0))


def test_an_assertion_that_always_fails_hides_nothing_in_front_of_it() -> None:
    result = judged(race_in_front)
    assert (result.verdict, result.findings[0].code) == (Verdict.REFUTED, "TV101")


# ------------------------------------------------------------------------- blocks stop in the interpreter, too
def test_nothing_is_refuted_by_a_block_that_runs_on() -> None:
    """Every launch of this contract has a block whose assertion fails, and behind that a fault."""

    def fill(k: Reads) -> None:
        k.check(k.compare(k.block, "less_than", k.number(8)))
        k.keep(k.load(k.ids, k.f.op("muli", lhs=k.block, rhs=k.number(2))))

    assert judged(fill, "").verdict is Verdict.REFUTED
    assert judged(fill).verdict is Verdict.PROVED


def test_an_entry_stops_only_under_the_launch_that_trusts_it() -> None:
    data = bytecode(in_front)
    module = decode(data)
    plain, trusting = (entry_of(module, unit_of(data, more)) for more in ("", TRUST))
    assert (plain.asserts_stop, trusting.asserts_stop, module.entries[0].asserts_stop) == (False, True, False)


def test_neither_one_result_nor_whole_arrays_are_claimed_of_blocks_that_may_stop() -> None:
    """The first iteration ends at its assertion, so that the second, which writes the other half, never comes."""

    def fill(k: Reads) -> None:
        with k.f.for_(k.number(0), k.number(2), k.number(1)) as loop:
            step = loop.arguments[0]
            place = k.f.op("addi", lhs=k.block, rhs=k.f.op("muli", lhs=step, rhs=k.number(16)))
            k.f.op("store_ptr_tko", ptr=k.at(k.out, place), val=step)
            k.check(k.compare(step, "not_equal", k.number(0)))
            k.f.op("continue", args=())

    def written(more: str) -> KernelResult:
        unit = unit_of(bytecode(fill), more)
        arguments = (*unit.launch.arguments[:2], parse_description("out", "i32[32]"), unit.launch.arguments[3])
        return check_unit(replace(unit, launch=replace(unit.launch, arguments=arguments)), CheckOptions(complete=True))

    plain, trusting = written(""), written(TRUST)
    assert plain.written is not None
    assert trusting.written is not None
    assert (plain.deterministic, plain.written.whole) == (True, ("out",))
    assert (trusting.deterministic, trusting.written.whole) == (None, ())


# ------------------------------------------------------------------------------------------------- identity
def test_kept_verdicts_are_those_of_the_same_trust(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    options = CheckOptions(cache=tmp_path)
    for _ in range(2):
        assert judged(in_front, options=options).verdict is Verdict.PROVED
        assert judged(in_front, "", options).verdict is Verdict.UNDECIDED
        assert judged(in_front, "", replace(options, trust=("assert-stops",))).verdict is Verdict.PROVED
    again = judged(in_front, options=options)
    assert again.cached
    assert again.trusted == ("assert-stops",)
    assert again.proved_launch is not None
    assert again.proved_launch.trust == ("assert-stops",)


def certified() -> tuple[str, bytes]:
    result = judged(in_front, options=CheckOptions(certificate=True))
    assert result.certificate is not None
    return result.certificate.text, result.certificate.bytecode


def test_a_certificate_without_its_trust_is_rejected() -> None:
    text, code = certified()
    document = json.loads(text)
    document["launch"]["trust"] = document["launch"].pop("trust")
    assert document["launch"]["trust"] == ["assert-stops"]
    found = recheck(text, "c", bytecode=code, solver=SecondSolver())
    assert found.answer is Rechecking.CONFIRMED
    told = recheck_text([CertificateRow("c", found)], "0", "cvc5")
    assert "trusts    that a block stops at an assertion that fails (assert-stops)" in told
    assert "the second solver, that a block stops at an assertion that fails (assert-stops)\n" in told
    del document["launch"]["trust"]
    with pytest.raises(CertificateError):
        recheck(json.dumps(document), "c", bytecode=code, solver=SecondSolver())
    document["launch"]["trust"] = ["everything"]
    with pytest.raises(CertificateError):
        recheck(json.dumps(document), "c", bytecode=code, solver=SecondSolver())


def test_a_bundle_says_what_its_proof_trusts_and_is_worth_nothing_without(tmp_path: Path) -> None:
    unit = unit_of(bytecode(in_front))
    bundle = build_bundle(unit, check_unit(unit, CheckOptions(certificate=True)), solver_version(), None, ())
    file = tmp_path / "k.tvk"
    file.write_bytes(bundle_bytes(bundle))
    assert "trusts     that a block stops" in bundle_text(bundle, "k.tvk", Belief())
    with pytest.warns(UserWarning, match="assert-stops"):
        kernel = load(file)
    assert kernel.trusted == ("that a block stops at an assertion that fails (assert-stops)",)
    certificate = replace(bundle.certificate, launch=replace(bundle.certificate.launch, trust=()))
    file.write_bytes(
        bundle_bytes(replace(bundle, certificate=certificate, certificate_text=certificate_text(certificate)))
    )
    with pytest.raises(BundleRefused, match="not proved"):
        load(file)


def test_a_bundled_kernel_stops_where_its_proof_says_so(tmp_path: Path) -> None:
    """Blocks whose id is no row leave their element of the output as it was; nothing is read outside the table."""
    unit = unit_of(bytecode(in_front))
    bundle = build_bundle(unit, check_unit(unit, CheckOptions(certificate=True)), solver_version(), None, ())
    (tmp_path / "k.tvk").write_bytes(bundle_bytes(bundle))
    with pytest.warns(UserWarning, match="assert-stops"):
        kernel = load(tmp_path / "k.tvk")
    ids = np.arange(16, dtype=np.int32) - 4
    table, out = np.arange(100, 108, dtype=np.int32), np.full(16, -1, np.int32)
    kernel.launch(None, (16,), (ids, table, out, 8))
    inside = (ids >= 0) & (ids < 8)
    np.testing.assert_array_equal(out, np.where(inside, 100 + ids, -1))


def test_a_proof_under_trust_covers_no_launch_without() -> None:
    trusting, plain = unit_of(bytecode(in_front)), unit_of(bytecode(in_front), "")
    proof = proof_of(trusting, check_unit(trusting))
    assert proof.covers(FakeRequest(trusting))  # type: ignore[arg-type]
    assert not proof.covers(FakeRequest(plain))  # type: ignore[arg-type]


class FakeRequest:
    """A launch that keeps every guard."""

    vouched = True
    contents = None
    grid = (16, 1, 1)

    def __init__(self, unit: KernelUnit) -> None:
        self._unit = unit
        self.named: dict[str, object] = {}
        self.values = values_by_contract(unit.launch.arguments, ARRAYS, "k")

    def unit(self) -> KernelUnit:
        return self._unit


ARRAYS: Final = (np.zeros(16, np.int32), np.zeros(8, np.int32), np.zeros(16, np.int32), 8)


@pytest.mark.parametrize("words", [["assert-stop"], "assert-stops", [1]])
def test_what_nobody_knows_is_not_trusted(words: object) -> None:
    with pytest.raises(SpecError, match="trust"):
        unit_of(bytecode(in_front), f"trust = {json.dumps(words)}")


# -------------------------------------------------------------------------------------------- where it is told
def test_reports_tell_what_is_trusted(tmp_path: Path, tileverify: CommandLine) -> None:
    file = tmp_path / "k.tileirbc"
    file.write_bytes(bytecode(in_front))
    spec = file.with_name("k.tileverify.toml")
    spec.write_text(SPEC.replace("{more}", ""))
    words = "that a block stops at an assertion that fails (assert-stops)"
    assert tileverify("check", "--no-cache", str(file)).code == 3
    ran = tileverify("check", "--no-cache", "--trust", "assert-stops", str(file))
    assert ran.code == 0
    assert f"reading of the Tile IR specification, {words}" in ran.out
    spec.write_text(SPEC.replace("{more}", TRUST))
    document = json.loads(tileverify("check", "--no-cache", "--format", "json", str(file)).out)
    assert document["results"][0]["trusted"] == ["assert-stops"]
    assert words in document["tool"]["trusted"]
    jsonschema.validate(document, json.loads(schema_text()))
    page = tmp_path / "page.html"
    assert tileverify("check", "--no-cache", "--format", "html", "--output", str(page), str(file)).code == 0
    assert words in page.read_text()
    assert "if: " in tileverify("footprint", f"{file}::k").out
    assert tileverify("check", "--trust", "everything", str(file)).code == 2
