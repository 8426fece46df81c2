"""The command ``doctor``: what works on this machine, and what is missing for the rest."""

from __future__ import annotations

import ctypes
import enum
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata, util
from typing import Final

import click

from ..pipeline.verdict_cache import clear, default_folder
from ..results.codes import TV
from ..system.atomic_file import problem_of
from ..system.errors import TileVerifyError, failure_sentence
from ..system.own_files import PACKAGE
from ..system.version import __version__
from .shell import Working, emit, use_color

_EXIT_CODES = """\b
Exit codes:
  0  `check` works here; what is absent is for other commands
  2  something that is needed is broken
"""


@click.command(epilog=_EXIT_CODES)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.pass_context
def doctor(context: click.Context, format_: str, color: str) -> None:
    """Look at what works on this machine: versions, solver, compiler, assembler, driver, GPUs, sandbox, cache.

    It proves one kernel and refutes another; no GPU is needed.
    """

    with Working(live=False):
        found = list(examine())
    if format_ == "json":
        import json

        rows = [
            {"name": each.name, "state": each.state.value, "found": each.found, "advice": each.advice} for each in found
        ]
        emit(json.dumps({"schema": "tileverify/doctor/1", "diagnoses": rows}, indent=2) + "\n")
    else:
        from ..system.printable import printable

        colors = {HealthState.OK: "green", HealthState.ABSENT: "yellow", HealthState.BROKEN: "red"}
        colored = use_color(color)
        lines = []
        for each in found:
            state = f"{each.state.value:7}"
            head = click.style(state, fg=colors[each.state]) if colored else state
            advice = f"; {each.advice}" if each.advice else ""
            lines.append(f"{head} {each.name:14} {printable(each.found + advice)}\n")
        emit("".join(lines))
    context.exit(2 if any(each.state is HealthState.BROKEN for each in found) else 0)


# ---------------------------------------------------------------------------------------------------------------- clean
# The command ``clean``.


@click.command()
def clean() -> None:
    """Remove kept verdicts, of this and of other versions, so that `check` proves everything anew.

    They lie in TILEVERIFY_CACHE_DIR, or else in the user's cache folder (`doctor` says where); whatever else is there,
    machine code of launches among it, stays.
    """
    folder = default_folder()
    count, size = clear(folder)
    emit(f"{folder}: {count} files removed, {size / (1 << 20):.1f} MB\n")


# --------------------------------------------------------------------------------------------------------------- health
# What works on this machine, and what is missing for the rest.


# ------------------------------------------------------------------------------------------------------------ diagnosis
# One thing that was looked at.


class HealthState(enum.Enum):
    OK = "ok"
    ABSENT = "absent"  # something can do without it
    BROKEN = "broken"  # `check` needs it, or it is there and does not work


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """``name`` is for machines, ``found`` what there is, ``advice`` what to do where something is amiss."""

    name: str
    state: HealthState
    found: str
    advice: str = ""


# ---------------------------------------------------------------------------------------------------------- cuda driver
# The CUDA driver and its devices, asked through ``ctypes`` so that no GPU package is needed to find out.


_LIBRARY: Final = "libcuda.so.1"
_MAJOR: Final = 75  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
_MINOR: Final = 76
_WITHOUT: Final = "proofs and `run` need none; launches of NumPy arrays run in the interpreter"


def driver_and_devices() -> Iterator[Diagnosis]:
    """The driver, then each GPU."""
    try:
        cuda = ctypes.CDLL(_LIBRARY)
    except OSError:
        yield Diagnosis("driver", HealthState.ABSENT, f"no {_LIBRARY}", _WITHOUT)
        return
    status = cuda.cuInit(0)
    if status:
        yield Diagnosis("driver", HealthState.ABSENT, f"{_LIBRARY} is there, but cuInit says {status}", _WITHOUT)
        return
    number, count = ctypes.c_int(0), ctypes.c_int(0)
    cuda.cuDriverGetVersion(ctypes.byref(number))
    cuda.cuDeviceGetCount(ctypes.byref(count))
    yield Diagnosis("driver", HealthState.OK, f"CUDA {number.value // 1000}.{number.value % 1000 // 10}")
    if not count.value:
        yield Diagnosis("gpu", HealthState.ABSENT, "the driver sees no device", _WITHOUT)
    for ordinal in range(count.value):
        yield _device(cuda, ordinal)


def _device(cuda: ctypes.CDLL, ordinal: int) -> Diagnosis:
    device, name = ctypes.c_int(0), ctypes.create_string_buffer(256)
    if cuda.cuDeviceGet(ctypes.byref(device), ordinal) or cuda.cuDeviceGetName(name, len(name), device):
        return Diagnosis("gpu", HealthState.BROKEN, f"device {ordinal} does not say what it is", "look at nvidia-smi")
    capability = []
    for attribute in (_MAJOR, _MINOR):
        value = ctypes.c_int(0)
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        capability.append(str(value.value))
    return Diagnosis("gpu", HealthState.OK, f"{name.value.decode(errors='replace')}, sm_{''.join(capability)}")


# ---------------------------------------------------------------------------------------------------------------- looks
# All that is looked at, in order: what `check` needs first.


_EXTRAS: Final = (
    ("recheck", "cvc5", "confirm proofs with a second solver"),
    ("html", "jinja2", "write pages"),
    ("sign", "cryptography", "sign bundles"),
    ("cuda", "cuda.bindings", "launch on a GPU"),
    ("watch", "watchfiles", "check again when a file changes"),
    ("lsp", "pygls", "serve an editor"),
    ("mcp", "mcp", "serve the gate to a model"),
)
"""Extra, a module that it brings, what it is for."""


