"""Folders whose contents are believed are this user's alone, or are not used."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.command_line import CommandLine, Ran
from tests.forked import Forked
from tests.written_kernel import written

from tileverify.backend.assembler import Assembled, Assembler
from tileverify.launching.launcher import CubinCache
from tileverify.pipeline.verdict_cache import ResultCache
from tileverify.system import atomic_file
from tileverify.system.atomic_file import problem_of, read_private, write_private

KERNEL = """import cuda.tile as ct

@ct.kernel
def copy(x, out):
    ct.store(out, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(64,)))
"""
SPEC = '[[launch]]\nkernel = "copy"\ngrid = ["cdiv(N, 64)"]\nargs = { x = "f32[N]", out = "f32[N]" }\n'
OTHER = 12345

AS_ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")


def test_a_new_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert problem_of(folder) is None
    before = os.umask(0)
    try:
        write_private(folder / "c" / "entry", "text")
    finally:
        os.umask(before)
    assert [place.stat().st_mode & 0o777 for place in (folder, folder / "c")] == [0o700, 0o700]
    assert (folder / "c" / "entry").stat().st_mode & 0o777 == 0o600
    assert read_private(folder / "c" / "entry") == b"text"


def test_a_folder_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    assert problem_of(folder) == "other users may write to it"
    folder.chmod(0o755)
    assert problem_of(folder) is None


def test_a_folder_that_others_may_replace_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "open" / "cache").mkdir(parents=True)
    (tmp_path / "open").chmod(0o777)
    assert "other users may replace it" in (problem_of(tmp_path / "open" / "cache") or "")
    (tmp_path / "open").chmod(0o1777)
    assert problem_of(tmp_path / "open" / "cache") is None, "sticky, as /tmp is"


def test_a_link_leads_to_what_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open")
    assert problem_of(tmp_path / "link") == "other users may write to it"
    assert "other users may replace it" in (problem_of(tmp_path / "link" / "deeper") or "")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    assert problem_of(tmp_path / "round") is not None


@AS_ROOT
def test_what_belongs_to_others_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    os.chown(folder, OTHER, OTHER)
    assert problem_of(folder) == "it belongs to another user"
    assert "other users may replace it" in (problem_of(folder / "deeper") or "")
    (tmp_path / "own").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "own")
    os.lchown(tmp_path / "link", OTHER, OTHER)
    assert "belongs to another user" in (problem_of(tmp_path / "link") or "")


def test_entries_that_others_may_write_count_as_absent(tmp_path: Path) -> None:
    entry = tmp_path / "entry"
    entry.write_text("text")
    entry.chmod(0o666)
    with pytest.raises(PermissionError):
        read_private(entry)
    (tmp_path / "link").symlink_to(entry)
    with pytest.raises(OSError, match=r"link"):
        read_private(tmp_path / "link")


@AS_ROOT
def test_entries_of_others_count_as_absent(tmp_path: Path) -> None:
    write_private(tmp_path / "entry", "text")
    os.chown(tmp_path / "entry", OTHER, OTHER)
    with pytest.raises(PermissionError):
        read_private(tmp_path / "entry")


def planted(tmp_path: Path) -> Path:
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    written(kernels, KERNEL, SPEC, "copy")
    return kernels


def check(fork: Forked, kernels: Path, cache: Path) -> Ran:
    own = {**os.environ, "TILEVERIFY_CACHE_DIR": str(cache)}
    return fork("check", str(kernels), "--format", "json", folder=kernels.parent, environment=own)


def is_cached(ran: Ran) -> bool:
    assert ran.code == 0, ran.err
    (result,) = json.loads(ran.out)["results"]
    return bool(result["cached"])


def test_the_work_goes_on_without_a_cache_and_says_so(tmp_path: Path, fork: Forked) -> None:
    kernels, cache = planted(tmp_path), tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    for _ in range(2):
        ran = check(fork, kernels, cache)
        assert ran.code == 0
        assert ran.err.count(f"the cache folder '{cache}' is not used: other users may write to it") == 1
        assert not is_cached(ran)
    assert list(cache.iterdir()) == []


def test_a_verdict_that_others_may_write_is_not_believed(tmp_path: Path, fork: Forked) -> None:
    kernels, cache = planted(tmp_path), tmp_path / "cache"
    assert not is_cached(check(fork, kernels, cache))
    assert is_cached(check(fork, kernels, cache))
    for entry in cache.rglob("*.json"):
        entry.chmod(0o666)
    assert not is_cached(check(fork, kernels, cache))


class Counting(Assembler):
    made = 0

    @property
    def version(self) -> str:
        return "1"

    def assembled(self, bytecode: bytes, architecture: str) -> Assembled:
        type(self).made += 1
        return Assembled(b"\x7fELF" + bytecode, None, None)


def test_machine_code_that_others_may_write_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "cubins"
    cache = CubinCache(folder, Counting(Path("tileiras")))
    cache.cubin(b"code", "sm_90", lambda made: None)
    cache.cubin(b"code", "sm_90", lambda made: None)
    assert Counting.made == 1
    (entry,) = folder.glob("*.cubin")
    entry.chmod(0o666)
    cache.cubin(b"code", "sm_90", lambda made: None)
    assert Counting.made == 2
    folder.chmod(0o777)
    atomic_file._told.clear()  # as in another process
    cache.cubin(b"code", "sm_90", lambda made: None)
    assert Counting.made == 3


def test_doctor_names_it(tileverify: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(exist_ok=True)
    (tmp_path / "cache").chmod(0o777)
    assert "is not used: other users may write to it" in tileverify("doctor").out


def test_a_result_cache_in_such_a_folder_is_empty(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    from tests.pipeline.cache.test_cache import OPTIONS, PROVED, UNIT

    cache = ResultCache(tmp_path / "cache", "z3 1")
    cache.store(UNIT, OPTIONS, PROVED)
    assert list((tmp_path / "cache").iterdir()) == []
