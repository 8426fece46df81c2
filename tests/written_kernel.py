"""A kernel and its launch spec, written to a folder and judged as `tileverify check` judges them."""

from __future__ import annotations

from pathlib import Path

from tileverify.pipeline import CheckOptions, check_paths
from tileverify.results import KernelResult


def judged(
    folder: Path, source: str | bytes, spec: str, options: CheckOptions | None = None, *, name: str = "kernel",
    kernel: str = "",
) -> KernelResult:  # fmt: skip
    """``source``: Python, or bytecode.  ``spec``: a whole one, the keys of its only launch, or none if empty.

    ``name`` is the file's, without ending; ``kernel`` the one that is asked for where the source has several.
    """
    file = folder / f"{name}.{'py' if isinstance(source, str) else 'tileirbc'}"
    file.write_bytes(source.encode() if isinstance(source, str) else source)
    if spec:
        whole = spec if spec.lstrip().startswith("[[") else f"[[launch]]\n{spec}\n"
        file.with_suffix(".tileverify.toml").write_text(whole)
    target = f"{file}::{kernel}" if kernel else str(file)
    (result,) = check_paths([target], options=options or CheckOptions()).results
    return result
