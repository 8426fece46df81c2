"""What comparisons of the library on a GPU share: signed bundles and nothing else, rows, a file, a table, an end.

    python -m benchmarks.gpu.library... FOLDER KEY.pub OUT [--largest N] [--seconds S]

Nothing is compiled: a kernel without a bundle is an error of its row.  Where there is no GPU the kernels of the bundles
run in the interpreter (``--largest 10000`` leaves out what would take long there).  Writes a JSON file and a table into
``OUT``; exits with 1 where anything disagrees, was refused or was not tried, and with 2 where there is nothing to try.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from tileverify import kernels
from tileverify.kernels import prepared


@dataclass(frozen=True, slots=True)
class Row:
    """``dtype``: or the package of the arrays.  ``error``: the largest; ``gradients``: the errors of these.

    ``why``: what went wrong, if it was no number.
    """

    function: str
    dtype: str
    shape: tuple[int, ...]
    error: float
    gradients: tuple[float, ...]
    same_again: bool
    fine: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """One row to be made.  ``largest``: elements of the largest array that comes in."""

    function: str
    dtype: str
    shape: tuple[int, ...]
    largest: int
    compare: Callable[[], Row]

    def failed(self, why: str) -> Row:
        return Row(self.function, self.dtype, self.shape, float("inf"), (), same_again=False, fine=False, why=why)


def no_kernel(module: str, name: str) -> Any:
    raise LookupError(f"there is no bundle for {module}.{name}")


def rows_of(trials: Iterable[Trial], largest: int | None, seconds: float) -> Iterator[Row]:
    """The rows of all trials with arrays of at most ``largest`` elements.  One that fails does not end the others."""
    begun = time.monotonic()
    for trial in trials:
        if largest is not None and trial.largest > largest:
            continue
        if time.monotonic() - begun > seconds:
            yield trial.failed("no time was left for it")
            continue
        try:
            found = trial.compare()
        except Exception as error:  # whatever the driver, a package or a contract says is what the row tells
            found = trial.failed(f"{type(error).__name__}: {error}")
        if not found.fine:
            print(f"not fine: {found}", flush=True)
        yield found


def main(name: str, about: str | None, trials: Callable[[], Iterable[Trial]], argv: Sequence[str] | None = None) -> int:
    """Of the command that ``about`` describes; ``name``: of the files that it writes."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--largest", type=int, help="elements of the largest array that is tried")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no further row begins")
    asked = parser.parse_args(argv)
    prepared.kernel_of = no_kernel  # type: ignore[assignment]
    bundles = kernels.use(asked.folder, keys=[asked.key], only_signed=True)
    begun = time.monotonic()
    rows = list(rows_of(trials(), asked.largest, asked.seconds))
    about_it = {"bundles": bundles, "seconds": round(time.monotonic() - begun), **machine()}
    asked.out.mkdir(parents=True, exist_ok=True)
    document = {**about_it, "rows": [asdict(each) for each in rows]}
    (asked.out / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    text = "\n".join(table(rows, about_it)) + "\n"
    (asked.out / f"{name}.md").write_text(text, encoding="utf-8")
    print(text, flush=True)
    if not rows:
        return 2
    return 0 if all(each.fine for each in rows) else 1


def machine() -> dict[str, str]:
    """What results depend on."""
    found = {"Python": platform.python_version()}
    for package in ("torch", "cupy-cuda13x", "jax"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    try:
        import torch
    except ImportError:
        return found
    if torch.cuda.is_available():
        found["GPU"] = torch.cuda.get_device_name()
    return found


def table(rows: Sequence[Row], about: dict[str, Any]) -> Iterator[str]:
    """One line a function and type: the largest errors over all shapes."""
    fine = sum(each.fine for each in rows)
    yield f"{', '.join(f'{name} {value}' for name, value in about.items())}: {fine} of {len(rows)} agree"
    yield ""
    yield "| function | type | rows | error | of gradients | same again |"
    yield "|---|---|---:|---:|---:|---|"
    for name, dtype in dict.fromkeys((each.function, each.dtype) for each in rows):
        own = [each for each in rows if (each.function, each.dtype) == (name, dtype)]
        errors = [e for each in own for e in each.gradients]
        gradients = f"{max(errors):.1e}" if errors else ""
        largest = max(each.error for each in own)
        again = "yes" if all(each.same_again for each in own) else "NO"
        yield f"| {name} | {dtype} | {len(own)} | {largest:.1e} | {gradients} | {again} |"
    yield from (f"\nnot fine: {each}" for each in rows if not each.fine)
