"""Deliberately unsound provers, and how soon the generated kernels expose them.

    python -m campaigns.sabotage [--count 3000] [--seed 1] [NAME...]

Each sabotage is a mistake that somebody could make in the prover.  A campaign that does not notice one is too weak.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.shared import alone
from tests.verifier import test_plain_sums as plain_sums
from tests.verifier import test_written_contracts as written_contracts

from tileverify.contract import terms as t
from tileverify.contract.contract import Contract
from tileverify.contract.facts.fact_terms import kind_instances
from tileverify.contract.facts.kind import FactKind
from tileverify.contract.facts.loaded import Loaded
from tileverify.contract.facts.statements import DataTerm
from tileverify.contract.launch import Role
from tileverify.contract.terms import Scope, Sort, Term, bits
from tileverify.contract.terms.launch_wide import Opaque
from tileverify.contract.variables import BID
from tileverify.frontend.symbolic import execute, invariants, loops, machine, pointers, tiles, tokens, values, written
from tileverify.frontend.symbolic.open_values import OpenValues
from tileverify.frontend.symbolic.summary import Access
from tileverify.frontend.symbolic.tokens import join
from tileverify.pipeline import check_paths, known_files
from tileverify.pipeline import verdict_cache as cache
from tileverify.results import Verdict
from tileverify.verifier import outcome, own_proof, verify
from tileverify.verifier.abduction import generalised_proof
from tileverify.verifier.abduction.narrow_proof import Narrowing
from tileverify.verifier.attempt import Open
from tileverify.verifier.obligations import fact_use, footprint_overlap, obligations, prepare
from tileverify.verifier.obligations.answers import Answer
from tileverify.verifier.obligations.limits import ContractParts
from tileverify.verifier.obligations.protocols import instances as arrays
from tileverify.verifier.prover import Prover
from tileverify.verifier.smt import Solver

from .generated.campaign import Record, records

Patch = pytest.MonkeyPatch
ROOT = Path(__file__).resolve().parents[1]


FIVE = (
    "unbounded_integers", "tokens_order_everything", "last_lane_skipped", "clauses_forgotten", "path_condition_lost",
)  # fmt: skip
"""The flaws that no release may hide: i32 read as unbounded, tokens ignored, a lane skipped, a clause dropped from the
contract, a path condition lost."""


@dataclass(frozen=True, slots=True)
class Sabotage:
    """``flaw``: the mistake in words; ``commit`` makes it.

    ``expose``: what shows it, where generated kernels cannot; the evidence in words, or nothing.
    """

    name: str
    flaw: str
    commit: Callable[[Patch], None]
    expose: Callable[[], str | None] | None = None


SABOTAGES: list[Sabotage] = []


def sabotage(
    commit: Callable[[Patch], None], expose: Callable[[], str | None] | None = None
) -> Callable[[Patch], None]:
    SABOTAGES.append(Sabotage(commit.__name__, (commit.__doc__ or "").strip(), commit, expose))
    return commit


def everywhere(patch: Patch, function: Callable[..., Any], other: Callable[..., Any]) -> None:
    """Put ``other`` wherever the package refers to ``function``, tables of rules included."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tileverify"):
            for key, value in list(vars(module).items()):
                if value is function:
                    patch.setattr(module, key, other)
                elif isinstance(value, dict) and function in value.values():
                    for entry in [entry for entry, rule in value.items() if rule is function]:
                        patch.setitem(value, entry, other)


# ---------------------------------------------------------------------------------------------- arithmetic
@sabotage
def unbounded_integers(patch: Patch) -> None:
    """SymbolicExecutor integers are taken for unbounded ones: every wrap is dropped."""
    patch.setattr(prepare.Preparer, "_fit", lambda self, wrapped, guard: True)


@sabotage
def unsigned_as_signed(patch: Patch) -> None:
    """Unsigned readings are taken for signed ones."""
    patch.setattr(machine.SymbolicExecutor, "unsigned", lambda self, bits, term: term)


@sabotage
def or_is_a_sum(patch: Patch) -> None:
    """`|` and `^` are read as `+`, which they are only where no bit is in both operands."""
    everywhere(patch, bits.bit_or, t.add)
    everywhere(patch, bits.bit_xor, t.add)


