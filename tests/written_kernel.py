"""A kernel and its launch spec, written to a folder and judged as `tileverify check` judges them."""

from __future__ import annotations

from pathlib import Path

from tileverify.contract.launch import KernelUnit
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.results import KernelResult


def written(folder: Path, source: str | bytes, spec: str, name: str = "kernel") -> Path:
    """The file.  ``source``: Python, or bytecode.  ``spec``: a whole one, or the keys of its launch; empty: none."""
    file = folder / f"{name}.{'py' if isinstance(source, str) else 'tileirbc'}"
    file.write_bytes(source.encode() if isinstance(source, str) else source)
    if spec:
        whole = spec if spec.lstrip().startswith("[[") else f"[[launch]]\n{spec}\n"
        file.with_suffix(".tileverify.toml").write_text(whole)
    return file


def judged(
    folder: Path, source: str | bytes, spec: str, options: CheckOptions | None = None, *, name: str = "kernel",
    kernel: str = "",
) -> KernelResult:  # fmt: skip
    """Of the only launch, or of that of ``kernel``."""
    file = written(folder, source, spec, name)
    target = f"{file}::{kernel}" if kernel else str(file)
    (result,) = check_paths([target], options=options or CheckOptions()).results
    return result


def unit_at(target: object) -> KernelUnit:
    """The only kernel with a launch under a target: a file, or ``FILE::KERNEL``."""
    (unit,) = discover([str(target)])
    assert isinstance(unit, KernelUnit), unit.error
    return unit
