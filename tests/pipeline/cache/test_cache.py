"""The result cache: what makes a key, what is kept, and that damage is never believed."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from tools.rooms import SOURCE, modules

from tileverify.contract.launch import (
    ArrayArgument,
    ConstantArgument,
    DataFact,
    EntryParameter,
    KernelUnit,
    LaunchSpec,
    Name,
    Number,
    Role,
)
from tileverify.pipeline.verdict_cache import ResultCache, _looked_at, default_folder
from tileverify.results import Finding, KernelResult, Verdict
from tileverify.system.own_files import own_sources

LAUNCH = LaunchSpec(
    kernel="k",
    name="0",
    arguments=(ArrayArgument("a", "f32", (Name("N"),)), ConstantArgument("t", 128)),
    grid=(Name("N"), Number(1), Number(1)),
    data=(DataFact("injective", "a", text="injective(a)"),),
    alias=(frozenset(["a", "b", "c", "d", "e"]),),
)
UNIT = KernelUnit(
    Path("k.py"), "k", LAUNCH, b"bytecode", "k", (EntryParameter(Role.POINTER, "a"),), compile_ms=1.0, line=3
)
PROVED = KernelResult("k.py", "k", "0", Verdict.PROVED, holds_for="any", proved_codes=("TV101",), line=3)
OPTIONS: dict[str, Any] = {"deny_requires": False}


@pytest.fixture
def cache(tmp_path: Path) -> ResultCache:
    return ResultCache(tmp_path / "cache", "z3 1")


def entry_file(cache: ResultCache) -> Path:
    (path,) = cache.folder.rglob("*.json")
    return path


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("verdict", list(Verdict))
def test_what_would_come_again_is_kept(cache: ResultCache, verdict: Verdict, timed: bool) -> None:
    """A time limit may leave undecided what another run, or machine, decides."""
    result = dataclasses.replace(PROVED, verdict=verdict, findings=(Finding("TV903", "late"),))
    cache.store(UNIT, OPTIONS, result, timed=timed)
    kept = verdict in (Verdict.PROVED, Verdict.REFUTED) or (verdict is Verdict.UNDECIDED and not timed)
    assert cache.load(UNIT, OPTIONS) == (dataclasses.replace(result, cached=True) if kept else None)


@pytest.mark.parametrize(
    "change",
    [
        {"bytecode": b"other"},
        {"symbol": "other"},
        {"parameters": ()},
        {"parameters": (EntryParameter(Role.POINTER, "a", static=1),)},
        {"launch": dataclasses.replace(LAUNCH, grid=None)},
        {"launch": dataclasses.replace(LAUNCH, data=())},
        {"launch": dataclasses.replace(LAUNCH, alias=())},
        {"launch": dataclasses.replace(LAUNCH, alias=(), overlap=LAUNCH.alias)},
        {"launch": dataclasses.replace(LAUNCH, arguments=LAUNCH.arguments[:1])},
        {"launch": dataclasses.replace(LAUNCH, arguments=(LAUNCH.arguments[0], ConstantArgument("t", 128.0)))},
        {"launch": dataclasses.replace(LAUNCH, arguments=(LAUNCH.arguments[0], ConstantArgument("t", "128")))},
        {"launch": dataclasses.replace(LAUNCH, arguments=(LAUNCH.arguments[0], ConstantArgument("t", True)))},
        {"launch": dataclasses.replace(LAUNCH, grid=(Number(1), Name("N"), Number(1)))},
    ],
    ids=lambda change: next(iter(change)),  # the text of a set differs from process to process
)
def test_everything_that_a_verdict_depends_on_is_in_the_key(cache: ResultCache, change: dict[str, Any]) -> None:
    cache.store(UNIT, OPTIONS, PROVED)
    assert cache.load(dataclasses.replace(UNIT, **change), OPTIONS) is None


def test_options_and_solver_are_in_the_key(cache: ResultCache) -> None:
    cache.store(UNIT, OPTIONS, PROVED)
    assert cache.load(UNIT, {"deny_requires": True}) is None
    assert ResultCache(cache.folder, "z3 2").load(UNIT, OPTIONS) is None
    assert ResultCache(cache.folder, "z3 1").load(UNIT, OPTIONS) is not None


def test_place_and_compile_time_are_not(cache: ResultCache) -> None:
    cache.store(UNIT, OPTIONS, PROVED)
    moved = dataclasses.replace(UNIT, file=Path("moved.py"), line=99, compile_ms=5.0)
    assert cache.load(moved, OPTIONS) is not None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: "[" * 100_000,
        lambda text: text.replace('"any"', '"sizes"'),
        lambda text: text.replace('"findings": []', '"findings": null'),
        lambda text: text.replace(json.loads(text)["key"], "0" * 64),
    ],
)
def test_damaged_entries_count_as_absent(cache: ResultCache, damage: Any) -> None:
    cache.store(UNIT, OPTIONS, PROVED)
    path = entry_file(cache)
    before = path.read_text()
    path.write_text(damage(before))
    assert path.read_text() != before
    assert cache.load(UNIT, OPTIONS) is None


def test_an_entry_under_another_key_is_not_believed(cache: ResultCache) -> None:
    cache.store(UNIT, OPTIONS, PROVED)
    other = dataclasses.replace(UNIT, bytecode=b"racy")
    first = entry_file(cache)
    cache.store(other, OPTIONS, dataclasses.replace(PROVED, verdict=Verdict.REFUTED))
    (second,) = set(cache.folder.rglob("*.json")) - {first}
    second.write_text(first.read_text())
    assert cache.load(other, OPTIONS) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    ResultCache(tmp_path / "cache", "z3 1").store(UNIT, OPTIONS, PROVED)


def test_a_file_in_the_place_of_the_folder_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    cache = ResultCache(tmp_path / "cache", "z3 1")
    cache.store(UNIT, OPTIONS, PROVED)
    assert cache.load(UNIT, OPTIONS) is None


def test_keys_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[2:]; import test_cache as t;"
        "print(t.ResultCache(Path(sys.argv[1]), 'z3 1').load(t.UNIT, t.OPTIONS) is not None)"
    )
    ResultCache(tmp_path, "z3 1").store(UNIT, OPTIONS, PROVED)
    path = [str(Path(__file__).parent), str(Path(__file__).parents[3] / "src")]
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path), *path],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == "True"


def test_the_name_of_a_prover_is_made_of_all_its_modules() -> None:
    """A module that was left out could change, and verdicts of the old one would be believed."""
    left_out = {SOURCE / module for module in modules()} - set(own_sources())
    assert {path.parent.name for path in left_out} == {"corpus"}  # who finds and lists its kernels; nobody proves by it


def test_the_package_is_found_in_one_way() -> None:
    counted = re.compile(r"Path\(__file__\)(\.resolve\(\))?\.parents?\b")
    found = {str(module) for module in modules() if counted.search((SOURCE / module).read_text(encoding="utf-8"))}
    assert found == {"tileverify/corpus/labels.py", "tileverify/system/own_files.py"}


def test_stale_generations_go_and_nothing_else(cache: ResultCache) -> None:
    old, fresh, foreign = (cache.folder / name for name in ("a" * 32, "b" * 32, "photos"))
    for folder in (old, fresh, foreign):
        folder.mkdir(parents=True)
        (folder / "file").write_text("")
    month_ago = time.time() - 40 * 24 * 3600
    for folder in (old, foreign):
        os.utime(folder, (month_ago, month_ago))
    cache.store(UNIT, OPTIONS, PROVED)
    assert not old.exists()
    assert fresh.exists()
    assert foreign.exists()


def numbered(number: int) -> KernelUnit:
    return dataclasses.replace(UNIT, bytecode=str(number).encode())


def test_the_oldest_verdicts_go_first(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    full = ResultCache(folder, "z3 1")
    for number in range(8):
        full.store(numbered(number), OPTIONS, PROVED)
        for file in folder.rglob("*.json"):
            os.utime(file, (file.stat().st_atime - 10, file.stat().st_mtime - 10))
    (foreign := folder / "photos" / "ab").mkdir(parents=True)
    (foreign / "one.json").write_text("{}")
    size = sum(file.stat().st_size for file in folder.rglob("*.json")) // 8
    _looked_at.clear()  # as in another process
    small = ResultCache(folder, "z3 1", most_bytes=5 * size)
    small.store(numbered(8), OPTIONS, PROVED)
    kept = [number for number in range(9) if small.load(numbered(number), OPTIONS) is not None]
    assert kept == [5, 6, 7, 8], "three quarters, and the new one"
    assert (foreign / "one.json").exists()


def stored_by_a_process(folder: Path, first: int) -> int:
    """How many of fifty verdicts, stored and made room for beside other processes, were read as something else."""
    wrong = 0
    for number in range(50):
        _looked_at.clear()
        cache = ResultCache(folder, "z3 1", most_bytes=20_000)
        unit = numbered((first + number) % 60)
        cache.store(unit, OPTIONS, PROVED)
        read = cache.load(unit, OPTIONS)
        wrong += read is not None and read != dataclasses.replace(PROVED, cached=True)
    return wrong


def test_processes_may_share_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    with ProcessPoolExecutor(4, mp_context=get_context("fork")) as pool:
        assert sum(pool.map(stored_by_a_process, [folder] * 4, (0, 10, 20, 30))) == 0
    assert not [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".json"], "a file was left half"
    assert sum(file.stat().st_size for file in folder.rglob("*.json")) < 30_000


def test_default_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEVERIFY_CACHE_DIR", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv("TILEVERIFY_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert default_folder() == tmp_path / "xdg" / "tileverify"