@sabotage
def values_never_come_back(patch: Patch) -> None:
    """A carried value that alternates is taken for one that stays."""
    find = invariants.find_cycle

    def find_cycle(*given: Any) -> Any:
        found = find(*given)
        return found and replace(found, repeating=found.repeating[:1])

    everywhere(patch, find, find_cycle)


@sabotage
def division_rounds_down(patch: Patch) -> None:
    """Truncating division rounds towards minus infinity."""
    everywhere(patch, t.truncdiv, t.floordiv)


@sabotage
def nothing_divides_by_zero(patch: Patch) -> None:
    """Division by zero, INT_MIN / -1 and broken nsw flags (TV402) are not looked for."""
    believed(patch, "TV402")


@sabotage
def promises_believed(patch: Patch) -> None:
    """`assume` is believed instead of proved (TV401)."""
    believed(patch, "TV401")


def believed(patch: Patch, code: str) -> None:
    ask = obligations.promise

    def promise(item: Any) -> obligations.Obligation:
        asked = ask(item)
        return replace(asked, conditions=(t.FALSE,)) if asked.code == code else asked

    everywhere(patch, ask, promise)


# -------------------------------------------------------------------------------------------------- paths
@sabotage
def path_condition_lost(patch: Patch) -> None:
    """A number that fits its type on one path is taken to fit on every path."""
    fits = prepare.Preparer._fit

    def fit(self: Any, wrapped: Term, guard: Term) -> bool:
        anywhere = any(known for (term, _), known in self._fits.items() if term is wrapped)
        return anywhere or fits(self, wrapped, guard)

    patch.setattr(prepare.Preparer, "_fit", fit)


@sabotage
def known_on_every_path(patch: Patch) -> None:
    """What is known on one path, of numbers and of conditions, is believed behind it as well."""
    enter = machine.SymbolicExecutor.branch

    @contextmanager
    def branch(self: Any, condition: Term) -> Iterator[Any]:
        with enter(self, condition) as side:
            yield side
            learned = self.bounds, self.known
        self.bounds, self.known = learned

    patch.setattr(machine.SymbolicExecutor, "branch", branch)


@sabotage
def one_side_taken(patch: Patch) -> None:
    """A number that a branch gives is taken for the one of its first side."""
    choose = values.choose
    patch.setattr(execute, "choose", lambda c, a, b: a if isinstance(a, Term) else choose(c, a, b))


@sabotage
def exits_end_everything(patch: Patch) -> None:
    """Where one side of a branch leaves, nothing behind the branch is taken to run."""
    enter = execute.branch

    def branch(m: machine.SymbolicExecutor, op: Any) -> Any:
        before = m.path
        found = enter(m, op)
        if m.path is not before:
            m.stop()
        return found

    everywhere(patch, enter, branch)


@sabotage
def waits_on_every_path(patch: Patch) -> None:
    """What a token waits for on one path it is taken to wait for on every path."""

    def either_way(condition: Term, then: Any, otherwise: Any) -> Any:
        return join((then, otherwise))

    everywhere(patch, tokens.either_way, either_way)


# ------------------------------------------------------------------------------------------------- order
@sabotage
def tokens_order_everything(patch: Patch) -> None:
    """Every access of a block waits for every other one."""
    patch.setattr(obligations, "awaited", lambda *sites, **copies: t.TRUE)


@sabotage
def program_order_orders(patch: Patch) -> None:
    """Different accesses of one block are ordered by the program's text."""
    ask = obligations.inside_block

    def inside_block(first: Any, second: Any, contract: Contract) -> Iterator[obligations.Obligation]:
        if first is second:
            yield from ask(first, second, contract)

    everywhere(patch, ask, inside_block)


@sabotage
def iterations_are_ordered(patch: Patch) -> None:
    """Iterations of one loop are ordered by the program's text."""
    ask = obligations.inside_block

    def inside_block(first: Any, second: Any, contract: Contract) -> Iterator[obligations.Obligation]:
        if first is not second:
            yield from ask(first, second, contract)

    everywhere(patch, ask, inside_block)


@sabotage
def any_scope_covers_the_launch(patch: Patch) -> None:
    """Scope tl_blk is taken for one that covers other blocks."""
    patch.setattr(obligations, "_strong", lambda site: site.scope is not None)


