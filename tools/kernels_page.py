"""Writes docs/kernels.md, the page of the library's kernels: ``python -m tools.kernels_page`` (about a minute).

Words come from the sources, from launch specs and from what ``tileverify check --deny-requires --complete`` says.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, Final

import tileverify
from tileverify import kernels
from tileverify.results import KernelResult

from .launched_kernels import LIBRARY, Place, launched_by

PAGE: Final = Path(__file__).parents[1] / "docs" / "kernels.md"
DEVICE: Final = LIBRARY / "device"
_HEAD: Final = """\
# Kernels

<!-- Written by `python -m tools.kernels_page` from src/tileverify/kernels. -->

`tileverify.kernels` is a library of kernels that are proved for any sizes within their contracts, without clauses
that the tool adds. Host functions take arrays of NumPy, torch, CuPy or JAX, make the arrays of the result, and launch
a kernel under its proof, on the stream that their package uses; on the host it runs in the interpreter. Those of
torch and JAX have gradients, where a function has one. JAX arrays on a GPU need torch or CuPy beside it, and no
function can be called where JAX traces (`jax.jit`, `jax.vmap`), as an array has no memory there.

Where the kernels run there need not be a compiler or a solver, if there are [bundles](launching.md#bundles) of them:
`tileverify build src/tileverify/kernels/device/norms.py -o bundles --arch sm_90 --sign key.pem` makes those of one
family.

```python
from tileverify import kernels

kernels.use("bundles", keys=["key.pub"], only_signed=True)
out = kernels.rms_norm(x, weight)
```
"""
_PROOFS: Final = """\
## Proofs

Below, `bf16[M, N]` is a contiguous array of that shape, a name means the same number wherever it stands in one launch,
and [launch specs](specs.md) has the rest. `written` tells for which arrays every element is proved to be written. All
launches are proved, and all but those that say otherwise are deterministic; this proves them again and tells how long
each takes:

```sh
tileverify check --deny-requires --complete src/tileverify/kernels/device
```
"""


@dataclass(frozen=True, slots=True)
class Kernel:
    """``about``: the first paragraph of its docstring."""

    name: str
    parameters: tuple[str, ...]
    about: str


# ------------------------------------------------------------------------------------------------- sources
def families() -> list[str]:
    """The modules that hold kernels."""
    return sorted(file.stem for file in DEVICE.glob("*.py") if file.stem != "__init__")


@cache
def _tree(family: str) -> ast.Module:
    return ast.parse((DEVICE / f"{family}.py").read_text(encoding="utf-8"))


@cache
def kernels_of(family: str) -> tuple[Kernel, ...]:
    """In the order of the source."""
    found = [each for each in _tree(family).body if isinstance(each, ast.FunctionDef)]
    return tuple(
        Kernel(each.name, tuple(argument.arg for argument in each.args.args), _about(ast.get_docstring(each)))
        for each in found
        if any("kernel" in ast.unparse(decorator) for decorator in each.decorator_list)
    )


def tables_of(family: str) -> list[dict[str, Any]]:
    """The tables of its launch spec; one that stands for several kernels comes once for each of them."""
    found = []
    for table in tomllib.loads((DEVICE / f"{family}.tileverify.toml").read_text(encoding="utf-8"))["launch"]:
        each = table.pop("each", {})
        for kernel in each.pop("KERNEL", [table["kernel"]]):
            found.append({**table, "kernel": kernel, **({"each": each} if each else {})})
    return found


def host_functions() -> dict[str, Any]:
    """The public functions of the library that launch something, by name."""
    public = {name: getattr(kernels, name) for name in kernels.__all__}
    return {name: each for name, each in public.items() if inspect.isfunction(each) and _launched(name)}


@cache
def _launched(name: str) -> tuple[Place, ...]:
    module = getattr(kernels, name).__module__.rpartition(".")[2]
    return tuple(
        launched_by((module, name), {family: [each.name for each in kernels_of(family)] for family in families()})
    )


def _about(docstring: str | None) -> str:
    return " ".join((docstring or "").partition("\n\n")[0].split())


def _signature(name: str) -> str:
    signature = inspect.signature(getattr(kernels, name))
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return f"{name}{signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)}"


# ---------------------------------------------------------------------------------------------------- page
def checked(family: str) -> Sequence[KernelResult]:
    """All launches of a family, proved under their contracts alone."""
    return tileverify.check(DEVICE / f"{family}.py", deny_requires=True, complete=True).results


def page(sections: Sequence[str]) -> str:
    """The page with the sections of all families."""
    return "\n".join([_HEAD, *_functions(), _PROOFS, *sections]).rstrip() + "\n"


def _functions() -> Iterator[str]:
    yield "## Host functions\n"
    yield "| function | computes | kernels |\n|---|---|---|"
    for name, function in host_functions().items():
        own = dict.fromkeys(family for family, _ in _launched(name))
        links = ", ".join(f"[{family}](#{_anchor(family)})" for family in own)
        yield f"| `{_signature(name)}` | {_in_cell(_about(inspect.getdoc(function)))} | {links} |"
    yield ""


def section(family: str, results: Sequence[KernelResult]) -> str:
    """What there is to say of one family; ``results``: as `checked` gives them."""
    parts = [f"## {_title(family)}\n", f"{ast.get_docstring(_tree(family))}\n"]
    launchers: dict[str, list[str]] = {}
    for name in host_functions():
        for place in _launched(name):
            if place[0] == family:
                launchers.setdefault(place[1], []).append(f"`{_signature(name)}`")
    tables = tables_of(family)
    launches = dict(_launches(tables, results))
    for kernel in kernels_of(family):
        parts.append(f"### {family}.{kernel.name} {{ #{_anchor(f'{family}-{kernel.name}')} }}\n")
        parts.append(f"{kernel.about}\n")
        of = ", ".join(launchers.get(kernel.name, ()))
        parts.append(f"Launched by {of}.\n" if of else "There is no host function for it.\n")
        described = "\n\n".join(
            _launch(table, launches[number]) for number, table in enumerate(tables) if table["kernel"] == kernel.name
        )
        parts.append(f"```text\n{_call(kernel)}\n\n{described}\n```\n")
    return "\n".join(parts)


def _launches(
    tables: Sequence[dict[str, Any]], results: Sequence[KernelResult]
) -> Iterator[tuple[int, list[KernelResult]]]:
    """The results of each table, which stands for as many launches as its lists of values give."""
    left = {name: [each for each in results if each.kernel == name] for name in {each["kernel"] for each in tables}}
    for number, table in enumerate(tables):
        of, count = left[table["kernel"]], prod(len(values) for values in table.get("each", {}).values())
        yield number, of[:count]
        del of[:count]


def _launch(table: dict[str, Any], results: Sequence[KernelResult]) -> str:
    names = ", ".join(str(result.launch) for result in results)
    lines = list(_labelled("launches", textwrap.wrap(names, 100, break_on_hyphens=False)))
    for name, values in table.get("each", {}).items():
        lines += _labelled(name, [", ".join(map(str, values))])
    arguments = ", ".join(f"{name} = {_argument(value)}" for name, value in table["args"].items())
    lines += _labelled("arguments", textwrap.wrap(arguments, 100, break_on_hyphens=False))
    for label, told in (("holds", _holds), ("contract", _contract), ("written", _written), ("repeated", _differs)):
        said = {told(result): str(result.launch) for result in results}
        for words, launch in said.items():
            lines += _labelled(label, words if len(said) == 1 else (f"{launch}: ", *words))
    return "\n".join(lines)


def _argument(value: Any) -> str:
    if isinstance(value, dict):
        return f"list of {value['list']}, {value['length']} long"
    return str(value)


def _holds(result: KernelResult) -> tuple[str, ...]:
    return () if result.holds_for == "any" else ("for these sizes alone",)


def _contract(result: KernelResult) -> tuple[str, ...]:
    return result.stated


def _written(result: KernelResult) -> tuple[str, ...]:
    if result.written is None:
        return ("nothing is proved of it",)
    whole = [f"every element of {name}" for name in result.written.whole]
    return (*whole, *(f"{name}, not shown to be every element" for name in result.written.open))


def _differs(result: KernelResult) -> tuple[str, ...]:
    return () if result.deterministic else ("results may differ from run to run",)


def _labelled(label: str, lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"{label if number == 0 else '':9} {line}".rstrip()


def _call(kernel: Kernel) -> str:
    return f"{kernel.name}({', '.join(kernel.parameters)})"


def _title(family: str) -> str:
    return f"{family.replace('_', ' ').capitalize()} {{ #{_anchor(family)} }}"


def _anchor(name: str) -> str:
    return name.replace("_", "-")


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page([section(family, checked(family)) for family in families()]), encoding="utf-8")
