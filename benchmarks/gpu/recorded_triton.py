"""Recorded Triton kernels from bundles, beside what Triton's own compiler makes of the same Triton IR.

    python -m benchmarks.gpu.recorded_triton prepare OUT RECORDING...   # without a GPU; needs triton and tileiras
    python -m benchmarks.gpu.recorded_triton run OUT                    # on the GPU

`prepare` proves, assembles and signs one launch of each kernel in the recordings, and has Triton compile the recorded
IR for sm_90, once as it is and once with products of f32 in f32 (`ieee`) for those that take them in tf32.  `run` gives
all three the same arrays, seeded, and compares them afterwards, as relative differences in the 2-norm.  Both in tf32
must lie as near to the third.  Arrays of integers hold what the facts observed of them allow; a launch whose integers
nobody knows is left out.  Times are of the GPU alone: medians of replayed graphs of many launches.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

ARCHITECTURE: Final = 90
MOST_BYTES: Final = 1 << 30
ROUNDING: Final = {"f64": 1e-12, "f32": 2e-3, "f16": 5e-3, "bf16": 3e-2, "f8e4m3": 0.1, "f8e5m2": 0.2}
"""Most relative difference; of f32, where products may be taken in tf32 and no third result is there."""
TF32: Final = ("inputPrecision = tf32", "inputPrecision = ieee")
LAUNCHES: Final = 20
"""In one graph."""


@dataclass(frozen=True)
class Prepared:
    """One launch: files beside the list, and how Triton's cubin is launched."""

    name: str
    kernel: str
    package: str
    grid: tuple[int, ...]
    arguments: list[dict[str, Any]]
    symbol: str
    shared: int
    threads: int
    scratch: int
    exact_shared: int = 0


# ------------------------------------------------------------------------------------------------------- preparing
def prepare(folder: Path, recordings: Sequence[Path]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    key = folder / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key)], check=True)
    subprocess.run(["openssl", "pkey", "-in", str(key), "-pubout", "-out", str(folder / "key.pub")], check=True)
    made: list[Prepared] = []
    left: list[tuple[str, str]] = []
    for recording in recordings:
        index = json.loads((recording / "index.json").read_text())
        known: set[str] = set()
        for entry in index["specialisations"]:
            if entry["kernel"] in known or entry.get("producer") != "triton":
                continue
            reason = _reason_against(entry) or _prepared(recording, entry, folder, made)
            if reason is None:
                known.add(entry["kernel"])
            else:
                left.append((f"{recording.name}/{entry['kernel']}", reason))
            print(f"{recording.name:12} {entry['kernel']:50} {reason or 'ready'}", flush=True)
    (folder / "launches.json").write_text(json.dumps([asdict(each) for each in made], indent=1))
    kernels = {(each.package, each.kernel) for each in made}
    gone = {name for name, _ in left} - {f"{package}/{kernel}" for package, kernel in kernels}
    print(f"{len(made)} kernels are ready, of {len(gone)} no launch is")
    return 0


def _reason_against(entry: Mapping[str, Any]) -> str | None:
    launch = entry["launches"][0]
    size = 0
    facts = " ".join(launch.get("observed", ()))
    for name, argument in zip(entry["parameters"], launch["arguments"], strict=True):
        if argument["kind"] in ("descriptor", "opaque"):
            return f"{name} is a {argument['kind']}"
        if argument["kind"] == "array":
            size += argument["bits"] // 8 * (1 + _last(argument))
            if argument["dtype"][0] in "iu" and f"range({name}," not in facts and f"{name}" in facts:
                return f"what {name} holds is not known"
    return "its arrays are large" if size > MOST_BYTES else None


def _last(argument: Mapping[str, Any]) -> int:
    """The place of the last element, behind the first."""
    return sum((n - 1) * step for n, step in zip(argument["shape"], argument["strides"], strict=True))


