"""The rooms of the package: one total order, and every import, lazy ones too, points to a room before its own."""

from __future__ import annotations

import ast
import collections
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from tools.rooms import (
    PAGE,
    ROOMS,
    SOURCE,
    brought_along,
    edges,
    import_statements,
    imports,
    lines_of,
    modules,
    page,
    room_of,
    rooms_imported,
    syntax,
)

from tileverify.contract.launch import GRID_MAX
from tileverify.hook.recorder import MAX_GRID_AXIS
from tileverify.verifier.attempt import Attempt, Closed, Open, Outcome
from tileverify.verifier.prover import PreparedKernel

MODULES = sorted(path.relative_to(SOURCE) for path in (SOURCE / "tileverify").rglob("*.py"))
OWN = modules()

LONGEST_MODULE = 600
"""Lines.  Most modules have 150 to 500: one idea that can be read from top to bottom."""

WIDEST_MODULE = 25
"""Modules of the package that one module imports, lazily too."""

SLIVER = 60
"""Lines.  A module with fewer, and one importer alone, is a part of that importer that somebody has to look for."""

MOST_SLIVERS = 10

MOST_EDGES = 100
"""Imports from room to room, each pair counted once."""


def is_under(name: str, roots: tuple[str, ...]) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in roots)


def test_every_room_has_its_place() -> None:
    assert {room_of(module) for module in OWN} == set(ROOMS)


@pytest.mark.parametrize("module", OWN, ids=str)
def test_imports_point_to_rooms_before_their_own(module: Path) -> None:
    own = room_of(module)
    place = ROOMS.index(own)
    upwards = [f"{module}:{line}: {room}" for room, line in rooms_imported(module) if ROOMS.index(room) > place]
    assert not upwards


MOST_LINES_BELIEVED = {
    "verifier/obligations/obligations.py": 5_500,  # the questions that are asked
    "verifier/obligations/derivation.py": 11_500,  # all that a proof rests on, beside the solver
    "checker": 7_300,  # who reads the bytecode a second time
}
"""Of a module or a room with all that its imports bring along: so much has to be read to believe it."""


@pytest.mark.parametrize("name", MOST_LINES_BELIEVED)
def test_what_must_be_believed_can_be_read(name: str) -> None:
    roots = [path for path in OWN if path == Path("tileverify", name) or path.is_relative_to(Path("tileverify", name))]
    assert 0 < lines_of(brought_along(roots)) <= MOST_LINES_BELIEVED[name]


def test_the_rooms_know_few_of_each_other() -> None:
    assert len(edges()) <= MOST_EDGES


def test_the_drawing_shows_what_is_imported() -> None:
    """`python -m tools.rooms` draws it again."""
    assert PAGE.read_text(encoding="utf-8") == page()
    assert page().count("\n") <= 150


@pytest.mark.parametrize("module", [path for path in OWN if room_of(path) == "backend"], ids=str)
def test_backend_shares_no_reasoning_with_the_prover(module: Path) -> None:
    assert not [f"{module}:{line}" for room, line in rooms_imported(module) if room == "verifier"]


@pytest.mark.parametrize("module", [path for path in OWN if room_of(path) == "checker"], ids=str)
def test_the_checker_shares_no_rule_with_the_executor(module: Path) -> None:
    """It takes from it the words of a summary alone."""
    taken = [name for name, _ in imports(module) if is_under(name, ("tileverify.frontend.symbolic",))]
    words = "tileverify.frontend.symbolic.summary"
    assert not [name for name in taken if not is_under(name, (words,))]


COLLECTING = ("details", "playback")
"""Folders of the reports that run launches to show them."""


@pytest.mark.parametrize("module", [path for path in OWN if room_of(path) in ("results", "reports")], ids=str)
def test_reports_print_what_results_say(module: Path) -> None:
    if not is_under(".".join(module.parts[2:-1]), COLLECTING):
        assert not [
            f"{module}:{line}: {room}" for room, line in rooms_imported(module) if room in ("verifier", "backend")
        ]
        assert not [f"{module}:{line}" for name, line in imports(module) if is_under(name, ("cuda",))]


@pytest.mark.parametrize("module", [path for path in OWN if room_of(path) == "verifier"], ids=str)
def test_the_verifier_needs_no_compiler(module: Path) -> None:
    assert not [f"{module}:{line}" for name, line in imports(module) if is_under(name, ("cuda",))]


