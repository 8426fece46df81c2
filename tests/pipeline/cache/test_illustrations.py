"""What pages show, kept beside verdicts: it comes back whole, and never beside another verdict."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tileverify.pipeline import CheckOptions, check_paths, known_files, verdict_cache
from tileverify.pipeline.verdict_cache import SUFFIX, Illustration, ResultCache, load_illustrations, store_illustrations
from tileverify.reports.details import collect
from tileverify.results import KernelResult, PlaybackFile, Verdict
from tileverify.results.details import IrLine, KernelDetails

from .test_cache import OPTIONS, PROVED, UNIT
from .test_stale import SPEC, WAYS, Way, kernel, plant

OPEN = kernel("SHIFT = 0").replace("ct.bid(0) + SHIFT", "ct.load(x, index=(ct.bid(0),), shape=()).item()")
RACY = kernel("SHIFT = 0").replace("index=(i,), tile", "index=(i // 2,), tile")
OPEN_SPEC = SPEC.replace('"f32[N]"', '"i32[N]"')
DETAILS = KernelDetails(ir=(IrLine("entry", "k.py", 3),))


def check(folder: Path, *, page: bool = True) -> KernelResult:
    options = CheckOptions(cache=folder / "cache", details=page, playback=page)
    (result,) = check_paths([str(folder / "kernels")], options=options).results
    return result


def pages(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"*{SUFFIX}"))


def of_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.parent.name == "files"]


@pytest.fixture
def racy(tmp_path: Path) -> Path:
    plant(tmp_path, {"kernels/copy.py": RACY})
    return tmp_path


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Kernels whose details were collected."""
    seen: list[str] = []
    original = collect.collect

    def noted(unit, *rest):  # type: ignore[no-untyped-def]
        seen.append(unit.kernel)
        return original(unit, *rest)

    monkeypatch.setattr(collect, "collect", noted)
    return seen


def test_the_second_page_is_the_first(racy: Path, collected: list[str]) -> None:
    """With nothing run, compiled or drawn again: by its file, and by its kernel where the file is not known."""
    first = check(racy)
    assert first.details is not None
    assert first.details.drawings
    assert first.playback
    again = check(racy)
    assert (first.cached, again.cached) == (False, True)
    assert (again.details, again.playback) == (first.details, first.playback)
    for file in of_files(racy):
        file.unlink()
    third = check(racy)
    assert third.cached
    assert (third.details, third.playback, third.findings) == (first.details, first.playback, first.findings)
    assert collected == ["copy"]


def test_a_page_after_a_plain_check_draws_once(racy: Path, collected: list[str]) -> None:
    assert check(racy, page=False).details is None
    assert not pages(racy)
    drawn = check(racy)
    assert drawn.details is not None
    assert check(racy).details == drawn.details
    assert check(racy, page=False).details is None
    assert collected == ["copy"]


def test_what_changed_is_drawn_anew(racy: Path) -> None:
    before = check(racy).details
    (racy / "kernels" / "copy.py").write_text(RACY.replace("// 2", "// 3"))
    changed = check(racy)
    assert (changed.cached, changed.details == before) == (False, False)
    (racy / "kernels" / "copy.tileverify.toml").write_text(SPEC.replace("N, 64)", "N, 64) + 1"))
    assert not check(racy).cached


REMEMBERED = ("a module beside it, before an installed one", "a link to another helper", "a relative import")
"""Ways that Python itself does not see within a process, or a second."""
IN_ONE_PROCESS = [
    way for way in WAYS if not way.environment and way.change.__name__ == "change" and way.name not in REMEMBERED
]


@pytest.mark.parametrize("way", IN_ONE_PROCESS, ids=lambda way: way.name)
def test_no_change_leaves_an_old_drawing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Way, collected: list[str]
) -> None:
    """Every way to change a verdict that `test_stale` knows of, but for variables, which want new processes."""
    monkeypatch.chdir(tmp_path)
    plant(tmp_path, way.files)
    assert check(tmp_path).verdict is Verdict.PROVED
    way.change(tmp_path)
    after = check(tmp_path)
    assert (after.verdict is Verdict.PROVED, after.cached) == (False, False)
    if after.verdict is not Verdict.ERROR:  # else there is nothing to be drawn
        assert collected == ["copy", "copy"]
        assert after.details is not None
        assert after.playback


def test_drawings_of_what_is_undecided_are_kept(tmp_path: Path, collected: list[str]) -> None:
    """Until its source, its spec, or how it is looked for is another one; none of a run with a time limit."""
    plant(tmp_path, {"kernels/copy.py": OPEN, "kernels/copy.tileverify.toml": OPEN_SPEC})
    first, again = check(tmp_path), check(tmp_path)
    assert [(each.verdict, each.cached) for each in (first, again)] == [
        (Verdict.UNDECIDED, False),
        (Verdict.UNDECIDED, True),
    ]
    assert first.details is not None
    assert (again.details, again.findings) == (first.details, first.findings)
    assert collected == ["copy"]
    (tmp_path / "kernels" / "copy.tileverify.toml").write_text(OPEN_SPEC.replace("N, 64)", "N, 64) + 1"))
    assert not check(tmp_path).cached
    (tmp_path / "kernels" / "copy.py").write_text(OPEN.replace("shape=(TILE,)", "shape=(2 * TILE,)"))
    assert not check(tmp_path).cached
    assert collected == ["copy"] * 3