def _prepared(recording: Path, entry: Mapping[str, Any], folder: Path, made: list[Prepared]) -> str | None:
    """Adds to ``made``, or says why not."""
    source, name = recording / entry["bytecode"], f"{recording.name}-{Path(entry['bytecode']).stem}"
    target = [f"{source}::{entry['symbol']}::0", "-o", str(folder / f"{name}.tvk"), "--arch", f"sm_{ARCHITECTURE}"]
    command = [sys.executable, "-m", "tileverify", "build", *target, "--sign", str(folder / "key.pem")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        told = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        codes = [line for line in told if "[TV" in line]
        return (codes or told or ["no word"])[0].strip()[:160]
    options = dict(part.split(" = ") for part in entry["options"].strip("{} ").split(", "))
    compiled = _by_triton(source, {key: int(value) for key, value in options.items()})
    (folder / f"{name}.cubin").write_bytes(compiled.asm["cubin"])
    text, exact = source.read_text(), None
    if TF32[0] in text:
        with tempfile.NamedTemporaryFile("w", suffix=".ttir") as file:
            file.write(text.replace(*TF32))
            file.flush()
            exact = _by_triton(Path(file.name), {key: int(value) for key, value in options.items()})
        (folder / f"{name}.exact.cubin").write_bytes(exact.asm["cubin"])
    launch, scratch = entry["launches"][0], compiled.metadata.global_scratch_size
    arguments = [
        {**argument, "name": parameter, "observed": launch.get("observed", ())}
        for parameter, argument in zip(entry["parameters"], launch["arguments"], strict=True)
        if argument["kind"] != "constant"
    ]
    made.append(
        Prepared(
            name,
            entry["kernel"],
            recording.name,
            tuple(launch["grid"]),
            arguments,
            compiled.metadata.name,
            compiled.metadata.shared,
            32 * compiled.metadata.num_warps,
            scratch,
            exact.metadata.shared if exact is not None else 0,
        )
    )
    return None


def _by_triton(source: Path, options: Mapping[str, int]) -> Any:
    warnings.simplefilter("ignore")
    import triton
    from triton.backends.compiler import GPUTarget

    return triton.compile(str(source), target=GPUTarget("cuda", ARCHITECTURE, 32), options=dict(options))


# --------------------------------------------------------------------------------------------------------- running
def run(folder: Path) -> int:
    """A line for each kernel; 1 if results differ by more than rounding."""
    import torch

    import tileverify

    wrong = 0
    for each in json.loads((folder / "launches.json").read_text()):
        made = Prepared(**{**each, "grid": tuple(each["grid"])})
        try:
            verdict, times = _beside_each_other(torch, tileverify, folder, made)
        except Exception as error:  # one kernel must not end the run
            print(f"{made.package:10} {made.kernel:48} FAILED {type(error).__name__}: {str(error)[:140]}", flush=True)
            wrong += 1
            continue
        wrong += verdict.startswith("WRONG")
        print(f"{made.package:10} {made.kernel:48} {verdict:34} {times[0]:8.1f} {times[1]:8.1f}", flush=True)
    return int(wrong > 0)


def _beside_each_other(torch: Any, tileverify: Any, folder: Path, made: Prepared) -> tuple[str, list[float]]:
    theirs, ours, exact = (list(_arguments(torch, made)) for _ in range(3))
    before = [value.clone() if torch.is_tensor(value) else value for value in ours]
    launch = _loaded(torch, folder / f"{made.name}.cubin", made, made.shared)
    bundle = tileverify.load(str(folder / f"{made.name}.tvk"), keys=[str(folder / "key.pub")])

    def proved() -> None:
        stream = torch.cuda.current_stream().cuda_stream
        tileverify.launch(stream, made.grid, bundle, tuple(ours))

    launch(theirs)
    proved()
    third = folder / f"{made.name}.exact.cubin"
    if third.exists():
        _loaded(torch, third, made, made.exact_shared)(exact)
    torch.cuda.synchronize()
    verdict = _compared(torch, made, before, theirs, ours, exact if third.exists() else None)
    theirs_alone = torch.cuda.CUDAGraph()
    with torch.cuda.graph(theirs_alone):
        for _ in range(LAUNCHES):
            launch(theirs)
    with tileverify.graph() as ours_alone:
        for _ in range(LAUNCHES):
            ours_alone.launch(made.grid, bundle, tuple(ours))
    stream = torch.cuda.current_stream().cuda_stream
    return verdict, [_time(theirs_alone.replay), _time(lambda: ours_alone.replay(stream))]


def _arguments(torch: Any, made: Prepared) -> Iterator[Any]:
    """Seeded, so that every call gives the same."""
    generator = torch.Generator(device="cuda").manual_seed(7)
    for argument in made.arguments:
        if argument["kind"] == "array":
            yield _array(torch, generator, argument)
        elif isinstance(argument["value"], str):
            yield float(argument["value"])
        else:
            yield argument["value"]


_DTYPES: Final = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2", "bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32",
    "i64": "int64",
}  # fmt: skip


def _array(torch: Any, generator: Any, argument: Mapping[str, Any]) -> Any:
    dtype, size = getattr(torch, _DTYPES[argument["dtype"]]), 1 + _last(argument) if 0 not in argument["shape"] else 0
    if argument["dtype"][0] == "f" or argument["dtype"] == "bf16":
        flat = (torch.rand(size, device="cuda", generator=generator) * 0.25 + 0.0625).to(dtype)
    elif argument["dtype"] == "bool":
        flat = torch.rand(size, device="cuda", generator=generator) < 0.5
    else:
        low, high = _range(argument)
        flat = torch.randint(low, high, (size,), device="cuda", generator=generator).to(dtype)
        if f"nondecreasing({argument['name']})" in argument["observed"]:
            flat = flat.sort().values
    return torch.as_strided(flat, argument["shape"], argument["strides"])


