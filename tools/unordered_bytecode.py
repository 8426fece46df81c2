"""Writes the corpus' bytecode without token order: python tools/unordered_bytecode.py

cuda.tile has a testing switch that leaves the token order pass out.  What it then writes is what a faulty compiler
would: each kernel's own memory operations are unordered.  The switch is private, hence the files are committed.
"""

from __future__ import annotations

import io
import linecache
import os
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["CUDA_TILE_TESTING_DISABLE_TOKEN_ORDER"] = "1"

import cuda.tile as ct
from cuda.tile import compilation

from tileverify.system.printable import source_lines

ORDER = Path(__file__).resolve().parents[1] / "src" / "tileverify" / "corpus" / "order"
BYTECODE_VERSION = "13.3"


def import_under_bare_name(path: Path) -> ModuleType:
    """Imports a kernel file so that its debug information names the file alone, not where it lies on this machine."""
    text = path.read_text(encoding="utf-8")
    linecache.cache[path.name] = (len(text), None, source_lines(text), path.name)
    module = ModuleType(path.stem)
    module.__file__ = path.name
    exec(compile(text, path.name, "exec"), module.__dict__)
    return module


def array(rank: int) -> compilation.ArrayConstraint:
    """A contiguous float32 array of any size that aliases nothing."""
    return compilation.ArrayConstraint(
        ct.float32,
        rank,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=[None] * (rank - 1) + [1],
    )


def write(source: str, kernel: str, parameters: list[Any]) -> None:
    """Exports ``kernel`` of ``source`` into ``<source>_unordered.tileirbc``; the entry symbol ends in the same word."""
    module = import_under_bare_name(ORDER / f"{source}.py")
    signature = compilation.KernelSignature(
        parameters,
        calling_convention=compilation.CallingConvention.cutile_python_v2(),
        symbol=f"{kernel}_unordered",
    )
    out = io.BytesIO()
    compilation.export_kernel(
        getattr(module, kernel),
        [signature],
        out,
        output_format="tileir_bytecode",
        bytecode_version=BYTECODE_VERSION,
    )
    target = ORDER / f"{source}_unordered.tileirbc"
    target.write_bytes(out.getvalue())
    print(f"{target.name}: {len(out.getvalue())} bytes")


if __name__ == "__main__":
    write("scratch_row", "scratch_row", [array(2), array(2), array(2), 128])
    write("loop_carried", "running_sum", [array(2), array(2), 128])
    write("two_stores", "store_twice", [array(1), array(1), 128])