@pytest.mark.parametrize(
    "module", [path for path in OWN if path.is_relative_to("tileverify/verifier/obligations")], ids=str
)
def test_what_must_be_right_leans_on_nothing_that_may_be_wrong(module: Path) -> None:
    named = [(name, line) for name, line in imports(module) if is_under(name, ("tileverify.verifier",))]
    assert not [
        f"{module}:{line}: {name}" for name, line in named if not is_under(name, ("tileverify.verifier.obligations",))
    ]


@pytest.mark.parametrize("module", [path for path in OWN if room_of(path) == "verifier"], ids=str)
def test_nobody_assigns_to_what_another_holds(module: Path) -> None:
    """``self.prover.clauses = ...`` hides from a reader of `prover` what changes it: he calls a method instead."""
    targets = [node for node in ast.walk(syntax(module)) if isinstance(node, ast.Attribute)]
    assigned = [node for node in targets if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Attribute)]
    assert not [f"{module}:{node.lineno}: {ast.unparse(node)}" for node in assigned]


@pytest.mark.parametrize("kind", [Attempt, Open, Closed, Outcome, PreparedKernel])
def test_an_attempt_is_a_value(kind: type) -> None:
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_only_the_smt_folder_imports_the_solver(module: Path) -> None:
    if not module.is_relative_to("tileverify/verifier/smt"):
        assert not [f"{module}:{line}" for name, line in imports(module) if is_under(name, ("z3",))]


def test_one_module_alone_imports_the_second_solver() -> None:
    importers = {str(module) for module in MODULES for name, _ in imports(module) if is_under(name, ("cvc5",))}
    assert importers == {"tileverify/verifier/certificate/second_solver.py"}


@pytest.mark.parametrize("module", [path for path in OWN if room_of(path) == "hook"], ids=str)
def test_what_runs_in_other_programs_needs_nothing_of_ours(module: Path) -> None:
    """A recorded Python need not have this package, and loads the hook under a name of its own."""
    assert not [f"{module}:{line}: {room}" for room, line in rooms_imported(module) if room != "hook"]


@pytest.mark.parametrize("module", OWN, ids=str)
def test_imports_inside_the_package_are_relative(module: Path) -> None:
    absolute = [
        f"{module}:{node.lineno}"
        for node in import_statements(module)
        if (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "tileverify")
        or (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "tileverify" for alias in node.names))
    ]
    assert not absolute


def test_modules_stay_small() -> None:
    lengths = {str(module): (SOURCE / module).read_bytes().count(b"\n") for module in MODULES}
    assert not {module: lines for module, lines in lengths.items() if lines > LONGEST_MODULE}


@cache
def imported_modules() -> dict[Path, set[Path]]:
    """The modules of the package that each of them imports: by name, or for a name that they define."""
    places = {".".join(module.with_suffix("").parts).removesuffix(".__init__"): module for module in OWN}
    return {module: {places[name] for name in _modules_named(module, places)} - {module} for module in OWN}


def _modules_named(module: Path, places: Mapping[str, Path]) -> Iterator[str]:
    for node in import_statements(module):
        if isinstance(node, ast.ImportFrom):
            package = module.parts[: len(module.parts) - node.level] if node.level else ()
            origin = ".".join([*package, *([node.module] if node.module else [])])
            named = (f"{origin}.{alias.name}" for alias in node.names)
            yield from {name if name in places else origin for name in named} & places.keys()


def test_no_module_needs_many_others() -> None:
    widths = {str(module): len(found) for module, found in imported_modules().items()}
    assert not {module: width for module, width in widths.items() if width > WIDEST_MODULE}


def slivers() -> list[str]:
    importers = collections.Counter(found for each in imported_modules().values() for found in each)
    return [
        str(module)
        for module in OWN
        if module.name != "__init__.py" and importers[module] == 1
        and (SOURCE / module).read_bytes().count(b"\n") < SLIVER
    ]  # fmt: skip


def test_few_modules_are_slivers_of_another_one() -> None:
    assert len(slivers()) <= MOST_SLIVERS, slivers()