def _range(argument: Mapping[str, Any]) -> tuple[int, int]:
    for fact in argument["observed"]:
        if fact.startswith(f"range({argument['name']}, "):
            low, high = fact.removeprefix(f"range({argument['name']}, ").rstrip(")").split(", ")
            return int(low), int(high)
    return 0, 1  # nobody knows; what is only written holds anything


def _compared(
    torch: Any,
    made: Prepared,
    before: Sequence[Any],
    theirs: Sequence[Any],
    ours: Sequence[Any],
    exact: Sequence[Any] | None,
) -> str:
    changed, same, worst, wrong = 0, True, (0.0, 0.0), False
    for position, (argument, start, their, our) in enumerate(zip(made.arguments, before, theirs, ours, strict=True)):
        if not torch.is_tensor(start):
            continue
        bits = [each.contiguous().view(torch.uint8) if each.numel() else each for each in (start, their, our)]
        if torch.equal(bits[0], bits[1]) and torch.equal(bits[0], bits[2]):
            continue
        changed += 1
        same = same and torch.equal(bits[1], bits[2])
        found = _difference(their, our)
        allowed = ROUNDING.get(argument["dtype"], 0.0)
        if exact is not None:  # as far from the exact products as Triton's own
            allowed += 3 * _difference(exact[position], their)
            found = _difference(exact[position], our)
        worst = max(worst, (found, allowed))
        wrong = wrong or not found <= allowed
    if not changed:
        return "nothing changes"
    arrays = f"{changed} array{'s' if changed > 1 else ''}"
    if same:
        return f"same bits, {arrays}"
    return f"{'WRONG: ' if wrong else ''}{worst[0]:.1e}{' from exact' if exact is not None else ''}, {arrays}"


def _difference(expected: Any, found: Any) -> float:
    """Relative, in the 2-norm; infinite if they differ in what is no number."""
    expected, found = expected.double(), found.double()
    if (expected.isnan() != found.isnan()).any() or (expected.isinf() != found.isinf()).any():
        return float("inf")
    kept = expected.isfinite()
    return float((expected - found)[kept].norm() / expected[kept].norm().clamp_min(1e-30))


def _time(launch: Any) -> float:
    """Microseconds of a launch: the median over graphs that are replayed."""
    from triton.testing import do_bench

    median: float = do_bench(launch, warmup=2, rep=10, return_mode="median")
    return median * 1000 / LAUNCHES


_SCALARS: Final = {
    "bool": ctypes.c_int8, "i8": ctypes.c_int8, "u8": ctypes.c_uint8, "i16": ctypes.c_int16, "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64, "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}  # fmt: skip


def _loaded(torch: Any, cubin: Path, made: Prepared, shared: int) -> Any:
    """A function that launches Triton's cubin on torch's stream."""
    driver = ctypes.CDLL("libcuda.so.1")

    def checked(code: int) -> None:
        if code:
            raise RuntimeError(f"the driver says {code}")

    torch.zeros(1, device="cuda")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    checked(driver.cuModuleLoadData(ctypes.byref(module), cubin.read_bytes()))
    checked(driver.cuModuleGetFunction(ctypes.byref(function), module, made.symbol.encode()))
    if shared > 48 << 10:
        checked(driver.cuFuncSetAttribute(function, 8, shared))  # MAX_DYNAMIC_SHARED_SIZE_BYTES
    blocks = made.grid[0] * made.grid[1] * made.grid[2]
    scratch = torch.empty(max(1, made.scratch * blocks), dtype=torch.uint8, device="cuda")

    def launch(arguments: Sequence[Any]) -> None:
        values: list[Any] = []
        for argument, value in zip(made.arguments, arguments, strict=True):
            if argument["kind"] == "array":
                values.append(ctypes.c_void_p(value.data_ptr()))
            else:
                values.append(_SCALARS[argument["dtype"]](value))
        values += [ctypes.c_void_p(scratch.data_ptr()), ctypes.c_void_p(0)]
        places = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(each), ctypes.c_void_p) for each in values))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        checked(driver.cuLaunchKernel(function, *made.grid, made.threads, 1, 1, shared, stream, places, None))

    return launch


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["prepare", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("recordings", type=Path, nargs="*")
    options = parser.parse_args()
    if options.step == "run":
        return run(options.folder)
    return prepare(options.folder, options.recordings)


if __name__ == "__main__":
    sys.exit(main())