@sabotage
def atomics_meet_anything(patch: Patch) -> None:
    """An atomic access never races, not even with a weak one."""
    ask = obligations.conflict_code

    def conflict_code(first: Any, second: Any) -> str | None:
        return None if first.atomic or second.atomic else ask(first, second)

    everywhere(patch, ask, conflict_code)


@sabotage
def every_order_hands_over(patch: Patch) -> None:
    """A relaxed access that covers the launch is taken for one that acquires and releases."""
    everywhere(patch, arrays.acquires, arrays.covers)
    everywhere(patch, arrays.releases, arrays.covers)


# ------------------------------------------------------------------------------------------------ conflicts
@sabotage
def reads_ignored(patch: Patch) -> None:
    """Only writes conflict."""
    ask = obligations.conflict_code

    def conflict_code(first: Any, second: Any) -> str | None:
        return ask(first, second) if first.writes and second.writes else None

    everywhere(patch, ask, conflict_code)


@sabotage
def blocks_differ_along_x(patch: Patch) -> None:
    """Only blocks with different x are compared."""
    everywhere(patch, obligations.block_axes, lambda contract: iter(BID[:1]))


@sabotage
def doubled_lanes_ignored(patch: Patch) -> None:
    """Two lanes of one store on one element (TV202) are not looked for."""
    everywhere(patch, obligations.one_address, lambda prepared, contract: iter(()))


@sabotage
def overlap_ignored(patch: Patch) -> None:
    """Arguments that may overlap are taken for distinct."""
    patch.setattr(Contract, "may_overlap", lambda self, first, second: False)


@sabotage
def stores_have_one_byte(patch: Patch) -> None:
    """Of an element at a computed address only the first byte counts."""
    whole = footprint_overlap._bytes
    patch.setattr(footprint_overlap, "_bytes", lambda prepared: replace(whole(prepared), size=1))


# ---------------------------------------------------------------------------------------------- footprints
@sabotage
def last_lane_skipped(patch: Patch) -> None:
    """The last lane of every tile is forgotten."""
    everywhere(patch, values.lane, lambda dim, size: t.var(f"l{dim}", Scope.LANE, 0, max(size - 2, 0)))


@sabotage
def first_iteration_only(patch: Patch) -> None:
    """Loops are taken to run at most once."""

    def counter(m: machine.SymbolicExecutor, op: Any, trips: int | None) -> Term:
        if op not in m.counters:
            m.counters[op] = t.var(f"k{len(m.counters)}", Scope.ITERATION, 0, 0)
        return m.counters[op]

    patch.setattr(loops, "_counter", counter)


@sabotage
def traversal_is_the_tile(patch: Patch) -> None:
    """Tiles of a strided view are taken to lie side by side."""
    make = pointers.make_tile_view

    def make_tile_view(m: machine.SymbolicExecutor, op: Any) -> Any:
        view = make(m, op)
        return view if view.element_index else replace(view, step=view.tile)

    everywhere(patch, make, make_tile_view)


@sabotage
def dim_map_ignored(patch: Patch) -> None:
    """Tile dimensions are taken in the order of the array's."""
    make = pointers.make_tile_view
    everywhere(patch, make, lambda m, op: replace(made := make(m, op), dim_map=tuple(range(len(made.dim_map)))))


@sabotage
def slices_begin_at_zero(patch: Patch) -> None:
    """A slice is taken for one from the array's beginning."""
    find = pointers.footprint
    everywhere(patch, find, lambda *given: replace(find(*given), base=t.ZERO))


@sabotage
def index_spaces_unchecked(patch: Patch) -> None:
    """Tile indices outside the index space (TV301) are not looked for."""
    ask = obligations.bounds
    everywhere(patch, ask, lambda prepared: (each for each in ask(prepared) if each.code != "TV301"))


@sabotage
def arrays_unchecked(patch: Patch) -> None:
    """Addresses outside their array (TV302) are not looked for."""
    ask = obligations.bounds
    everywhere(patch, ask, lambda prepared: (each for each in ask(prepared) if each.code != "TV302"))


@sabotage
def loads_are_in_bounds(patch: Patch) -> None:
    """Bounds are checked for what writes only."""
    ask = obligations.bounds
    everywhere(
        patch, ask, lambda prepared: ask(prepared) if prepared.site.access is not Access.READ else iter(())
    )  # fmt: skip


