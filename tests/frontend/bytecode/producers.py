"""Bytecode from its real producers: cuTile Python's exporter and nvcc.

    python -m tests.frontend.bytecode.producers DIRECTORY [--all]

writes the files of `RECORDED` (or everything), and the hand-made samples in the oldest and newest version, with the
text of the installed tileirdisasm beside them.  The recorded files hold the paths of the machine that made them, so
make them where those say nothing (a link such as /src), with a tileirdisasm that knows every version.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import subprocess
from pathlib import Path
from types import ModuleType

from tests.toolkit import find_tool

from tileverify.frontend.bytecode import encode

from .disassembly import disassemble, find_disassembler
from .samples import sample, samples

Version = tuple[int, int]
KERNELS = Path(__file__).parent / "kernels"
CUTILE_VERSIONS: tuple[Version, ...] = ((13, 1), (13, 2), (13, 3), (13, 4))
NEWEST: Version = (13, 5)
RECORDED = frozenset(
    [
        "atomics_13.4",
        "casts_13.4",
        "control_13.1",
        "control_13.4",
        "dependent_launch_13.4",
        "double_maximum_13.4",
        "elementary_13.3",
        "helpers_13.4",
        "hinted_13.4",
        "inserting_13.4",
        "integers_13.2",
        "lists_13.4",
        "matmul_13.1",
        "matmul_13.2",
        "matmul_13.3",
        "matmul_13.4",
        "matmul_aligned_13.4",
        "overlapping_views_13.3",
        "packing_13.3",
        "persistent_13.2",
        "printing_13.1",
        "printing_13.4",
        "reductions_13.4",
        "scaled_product_13.3",
        "scatter_gather_13.3",
        "shapes_13.1",
        "slices_13.4",
        "softmax_13.4",
        "transposed_views_13.4",
        "vector_add_13.1",
    ]
)


def cutile_kernels(source: Path = KERNELS / "cutile.py") -> ModuleType:
    specification = importlib.util.spec_from_file_location("cutile_kernels", source)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def export(kernels: ModuleType, name: str, version: Version) -> bytes:
    """The bytecode of one kernel of ``kernels.EXPORTS``; older versions need an architecture."""
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    kernel, parameters, _ = kernels.EXPORTS[name]
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1(), symbol=name)
    file = io.BytesIO()
    export_kernel(
        kernel,
        [signature],
        file,
        output_format="tileir_bytecode",
        bytecode_version=f"{version[0]}.{version[1]}",
        gpu_code="sm_100",
    )
    return file.getvalue()


def exports(kernels: ModuleType) -> list[tuple[str, Version]]:
    """Every kernel in every version that can express it."""
    return [
        (name, version)
        for name, (_, _, since) in kernels.EXPORTS.items()
        for version in CUTILE_VERSIONS
        if version >= since
    ]


def compile_cpp(source: Path, target: Path, nvcc: Path) -> None:
    """Tile C++ to bytecode, in the newest version that ``nvcc`` writes."""
    command = [nvcc, "-std=c++20", "--enable-tile", "--tilebc", "-arch=sm_90", source, "-o", target]
    subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kernels", type=Path, default=KERNELS, help="folder of the kernels (%(default)s)")
    parser.add_argument("--nvcc", action="append", type=Path, help="compilers for the Tile C++ kernels")
    parser.add_argument("--all", action="store_true", help="not only the recorded ones")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    kernels = cutile_kernels(options.kernels / "cutile.py")
    for name, version in exports(kernels):
        target = options.directory / f"{name}_{version[0]}.{version[1]}.tileirbc"
        if options.all or target.stem in RECORDED:
            target.write_bytes(export(kernels, name, version))
    for nvcc in options.nvcc or filter(None, [find_tool("nvcc")]):
        for source in sorted(options.kernels.glob("*.cu")):
            target = options.directory / f"{source.stem}.tileirbc"
            compile_cpp(source, target, nvcc)
            data = target.read_bytes()
            target.rename(target.with_name(f"{source.stem}_nvcc_{data[8]}.{data[9]}.tileirbc"))
    for name, version in samples():
        if options.all or version in (CUTILE_VERSIONS[0], NEWEST):
            target = options.directory / f"sample_{name}_{version[0]}.{version[1]}.tileirbc"
            target.write_bytes(encode(sample(name, version)))
    tool = find_disassembler()
    if tool is None:
        return
    for file in sorted(options.directory.glob("*.tileirbc")):
        file.with_suffix(".txt").write_text(disassemble(file, tool, locations=True), encoding="utf-8")


if __name__ == "__main__":
    main()
