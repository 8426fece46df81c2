"""Files of CUDA Tile C++ are known by the text that nvcc hands to its compiler: headers wherever they lie, flags."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tileverify.frontend.sources import bytecode_file
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.results import Verdict

KERNEL = """\
#include "cuda_tile.h"
#include "shift.h"

namespace ct = cuda::tiles;

extern "C" __tile_global__ void keep(const float *__restrict__ x, float *__restrict__ out, int n) {
    const int i = ct::bid().x;
    auto in = ct::partition_view{ct::tensor_span{x, ct::extents{n}}, ct::shape<64>{}};
    auto to = ct::partition_view{ct::tensor_span{out, ct::extents{n}}, ct::shape<64>{}};
    to.store_masked(in.load_masked(i), i SHIFT);
}
"""
SPEC = '[[launch]]\nkernel = "keep"\ngrid = ["cdiv(N, 64)"]\nargs = { x = "f32[N]", out = "f32[N]", n = "i32 = N" }\n'


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "shift.h").write_text("#define SHIFT\n")
    monkeypatch.setenv("CPATH", f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    path = tmp_path / "keep.cu"
    path.write_text(KERNEL)
    path.with_name("keep.tileverify.toml").write_text(SPEC)
    return path


def checked(source: Path, *, page: bool = False) -> tuple[Verdict, bool]:
    """The verdict, and whether it was known."""
    options = CheckOptions(cache=source.parent / "cache", details=page, playback=page)
    (result,) = check_paths([str(source)], options=options).results
    return result.verdict, result.cached


def in_front(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source.parent / "first" / "shift.h").write_text("#define SHIFT / 2\n")


def beside(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source.parent / "shift.h").write_text("#define SHIFT / 2\n")


def another_text(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source.parent / "second" / "shift.h").write_text("#define SHIFT / 2\n")


def the_source(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source.write_text(KERNEL.replace("i SHIFT", "i / 2"))


def flags(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source.parent / "second" / "shift.h").write_text("#ifndef SHIFT\n#define SHIFT\n#endif\n")
    assert checked(source)[0] is Verdict.PROVED
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DSHIFT=/2")


@pytest.mark.assembler("nvcc")
@pytest.mark.parametrize("change", [in_front, beside, another_text, the_source, flags])
def test_whatever_changes_is_compiled_again(
    source: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path, pytest.MonkeyPatch], None]
) -> None:
    assert checked(source) == (Verdict.PROVED, False)
    change(source, monkeypatch)
    assert checked(source)[0] is Verdict.REFUTED


@pytest.mark.assembler("nvcc")
@pytest.mark.parametrize("page", [False, True])
def test_what_did_not_change_is_not(source: Path, monkeypatch: pytest.MonkeyPatch, page: bool) -> None:
    assert checked(source, page=page)[0] is Verdict.PROVED

    def compile_again(path: Path) -> bytes:
        raise AssertionError(path)

    monkeypatch.setattr(bytecode_file, "compile_tile_cpp", compile_again)
    assert checked(source, page=page) == (Verdict.PROVED, True)
    (source.parent / "first" / "other.h").write_text("")
    assert checked(source, page=page) == (Verdict.PROVED, True)


# ------------------------------------------------------------------------------------------ any nvcc
NVCC = """\
#!/bin/sh
case "$*" in
*-E*) cat {source};;
*--dryrun*)
    echo '#$ CICC_PATH={folder}' >&2
    echo "#\\$ gcc -E /tmp/tmpxft_0000$$_00000000-5_k.ii" >&2
    echo '#$ "$CICC_PATH/cicc" --tile-only {flags}' >&2
    {more};;
esac
"""


def test_steps_and_programs_are_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc, source, cicc = tmp_path / "nvcc", tmp_path / "k.cu", tmp_path / "cicc"
    monkeypatch.setattr(bytecode_file, "find_nvcc", lambda: nvcc)

    def digest(flags: str = "", more: str = "true", text: str = "k", program: str = "cicc") -> str | None:
        script = NVCC.format(source=source, folder=tmp_path, flags=flags, more=more)
        if not nvcc.exists() or nvcc.read_text() != script:
            nvcc.write_text(script)
            nvcc.chmod(0o755)
        source.write_text(text)
        if not cicc.exists() or cicc.read_text() != program:
            cicc.write_text(program)
        return bytecode_file.translation(source)

    usual = digest()
    assert usual is not None
    assert digest() == usual, "temporary names are no part of it"
    others = [digest(flags="-ftz=1"), digest(text="k2"), digest(program="another")]
    assert None not in others
    assert len({usual, *others}) == 4
    assert digest(more="echo '#$ gcc -E again' >&2") is None, "another step, of which nothing is known"
    assert digest(more="exit 1") is None
    cicc.unlink()
    assert bytecode_file.translation(source) is None


def test_without_nvcc_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytecode_file, "find_nvcc", lambda: None)
    assert bytecode_file.translation(tmp_path / "k.cu") is None
