"""A kernel whose source was changed, compiled for the launch that the unchanged one has."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...contract.launch import KernelUnit
from ...system.errors import SourceError
from ...system.notebook_cells import cell_text
from .cutile import compile_kernel, kernels_of_file
from .edited_cell import Compile, edited_cell
from .importing import visible
from .python_scan import scan_python


def edited_unit(unit: KernelUnit, text: str, compiled: Compile | None = None) -> KernelUnit:
    """``unit`` compiled from ``text`` in place of its file, which is not touched, or of its notebook's cell.

    ``compiled``: how a kernel is compiled for its launch, where that does not say it all, as those of calls do not.
    Raises `SourceError` or `SpecError` where the text does not compile, and where it cannot be imported from elsewhere
    (relative imports).
    """
    compiled = compiled or partial(compile_kernel, spec=unit.launch)
    if (cell := cell_text(str(unit.file))) is not None:
        return edited_cell(unit, cell, text, compiled)
    with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
        file = Path(folder) / unit.file.name
        file.write_text(text, encoding="utf-8")
        scan = scan_python(file)
        if scan.relative:
            raise SourceError("a file with relative imports cannot be tried elsewhere", str(unit.file))
        with visible(unit.file.resolve().parent):
            kernels = kernels_of_file(file, scan)
        for kernel in kernels:
            if kernel.name == unit.kernel:
                return replace(compiled(kernel), notes=unit.notes)
    raise SourceError(f"the changed source has no kernel '{unit.kernel}'", str(unit.file))