# ------------------------------------------------------------------------------------- contract and solver
@sabotage
def arrays_have_elements(patch: Patch) -> None:
    """Sizes are taken to be at least 1."""
    know = prepare.launch_facts

    def launch_facts(contract: Contract) -> tuple[Term, ...]:
        sizes = [variable for variable in contract.variables if variable.sort is Sort.INT]
        return (*know(contract), *(t.le(t.ONE, size) for size in sizes))

    everywhere(patch, know, launch_facts)


PLACE_IN_MEMORY = """
import cuda.tile as ct

@ct.kernel
def mark(places, out):
    place = ct.load(places, index=(0,), shape=(1,)).item()
    ct.store(out, index=(place,), tile=ct.zeros((1,), dtype=ct.int32))
"""


def proof_of_a_place_too_many() -> str | None:
    """That a place is proved to lie in an array although a fact lets it be the one behind its end."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "place.py")
        file.write_text(PLACE_IN_MEMORY)
        spec = 'kernel = "mark"\nargs = { places = "i32[1]", out = "i32[N]" }\ngrid = [1]\n'
        spec += 'data = ["range(places, 0, N + 1)"]\n'
        file.with_suffix(".tileverify.toml").write_text(f"[[launch]]\n{spec}")
        (result,) = check_paths([str(file)]).results
    return "place N of N is proved to be one of the array" if result.verdict is Verdict.PROVED else None


@partial(sabotage, expose=proof_of_a_place_too_many)
def ranges_one_short(patch: Patch) -> None:
    """The largest number that a `range` fact allows is forgotten."""

    def fewer(kind: FactKind, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        if kind.word == "range" and data.high is not None:
            data = replace(data, high=t.sub(data.high, t.ONE))
        return kind_instances(kind, data, *arrays)

    patch.setattr(fact_use, "kind_instances", fewer)


@sabotage
def clauses_unproved(patch: Patch) -> None:
    """A clause is believed to close an obligation, and the obligation is dropped."""

    narrow = Narrowing._narrowed

    def narrowed(self: Narrowing, opened: Open) -> bool:
        known = len(self.prover.clauses)
        return narrow(self, opened) or len(self.prover.clauses) > known

    patch.setattr(Prover, "question", lambda self, opened: nullcontext(bool))
    patch.setattr(Narrowing, "_narrowed", narrowed)


@sabotage
def clauses_forgotten(patch: Patch) -> None:
    """The proof uses clauses that the verdict does not print."""
    give = outcome.outcome_of

    def without_clauses(*given: Any, **more: Any) -> verify.Outcome:
        return replace(give(*given, **more), requires=(), limits=())

    for module in (own_proof, generalised_proof):
        patch.setattr(module, "outcome_of", without_clauses)


def proof_of_an_open_tail() -> str | None:
    """That a kernel without a mask is proved for any number of rows, which a person wrote."""
    with TemporaryDirectory() as folder:
        result = written_contracts.checked(Path(folder), written_contracts.TAIL, written_contracts.WRONG)
    return f"a tail without a mask: proved under {result.clauses}" if result.verdict is Verdict.PROVED else None


@partial(sabotage, expose=proof_of_an_open_tail)
def written_contracts_narrowed(patch: Patch) -> None:
    """Clauses are added to what a person wrote, until the fault lies outside."""
    patch.setattr(Narrowing, "_has_open_part", lambda self, opened: True)
    patch.setattr(Narrowing, "_is_free", lambda self, clause: True)


@partial(sabotage, expose=proof_of_an_open_tail)
def every_clause_is_a_limit(patch: Patch) -> None:
    """What excludes usual launches counts as a limit on sizes."""
    patch.setattr(Narrowing, "_has_open_part", lambda self, opened: True)
    patch.setattr(ContractParts, "is_limit", lambda self, clause, *, alone=False: True)


# --------------------------------------------------------------------------- what all blocks share, and beyond
def private(module: str, *names: str) -> Any:
    """A part of the package that no other module may use by its name."""
    found: Any = importlib.import_module(f"tileverify.{module}")
    for name in names:
        found = getattr(found, name)
    return found


@sabotage
def pieces_are_launch_wide(patch: Patch) -> None:
    """A piece of a float tile that all blocks share is taken for a number that they share, whatever chose the piece."""
    move = values.move

    def move_all(value: Any, coordinates: Any) -> Any:
        return value if isinstance(value, Opaque) else move(value, coordinates)

    everywhere(patch, move, move_all)


@sabotage
def unwritten_memory_is_launch_wide(patch: Patch) -> None:
    """Memory that a block made for itself is taken for memory that was there when the launch began."""

    def initial(m: Any, op: Any, origin: Any) -> bool:
        return bool(op.attributes["ord"] == "weak" and not m.written.may_write(origin))

    everywhere(patch, private("frontend.symbolic.memory", "_stable"), initial)


@sabotage
def narrow_parameters_fit(patch: Patch) -> None:
    """Sizes and strides may be narrower in bytecode than the launch says, and are believed to hold what it says."""
    ask = private("frontend.sources.abi", "_fitting_types")

    def fitting(parameter: Any, argument: Any) -> frozenset[str]:
        found: frozenset[str] = ask(parameter, argument)
        return found | {"i8"} if parameter.role in (Role.SHAPE, Role.STRIDE) else found

    everywhere(patch, ask, fitting)


@sabotage
def axes_pinned(patch: Patch) -> None:
    """Only of the first axis it is noticed that a kernel reads it: the others may be left with one block."""
    ask = written.read_axes
    everywhere(patch, ask, lambda entry: ask(entry) & {0})


@sabotage
def padding_is_zero(patch: Patch) -> None:
    """Nothing that the specification leaves open is followed (TV403)."""
    patch.setattr(OpenValues, "promises", lambda self: ())


def stale_by_table() -> str | None:
    """The first entry that fails of the tables of changes that verdicts of earlier runs must not survive."""
    found = outcomes(*(f"tests/pipeline/cache/{name}.py" for name in KEPT_VERDICTS))
    return next((test for test, outcome in found.items() if outcome == "failed"), None)


def outcomes(*tests: str) -> dict[str, str]:
    """What becomes of tests, files of them or single ones, up to the first that fails.

    They see what this process makes of the code, and share nothing with others that judge the code as it stands.
    """
    assert tests, "without names pytest runs all there are"
    assert all((ROOT / test.partition("::")[0]).exists() for test in tests)
    seen = _Outcomes()
    arguments = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--no-header"]
    with redirect_stdout(StringIO()), alone():
        pytest.main([*(str(ROOT / test) for test in tests), *arguments], plugins=[seen])
    return seen.found


class _Outcomes:
    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.found[report.nodeid] = report.outcome


KEPT_VERDICTS = ("test_cache", "test_known_files", "test_stale")
"""Tests that change something and want the next verdict to be about the change."""


@partial(sabotage, expose=stale_by_table)
def key_without_launch(patch: Patch) -> None:
    """A verdict that was kept counts for the same bytecode under any launch."""
    make = cache._key

    def key(unit: Any, options: Any) -> str:
        return make(replace(unit, launch=None), options)

    patch.setattr(cache, "_key", key)


@partial(sabotage, expose=stale_by_table)
def key_without_surroundings(patch: Patch) -> None:
    """What was seen of a file counts whatever else the compiler and the kernel depend on."""
    everywhere(patch, known_files.surroundings, list)


def is_proved(kernel: str, spec: str) -> bool:
    """What the prover says of a kernel of one's own under one launch."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "k.py").write_text(kernel)
        (Path(folder) / "k.tileverify.toml").write_text(spec)
        (result,) = check_paths([str(Path(folder) / "k.py")]).results
    return result.verdict is Verdict.PROVED


