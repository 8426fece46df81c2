"""Make the files of `data` anew: Triton IR by Triton's compiler, results by its interpreter.

    python -m tests.frontend.triton.update [--update] [--only TEXT]

It needs triton and torch, and no GPU.  Without ``--update`` it compares, writes nothing, and ends with 1 if a file
would change.  The results of Triton's interpreter and those of this tool's are compared each time.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from tileverify.backend.numbers.array_files import rounded, storage_type
from tileverify.frontend.triton.triton_kernels import jit_function, kernel_of_function, triton_ir
from tileverify.system.errors import TileVerifyError

from .launches import Numbers, TritonLaunch, all_launches
from .stored import DATA, StoredArray, StoredLaunch, differences, executed

ROOT: Final = Path(__file__).parents[3]
TYPES: Final = {
    "bool": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "u8": "u8", "u16": "u16", "u32": "u32",
    "u64": "u64", "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64", "f8e4m3": "fp8e4nv",
    "f8e5m2": "fp8e5",
}  # fmt: skip
TORCH: Final = {"bool": "bool", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}

_LOCATION: Final = re.compile(r' loc\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\)')


def kernel_module(name: str) -> Any:
    """A module of `kernels` by its name, or one in a file by its path."""
    if not name.endswith(".py"):
        return importlib.import_module(f"tests.frontend.triton.kernels.{name}")
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, name)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def triton_text(launch: TritonLaunch) -> str:
    """The module of ``launch``, without locations."""
    module = kernel_module(launch.module)
    function = jit_function(getattr(module, launch.kernel))
    kernel = kernel_of_function(function, Path(str(module.__file__)), launch.kernel)
    signature: dict[str, str] = {}
    for parameter in function.params:
        if parameter.name in launch.arrays:
            signature[parameter.name] = f"*{TYPES[launch.arrays[parameter.name][0]]}"
        elif parameter.name in launch.scalars:
            signature[parameter.name] = TYPES[launch.scalars[parameter.name][0]]
        else:
            signature[parameter.name] = "constexpr"
    passed = [name for name, word in signature.items() if word != "constexpr"]
    assert passed == [*launch.arrays, *launch.scalars], f"{launch.name}: parameters are {', '.join(passed)}"
    return without_locations(triton_ir(kernel, signature, dict(launch.constants), {}, launch.options))


def without_locations(text: str) -> str:
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#loc"))
    return _LOCATION.sub("", text)


def elements(dtype: str, values: Numbers) -> np.ndarray[Any, Any]:
    if dtype.startswith(("f", "bf")):
        return rounded(np.array(values, np.float64), dtype)
    return np.array(values, storage_type(dtype))


# ------------------------------------------------------------------------------------------- Triton's interpreter
def interpreted(launches: Sequence[TritonLaunch]) -> dict[str, dict[str, list[int]] | str]:
    """Of each launch the bytes of its arrays after it, or what went wrong."""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    found: dict[str, dict[str, list[int]] | str] = {}
    while len(found) < len(launches):
        left = [launch for launch in launches if launch.name not in found]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "tests.frontend.triton.update", "--interpret"],
            input=pickle.dumps(left), env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE,
        )  # fmt: skip
        found |= json.loads(done.stdout)
    return found


def interpret(launches: Sequence[TritonLaunch]) -> dict[str, dict[str, list[int]] | str]:
    """What `interpreted` returns, in a process where Triton interprets; it ends with the first launch that fails.

    Triton's interpreter leaves its language changed behind an error.
    """
    found: dict[str, dict[str, list[int]] | str] = {}
    for launch in launches:
        try:
            found[launch.name] = _interpret(launch.interpretable)
        except Exception as error:
            found[launch.name] = f"{type(error).__name__}: {str(error.__cause__ or error).strip().splitlines()[0]}"
            break
    return found


def _interpret(launch: TritonLaunch) -> dict[str, list[int]]:
    torch = importlib.import_module("torch")
    tensors: dict[str, Any] = {}
    for name, (dtype, values) in launch.arrays.items():
        raw = elements(dtype, values)
        plain = torch.from_numpy(raw.view(np.uint8).copy())
        tensors[name] = plain.view(getattr(torch, TORCH.get(dtype, str(storage_type(dtype)))))
    kernel = getattr(kernel_module(launch.module), launch.kernel)
    kernel[launch.grid](**tensors, **{name: value for name, (_, value) in launch.scalars.items()}, **launch.constants)
    return {name: tensor.view(torch.uint8).numpy().tolist() for name, tensor in tensors.items()}


def _rounded(launch: TritonLaunch, name: str, data: list[int]) -> np.ndarray[Any, Any]:
    """What the interpreter left of an array, in the array's own type."""
    dtype, computed = launch.arrays[name][0], launch.interpretable.arrays[name][0]
    left = np.array(data, np.uint8).view(storage_type(computed))
    return left if dtype == computed else rounded(left.astype(np.float64), dtype)


# ---------------------------------------------------------------------------------------------------- files
def stored(launch: TritonLaunch, after: Mapping[str, list[int]] | str) -> StoredLaunch:
    """The file of ``launch``, whose arrays Triton's interpreter left as ``after``."""
    arrays = {name: StoredArray(dtype, elements(dtype, values)) for name, (dtype, values) in launch.arrays.items()}
    if launch.after is not None:
        left = {name: elements(arrays[name].dtype, values) for name, values in launch.after.items()}
    elif isinstance(after, str):
        raise TileVerifyError(f"Triton's interpreter: {after}")
    else:
        whole = {name: _rounded(launch, name, data) for name, data in after.items()}
        left = {name: data for name, data in whole.items() if data.tobytes() != arrays[name].elements.tobytes()}
    scalars = {name: value for name, (_, value) in launch.scalars.items()}
    return StoredLaunch(triton_text(launch), launch.grid, arrays, scalars, left, launch.within)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the files")
    parser.add_argument("--only", default="", help="only launches whose name contains this")
    parser.add_argument("--interpret", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.interpret:
        print(json.dumps(interpret(pickle.load(sys.stdin.buffer))))
        return 0
    launches = [launch for launch in all_launches() if options.only in launch.name]
    after = interpreted(launches)
    failed = 0
    for launch in launches:
        try:
            made = stored(launch, after[launch.name])
            wrong = differences(made, executed(made))
        except Exception as error:  # each launch is reported
            made, wrong = None, [f"{type(error).__name__}: {error}"]
        file = DATA / f"{launch.name}.ttir"
        if made is not None and options.update:
            file.write_text(made.text(), encoding="utf-8")
        elif made is not None and (not file.exists() or file.read_text(encoding="utf-8") != made.text()):
            wrong.append("the file would change")
        failed += bool(wrong)
        print("".join(f"{launch.name}: {line}\n" for line in wrong), end="", flush=True)
    print(f"{len(launches)} launches, {failed} fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