def examine() -> Iterator[Diagnosis]:
    """One diagnosis after the other; what goes wrong while looking is one, too."""
    for name, look in _LOOKS:
        try:
            yield from look()
        except Exception as error:  # the doctor must not die of the disease
            yield Diagnosis(name, HealthState.BROKEN, failure_sentence(error))


def _versions() -> Iterator[Diagnosis]:
    python = f"{platform.python_version()} at {sys.executable}, {platform.platform()}"
    yield Diagnosis("tileverify", HealthState.OK, f"{__version__} at {PACKAGE}")
    yield Diagnosis("python", HealthState.OK, python)


def _solver() -> Iterator[Diagnosis]:
    from ..verifier.smt import solver_version

    yield Diagnosis("solver", HealthState.OK, solver_version())


def _compiler() -> Iterator[Diagnosis]:
    try:
        found = metadata.version("cuda-tile")
    except metadata.PackageNotFoundError:
        yield Diagnosis("cuda.tile", HealthState.BROKEN, "not installed", "pip install cuda-tile")
        return
    yield Diagnosis("cuda.tile", HealthState.OK, found)


def _pipeline() -> Iterator[Diagnosis]:
    """Compiles, proves and refutes: the first example of `explain`."""
    from ..corpus.examples import examples_of
    from ..pipeline import check_paths

    shown = examples_of(TV.RACE_WRITE_WRITE)
    assert shown is not None
    for name, example in (("proof", shown.right), ("refutation", shown.wrong)):
        (result,) = check_paths([example.target]).results
        told = f"{result.kernel} is {result.verdict.value}"
        if result.verdict is example.verdict:
            yield Diagnosis(name, HealthState.OK, told)
        else:
            message = f": {result.findings[0].message}" if result.findings else ""
            advice = "run `tileverify --traceback check` on it, and please report it"
            yield Diagnosis(name, HealthState.BROKEN, f"{told}, not {example.verdict.value}{message}", advice)


def _assembler() -> Iterator[Diagnosis]:
    from ..backend.assembler import AssemblyError, find_assembler

    try:
        assembler = find_assembler()
    except AssemblyError:
        advice = "`build` and launches on a GPU need it: pip install 'tileverify[assemble]'"
        yield Diagnosis("tileiras", HealthState.ABSENT, "not installed", advice)
        return
    yield Diagnosis("tileiras", HealthState.OK, f"{assembler.version} at {assembler.path}")


def _tile_cpp() -> Iterator[Diagnosis]:
    from ..frontend.sources.bytecode_file import compiles_tile_code, find_nvcc

    found = find_nvcc()
    advice = "CUDA Tile C++ (.cu) needs nvcc 13.3 or later: pip install 'tileverify[assemble]'"
    if found is None:
        yield Diagnosis("nvcc", HealthState.ABSENT, "not installed", advice)
    elif not compiles_tile_code(found):
        yield Diagnosis("nvcc", HealthState.ABSENT, f"{found} does not compile tile code", advice)
    else:
        yield Diagnosis("nvcc", HealthState.OK, str(found))


def _sandbox() -> Iterator[Diagnosis]:
    from ..gating.sandbox.isolation import usable_kinds

    try:
        yield Diagnosis("sandbox", HealthState.OK, f"seccomp with {' or '.join(usable_kinds('auto'))}")
    except TileVerifyError as error:
        yield Diagnosis("sandbox", HealthState.ABSENT, "`gate` refuses to run here", str(error))


def _cache() -> Iterator[Diagnosis]:
    folder = default_folder()
    if (problem := problem_of(folder)) is not None:
        yield Diagnosis(
            "cache", HealthState.BROKEN, f"{folder} is not used: {problem}", "name another: TILEVERIFY_CACHE_DIR"
        )
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        advice = "every run proves everything anew; name another folder with TILEVERIFY_CACHE_DIR"
        yield Diagnosis("cache", HealthState.ABSENT, f"{folder} cannot be written ({error.strerror or error})", advice)
        return
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / (1 << 20)
    yield Diagnosis("cache", HealthState.OK, f"{folder}, {len(files)} files, {size:.1f} MB")


def _configuration() -> Iterator[Diagnosis]:
    from ..pipeline.configuration import configuration

    try:
        found = configuration().file
    except TileVerifyError as error:
        yield Diagnosis("configuration", HealthState.BROKEN, str(error), "mend the file, or give --isolated")
        return
    yield Diagnosis(
        "configuration", HealthState.OK, f"{found}" if found else "none: no [tool.tileverify] here or above"
    )


def _extras() -> Iterator[Diagnosis]:
    for extra, module, purpose in _EXTRAS:
        if _is_installed(module):
            yield Diagnosis(extra, HealthState.OK, f"{module} is installed: {purpose}")
        else:
            yield Diagnosis(
                extra, HealthState.ABSENT, f"{module} is not installed", f"{purpose}: pip install 'tileverify[{extra}]'"
            )


def _is_installed(module: str) -> bool:
    try:
        return util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


_LOOKS: Final[tuple[tuple[str, Callable[[], Iterator[Diagnosis]]], ...]] = (
    ("tileverify", _versions),
    ("solver", _solver),
    ("cuda.tile", _compiler),
    ("proof", _pipeline),
    ("configuration", _configuration),
    ("cache", _cache),
    ("tileiras", _assembler),
    ("nvcc", _tile_cpp),
    ("driver", driver_and_devices),
    ("sandbox", _sandbox),
    ("extras", _extras),
)