HASHED = """
import cuda.tile as ct

@ct.kernel
def hashed(x, out):
    i = ct.bid(0)
    ct.store(out, ((i * i * i + 7 * i) % 257,), ct.load(x, (i,), (1,)))
"""
HASHED_SPEC = """
[[launch]]
kernel = "hashed"
grid = ["M"]
args = { x = "f32[M]", out = "f32[257]" }
requires = ["M <= 1000"]
"""


def proof_of_hashed_places() -> str | None:
    """That a kernel is proved whose blocks meet, which the solver cannot tell and a small launch shows.

    Kernels are generated from arithmetic that the solver mostly masters: of 3,000 none shows this.
    """
    return "hashed places: proved, but two blocks store to one" if is_proved(HASHED, HASHED_SPEC) else None


@partial(sabotage, expose=proof_of_hashed_places)
def unknown_is_a_proof(patch: Patch) -> None:
    """Where the solver gives up, the obligation counts as proved."""
    decide = Solver.decide

    def believe(self: Solver, *question: Any, **options: Any) -> Any:
        result = decide(self, *question, **options)
        return replace(result, answer=Answer.UNSATISFIABLE) if result.answer is Answer.UNKNOWN else result

    patch.setattr(Solver, "decide", believe)


RANKED = """
import cuda.tile as ct

@ct.kernel
def ranked(keys, ranks, out):
    i = ct.bid(0)
    key = ct.gather(keys, i, padding_value=0)
    ct.scatter(out, ct.gather(ranks, i, padding_value=0), key)
"""
RANKED_SPEC = """
[[launch]]
kernel = "ranked"
grid = [8]
args = { keys = "i32[8]", ranks = "i32[8]", out = "i32[8]" }
data = ["ranks(ranks, keys, 8)"]
"""