def test_drawings_of_what_a_time_limit_left_undecided_are_not_kept(tmp_path: Path, collected: list[str]) -> None:
    plant(tmp_path, {"kernels/copy.py": OPEN, "kernels/copy.tileverify.toml": OPEN_SPEC})
    for _ in range(2):
        options = CheckOptions(cache=tmp_path / "cache", details=True, playback=True, timeout_s=100)
        (result,) = check_paths([str(tmp_path / "kernels")], options=options).results
        assert (result.verdict, result.cached) == (Verdict.UNDECIDED, False)
    assert not pages(tmp_path)
    assert collected == ["copy", "copy"]


@pytest.mark.parametrize("module", [known_files, verdict_cache])
def test_a_page_of_other_code_is_not_seen(racy: Path, monkeypatch: pytest.MonkeyPatch, module: object) -> None:
    """The folder is named by all modules, and so by those that draw."""
    check(racy)
    for each in (known_files, verdict_cache):
        monkeypatch.setattr(each, "generation", lambda solver: "0" * 32)
    assert not check(racy).cached


def test_the_files_are_named_as_this_run_names_them(racy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of a kernel knows places as the bytecode names them."""
    check(racy)
    monkeypatch.chdir(racy)
    result = check(racy)
    assert result.cached
    assert result.details is not None
    sites = [side.site for drawing in result.details.drawings for side in drawing.sides]
    names = {line.file for line in result.details.ir} | {site.file for site in sites if site is not None}
    assert names - {None} == {"kernels/copy.py"}


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda text: b"",
    "one letter": lambda text: text.replace(b"store", b"stora", 1),
    "another entry's": lambda text: b"0" * 64 + text[64:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_pages_are_drawn_anew(racy: Path, damage: Callable[[bytes], bytes], collected: list[str]) -> None:
    first = check(racy)
    assert len(pages(racy)) == 2
    for path in pages(racy):
        before = path.read_bytes()
        path.write_bytes(damage(before))
        assert path.read_bytes() != before
    again = check(racy)
    assert first.details is not None
    assert again.details is not None
    assert (again.details.drawings, again.details.ir) == (first.details.drawings, first.details.ir)
    assert collected == ["copy", "copy"]


def test_a_page_of_another_verdict_is_nobodys(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path / "cache", "z3 1")
    cache.store(UNIT, OPTIONS, PROVED)
    cache.illustrate(UNIT, OPTIONS, replace(PROVED, details=DETAILS))
    known = cache.load(UNIT, OPTIONS)
    assert known is not None
    assert cache.illustration(UNIT, OPTIONS, known) == Illustration(DETAILS)
    other = replace(PROVED, requires=("N > 1",))
    cache.store(UNIT, OPTIONS, other)
    known = cache.load(UNIT, OPTIONS)
    assert known is not None
    assert cache.illustration(UNIT, OPTIONS, known) is None


def test_illustrations_of_fewer_results_are_none(tmp_path: Path) -> None:
    entry = tmp_path / "entry.json"
    store_illustrations(entry, "d", [Illustration(DETAILS, (PlaybackFile("test_a.py", "text"),))])
    (found,) = load_illustrations(entry, "d", 1) or ()
    assert found.playback[0].text == "text"
    assert load_illustrations(entry, "d", 2) is None
    assert load_illustrations(entry, "e", 1) is None


def test_a_name_that_no_text_holds_is_not_kept(tmp_path: Path) -> None:
    entry = tmp_path / "entry.json"
    details = KernelDetails(ir=(IrLine("entry", "\ud800.py", 3),))
    store_illustrations(entry, "d", [Illustration(details)])
    assert load_illustrations(entry, "d", 1) is None


def test_a_file_whose_entry_was_written_by_another_run(racy: Path, collected: list[str]) -> None:
    """Two processes wrote: the pages are not those of the entry that stands there."""
    check(racy)
    for path in (path for path in of_files(racy) if path.suffix == ".json"):
        entry = json.loads(path.read_text())
        entry["results"][0]["time_ms"]["prove"] += 1
        entry["digest"] = verdict_cache.digest_of([entry["state"], entry["results"]])
        path.write_text(json.dumps(entry))
    assert check(racy, page=False).cached
    for path in racy.rglob(f"*{SUFFIX}"):
        if path.parent.name != "files":
            path.unlink()
    check(racy)
    assert collected == ["copy", "copy"]