def test_the_grid_s_limit_is_written_once() -> None:
    """And in the hook, which imports nothing of ours."""
    written = re.compile(r"(2 ?\*\* ?24|1 << 24\)) - 1$|16_?777_?215", re.MULTILINE)
    places = {str(module) for module in OWN if written.search((SOURCE / module).read_text(encoding="utf-8"))}
    assert places == {"tileverify/contract/launch.py", "tileverify/hook/recorder.py"}
    assert MAX_GRID_AXIS == GRID_MAX


def test_one_function_says_whether_elements_are_apart() -> None:
    """What guards a launch and what makes legal ones ask the same."""
    defining = {str(module) for module in OWN if "def apart(" in (SOURCE / module).read_text(encoding="utf-8")}
    asking = {str(module) for module in OWN if "tileverify.contract.strides.apart" in dict(imports(module))}
    assert defining == {"tileverify/contract/strides.py"}
    assert asking >= {"tileverify/backend/guard/guard.py", "tileverify/backend/numbers/choose.py"}


OPERATORS = {
    "+", "-", "*", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "and", "or", "not", "min", "max", "cdiv",
    "ast.Add", "ast.Sub", "ast.Mult", "ast.FloorDiv", "ast.Mod", "ast.Eq", "ast.Lt", "ast.LtE", "ast.Gt", "ast.GtE",
}  # fmt: skip

TABLES = {
    "tileverify/backend/compiled/machine/computed.py": "instructions of PTX that compute values",
    "tileverify/backend/compiled/machine/transfers.py": "what atomics of PTX make of two values",
    "tileverify/backend/compiled/machine/steps.py": "what the values of a warp are reduced by",
    "tileverify/backend/numbers/launch_integers.py": "what it is for many launches at once",
    "tileverify/pipeline/code_footprints/ptx_values.py": "what they are as terms",
    "tileverify/frontend/triton/ttir_memory.py": "atomics of Triton IR, in Tile IR",
    "tileverify/contract/expression_parser.py": "how an operator of a launch spec is written",
    "tileverify/contract/facts/columns.py": "what it is of whole arrays",
    "tileverify/contract/facts/formula.py": "how an operator of a fact's formula is written",
    "tileverify/contract/expressions.py": "what it is: value, term and Python",
    "tileverify/reports/html/kernel.py": "what pages print in its place",
    "tileverify/verifier/certificate/scripts.py": "operators of SMT-LIB, and of what sorts they are",
    "tileverify/verifier/obligations/bit_vectors.py": "those that stay what they are on words of bits",
}
"""Tables with three operators or more, and of what."""


def test_every_operator_is_in_one_table() -> None:
    found = {
        str(module)
        for module in OWN
        for node in ast.walk(syntax(module))
        if isinstance(node, ast.Dict) and len(OPERATORS & {_key(key) for key in node.keys}) >= 3
    }
    assert found == TABLES.keys()


def _key(key: ast.expr | None) -> str:
    if isinstance(key, ast.Constant):
        return str(key.value)
    return ast.unparse(key) if isinstance(key, ast.Attribute) else ""


@pytest.mark.parametrize("module", [path for path in OWN if room_of(path) == "verifier"], ids=str)
def test_what_a_question_may_take_stands_in_one_file(module: Path) -> None:
    written = [
        node.lineno
        for node in ast.walk(syntax(module))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Limits" and (node.args or node.keywords)
    ]
    assert not written or module == Path("tileverify/verifier/budgets.py")


MIRRORED = {
    "integers", "machine", "memory", "tiles", "values",  # an op to the prover, and in numbers
    "gate", "recheck", "report", "run", "stability",  # a command, and what it commands
    "arguments", "contents", "loaded", "model",
}  # fmt: skip
"""Names of modules that stand in several rooms: twins that a reader shall find, or plain words."""

TWINS = {"Exit", "Limits", "TensorView", "TileView", "Token"}
"""Public classes of that kind."""


def test_names_that_stand_in_two_places_are_few_and_known() -> None:
    own = [module for module in OWN if room_of(module) != "kernels"]  # a kernel's reference bears the kernel's name
    files = collections.Counter(module.stem for module in own if module.stem not in ("__init__", "__main__"))
    classes = collections.Counter(
        node.name
        for module in OWN
        for node in syntax(module).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in files.items() if count > 1} == MIRRORED
    assert {name for name, count in classes.items() if count > 1} == TWINS
    assert len(MIRRORED) <= 20
    assert len(TWINS) <= 10