def proof_of_equal_ranks() -> str | None:
    """That blocks are proved apart that go to their ranks, of which all are 0 where no key is there twice."""
    return "ranks of different keys: proved, but two blocks store to one" if is_proved(RANKED, RANKED_SPEC) else None


@partial(sabotage, expose=proof_of_equal_ranks)
def all_ranks_differ(patch: Patch) -> None:
    """Ranks differ within a chunk, whatever keys they number."""

    def further(kind: FactKind, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        yield from kind_instances(kind, data, *arrays)
        for one, other in combinations(arrays[0].values, 2) if kind.word == "ranks" else ():
            yield t.implies(t.ne(one.args[0], other.args[0]), t.ne(one, other))

    patch.setattr(fact_use, "kind_instances", further)


def proof_of_large_sum() -> str | None:
    """That 64 numbers are proved to have a sum in i32, which those that are the largest allowed have not."""
    with TemporaryDirectory() as folder:
        result = plain_sums.judged(plain_sums.file_with(Path(folder)), f"range(x, 0, {plain_sums.TOO_MANY + 1})")
    return f"64 times {plain_sums.TOO_MANY}: proved to fit in i32" if result.verdict is Verdict.PROVED else None


@partial(sabotage, expose=proof_of_large_sum)
def one_lane_is_the_sum(patch: Patch) -> None:
    """What an addition promises of a sum over lanes is asked of each lane alone."""
    patch.setattr(tiles, "scale", lambda count, lanes: lanes)


# ------------------------------------------------------------------------------------------------- exposing
WRONG_PROOFS = ("proved", "shut out", "undetermined", "the contract was narrowed")
"""How wrong verdicts begin that a flawed prover gives; one that merely breaks does not count."""


def exposed(chosen: Sabotage, seed: int, count: int, first: int = 0) -> Record | None:
    """The first kernel from ``first`` on with a wrong proof under the sabotage."""
    with pytest.MonkeyPatch.context() as patch:
        chosen.commit(patch)
        return next(
            (
                record
                for record in records(seed, range(first, first + count))
                if (record.wrong or "").startswith(WRONG_PROOFS)
            ),
            None,
        )


def evidence(chosen: Sabotage, seed: int, count: int) -> str | None:
    """What exposes the sabotage, in words."""
    if chosen.expose is None:
        record = exposed(chosen, seed, count)
        return None if record is None else f"kernel {record.number}: {record.wrong}"
    with pytest.MonkeyPatch.context() as patch:
        chosen.commit(patch)
        return chosen.expose()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which (default: all)")
    parser.add_argument("--count", type=int, default=3000, help="kernels to try at most (default 3000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--five", action="store_true", help="only the five of `FIVE`")
    options = parser.parse_args(arguments)
    missed = 0
    for chosen in SABOTAGES:
        if (options.names or options.five) and chosen.name not in (*options.names, *(FIVE if options.five else ())):
            continue
        started = time.process_time()
        shown = evidence(chosen, options.seed, options.count)
        seconds = time.process_time() - started
        missed += shown is None
        told = f"NOT exposed by {options.count} kernels" if shown is None else f"exposed by {shown[:120]}"
        print(f"{chosen.name:32} {seconds:6.1f} s  {told}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
