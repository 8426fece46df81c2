"""Machine code on disk: made once, checked, and bounded in size."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import pytest

from tileverify.backend.assembler import Assembled, AssemblyError
from tileverify.launching.launcher import CubinCache


@dataclass
class Maker:
    """An assembler that says what it was asked."""

    version: str = "13.4.92"
    made: list[tuple[bytes, str]] = field(default_factory=list)

    def assembled(self, bytecode: bytes, architecture: str) -> Assembled:
        self.made.append((bytecode, architecture))
        return Assembled(b"cubin of " + bytecode + architecture.encode() + self.version.encode(), None, None)


def unlooked(made: Assembled) -> None:
    """Whatever was made is right."""


def cache(folder: Path, maker: Maker, **options: int) -> CubinCache:
    return CubinCache(folder, maker, **options)  # type: ignore[arg-type]


def test_a_cubin_is_made_once(tmp_path: Path) -> None:
    maker = Maker()
    first = cache(tmp_path / "new", maker).cubin(b"a", "sm_90", unlooked)
    assert cache(tmp_path / "new", maker).cubin(b"a", "sm_90", unlooked) == first == b"cubin of asm_9013.4.92"
    assert maker.made == [(b"a", "sm_90")]


def test_bytecode_architecture_and_version_tell_cubins_apart(tmp_path: Path) -> None:
    maker = Maker()
    for bytecode, architecture, version in ((b"a", "sm_90", "1"), (b"b", "sm_90", "1"), (b"a", "sm_80", "1")):
        maker.version = version
        cache(tmp_path, maker).cubin(bytecode, architecture, unlooked)
    maker.version = "2"
    cache(tmp_path, maker).cubin(b"a", "sm_90", unlooked)
    assert len(maker.made) == 4


def test_a_damaged_file_counts_as_absent(tmp_path: Path) -> None:
    maker = Maker()
    for damage in (lambda data: data[:-1], lambda data: b"", lambda data: data[:-1] + b"!", lambda data: data[:20]):
        cache(tmp_path, maker).cubin(b"a", "sm_90", unlooked)
        (file,) = tmp_path.glob("*.cubin")
        file.write_bytes(damage(file.read_bytes()))
        made = len(maker.made)
        assert cache(tmp_path, maker).cubin(b"a", "sm_90", unlooked) == b"cubin of asm_9013.4.92"
        assert len(maker.made) == made + 1


def test_a_file_of_another_kernel_counts_as_absent(tmp_path: Path) -> None:
    maker = Maker()
    cache(tmp_path, maker).cubin(b"a", "sm_90", unlooked)
    (file,) = tmp_path.glob("*.cubin")
    other = cache(tmp_path, maker).cubin(b"b", "sm_90", unlooked)
    (theirs,) = set(tmp_path.glob("*.cubin")) - {file}
    theirs.write_bytes(file.read_bytes())
    assert cache(tmp_path, maker).cubin(b"b", "sm_90", unlooked) == other


def test_the_oldest_go_first(tmp_path: Path) -> None:
    maker = Maker()
    kept = cache(tmp_path, maker, most_bytes=120)
    for number in range(5):
        kept.cubin(bytes([number]), "sm_90", unlooked)
        for file in tmp_path.glob("*.cubin"):
            os.utime(file, (file.stat().st_atime - 10, file.stat().st_mtime - 10))
    assert len(list(tmp_path.glob("*.cubin"))) == 2
    maker.made.clear()
    kept.cubin(bytes([4]), "sm_90", unlooked)
    assert not maker.made


def test_threads_make_one_cubin(tmp_path: Path) -> None:
    maker = Maker()
    shared = cache(tmp_path, maker)
    threads = [threading.Thread(target=shared.cubin, args=(b"a", "sm_90", unlooked)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(maker.made) == 1


def made_by_a_process(folder: Path, first: int) -> int:
    """How many of fifty cubins, made and made room for beside other processes, were read as something else."""
    maker = Maker()
    kept = cache(folder, maker, most_bytes=600)
    names = [str((first + number) % 40).encode() for number in range(50)]
    return sum(kept.cubin(name, "sm_90", unlooked) != b"cubin of " + name + b"sm_9013.4.92" for name in names)


def test_processes_may_share_a_folder(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("fork")) as pool:
        assert sum(pool.map(made_by_a_process, [tmp_path] * 4, (0, 10, 20, 30))) == 0
    assert {file.suffix for file in tmp_path.iterdir()} == {".cubin"}, "a file was left half"


def test_what_is_refused_is_not_kept(tmp_path: Path) -> None:
    """Machine code is looked at before it is kept, and what is kept is not looked at again."""

    def refuse(made: Assembled) -> None:
        raise AssemblyError("no")

    maker = Maker()
    with pytest.raises(AssemblyError):
        cache(tmp_path, maker).cubin(b"a", "sm_90", refuse)
    assert not list(tmp_path.glob("*.cubin"))
    cache(tmp_path, maker).cubin(b"a", "sm_90", unlooked)
    assert cache(tmp_path, maker).cubin(b"a", "sm_90", refuse) == b"cubin of asm_9013.4.92"
    assert len(maker.made) == 2
