"""Files that ``torch.compile`` (Inductor) writes: kernels of Triton, alone or as texts inside of calling code.

A file of one kernel is Python with a decorator of Inductor's own above ``@triton.jit``, which knows the types of the
parameters and the configurations.  The code that calls kernels ("output code") has them as texts::

    NAME = async_compile.triton('NAME', '''...''', device_str='cuda')
    ...
    def call(self, args):
        arg0_1, s77, arg1_1 = args
        assert_size_stride(arg0_1, (s77, 64), (64, 1))
        buf0 = empty_strided_cuda((s77, ), (1, ), torch.float32)
        buf1 = buf0; del buf0  # reuse
        NAME.run(buf1, arg0_1, s77, 64, stream=stream0)

and says how large each array is that a kernel is given.  So each call is a launch, with one for each configuration.
"""

from __future__ import annotations

import ast
import importlib
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeGuard

from ...contract.expression_parser import parse_size
from ...contract.spec_files import RawLaunch
from ...system.errors import SourceError, SpecError
from ...system.printable import source_lines
from ...system.readings import read
from ..sources.importing import import_text

_PACKAGE: Final = "torch._inductor"
_COMPILED: Final = "async_compile.triton"


class TunedConfiguration(Protocol):
    """`triton.Config`."""

    kwargs: Mapping[str, int]
    num_warps: int
    num_stages: int


class InductorKernel(Protocol):
    """``CachingAutotuner``, which stands around the function of ``@triton.jit``."""

    triton_meta: Mapping[str, Mapping[str, object]]
    inductor_meta: Mapping[str, object]
    configs: Sequence[TunedConfiguration]


def is_inductor(value: object) -> TypeGuard[InductorKernel]:
    """Whether ``value`` is what Inductor's decorators make of a kernel."""
    return type(value).__module__.startswith(_PACKAGE) and hasattr(value, "triton_meta")


def speaks_of_inductor(path: Path) -> bool:
    return _PACKAGE.encode() in read(path)


def forget_the_driver(path: Path) -> None:
    """Files of kernels choose the driver of a GPU when they are imported, and there need not be one.

    Raises :class:`SourceError` where torch is not installed.
    """
    try:
        helpers = importlib.import_module(f"{_PACKAGE}.runtime.triton_helpers")
    except ImportError as error:
        raise SourceError(f"kernels of torch.compile need torch: pip install torch ({error})", str(path)) from None
    setattr(helpers, "set_driver_to_gpu", _nothing)  # noqa: B010


def _nothing() -> None:
    pass


# ------------------------------------------------------------------------------------------------ calling code
@dataclass(frozen=True, slots=True)
class CallingCode:
    """A file whose kernels are texts; ``tree`` is that of the whole file."""

    path: Path
    tree: ast.Module
    texts: Mapping[str, ast.Constant]

    def module(self) -> types.ModuleType:
        """The kernels alone, each at its own lines of the file."""
        lines: list[str] = []
        for text in sorted(self.texts.values(), key=lambda each: each.lineno):
            lines += [""] * (text.lineno - 1 - len(lines))
            lines += [line.rstrip("\r\n") for line in source_lines(str(text.value))]
        forget_the_driver(self.path)
        return import_text("\n".join(lines) + "\n", self.path)

    def launches(self, kernels: Mapping[str, InductorKernel]) -> dict[str, list[RawLaunch]]:
        """The launches of each kernel that the code makes, by the kernel's name."""
        found: dict[str, list[RawLaunch]] = {}
        for function in ast.walk(self.tree):
            if isinstance(function, ast.FunctionDef) and function.name == "call":
                buffers = _Buffers()
                for statement in _statements(function):
                    buffers.follow(statement)
                    for name, call in _runs(statement, kernels):
                        made = found.setdefault(name, [])
                        made += _launches(self.path, name, kernels[name], buffers, call, len(made))
        return found


def calling_code(path: Path) -> CallingCode | None:
    """The file, if it has kernels as texts; ``None`` for any other."""
    content = read(path)
    if _COMPILED.encode() not in content:
        return None
    tree = ast.parse(content, filename=str(path))
    texts = {
        target.id: call.args[1]
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target, call in [(node.targets[0], node.value)]
        if isinstance(target, ast.Name) and ast.unparse(call.func) == _COMPILED and len(call.args) > 1
        and isinstance(call.args[1], ast.Constant)
    }  # fmt: skip
    return CallingCode(path, tree, texts) if texts else None


def _statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """In the order of the text; a ``with`` is its body."""
    waiting = list(function.body)
    while waiting:
        statement = waiting.pop(0)
        if isinstance(statement, ast.With):
            waiting[:0] = statement.body
        else:
            yield statement


def _runs(statement: ast.stmt, kernels: Mapping[str, InductorKernel]) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "run":
            name = ast.unparse(node.func.value)
            if name in kernels:
                yield name, node


@dataclass(frozen=True, slots=True)
class _Buffer:
    """``memory``: what it lies in; ``shape`` and ``strides`` as they are written."""

    memory: str
    shape: tuple[str, ...]
    strides: tuple[str, ...]
    offset: str = "0"


@dataclass
class _Buffers:
    """What names of the calling code are."""

    known: dict[str, _Buffer] = field(default_factory=dict)

    def follow(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Name(id="assert_size_stride"), args=[ast.Name(id=name), *sizes])):
                self._name(name, name, sizes)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assign(name, value)
            case ast.Delete(targets=targets):
                for target in targets:
                    self.known.pop(ast.unparse(target), None)

    def _assign(self, name: str, value: ast.expr) -> None:
        self.known.pop(name, None)
        match value:
            case ast.Name(id=other) if other in self.known:
                self.known[name] = self.known[other]
            case ast.Call(func=ast.Name(id=called), args=sizes) if called.startswith("empty_strided"):
                self._name(name, name, sizes)
            case ast.Call(func=ast.Name(id="reinterpret_tensor"), args=[ast.Name(id=other), *sizes]):
                if other in self.known:
                    self._name(name, self.known[other].memory, sizes)

    def _name(self, name: str, memory: str, sizes: Sequence[ast.expr]) -> None:
        match sizes:
            case [ast.Tuple(elts=shape), ast.Tuple(elts=strides), *rest]:
                offset = ast.unparse(rest[0]) if rest and not isinstance(rest[0], ast.Attribute) else "0"
                words = tuple(map(ast.unparse, shape)), tuple(map(ast.unparse, strides))
                self.known[name] = _Buffer(memory, *words, offset)

    def of(self, argument: ast.expr) -> _Buffer | None:
        match argument:
            case ast.Name(id=name):
                return self.known.get(name)
            case ast.Call(func=ast.Name(id="reinterpret_tensor"), args=[ast.Name(id=other), *_]):
                scratch = _Buffers(dict(self.known))
                scratch._assign(other, argument)
                return scratch.known.get(other)
        return None


# ------------------------------------------------------------------------------------------------- launches
_ELEMENTS: Final = {
    "i1": "bool", "u1": "bool", "fp16": "f16", "fp32": "f32", "fp64": "f64", "fp8e4nv": "f8e4m3", "fp8e5": "f8e5m2",
}  # fmt: skip
"""What launch specs call Triton's types, where they have another name."""
_AXES: Final = {"Grid1D": "x", "Grid2D": "xy", "Grid3D": "xyz"}


def element_type(word: str) -> str:
    """``f32`` for ``*fp32``, ``i64`` for ``i64``."""
    plain = word.lstrip("*")
    return _ELEMENTS.get(plain, plain)


def _launches(
    path: Path, name: str, kernel: InductorKernel, buffers: _Buffers, call: ast.Call, position: int
) -> Iterator[RawLaunch]:
    """One launch for each configuration; no launch where the size of an array is unknown."""
    signature = kernel.triton_meta["signature"]
    own = {key for configuration in kernel.configs for key in configuration.kwargs}
    passed = [key for key in signature if key not in own]
    given = dict(zip(passed, call.args, strict=False))
    arrays = {key: buffers.of(given[key]) for key in given if str(signature[key]).startswith("*")}
    if len(given) < len(passed) or None in arrays.values():
        return
    placed = {key: buffer for key, buffer in arrays.items() if buffer is not None}
    requires, overlap = _shared(placed)
    requires += [f"{key}.address % 16 == 0" for key in _aligned(kernel, list(signature)) if key in placed]
    for number, configuration in enumerate(kernel.configs):
        told = "-".join(f"{key}={value}" for key, value in configuration.kwargs.items())
        fields: dict[str, object] = {
            "kernel": name,
            "name": f"line {call.lineno}{f' {told}' if told else ''}",
            "args": {
                key: _argument(str(word), placed.get(key), given.get(key), configuration, key)
                for key, word in signature.items()
            },
            "options": {"num_warps": configuration.num_warps, "num_stages": configuration.num_stages},
        }
        grid = _grid(kernel, given, configuration)
        fields |= {"grid": grid} if grid else {}
        fields |= {"requires": requires} if requires else {}
        fields |= {"overlap": overlap} if overlap else {}
        yield RawLaunch(fields, str(path), call.lineno, position + number)


def _argument(
    word: str, buffer: _Buffer | None, given: ast.expr | None, configuration: TunedConfiguration, name: str
) -> object:
    if name in configuration.kwargs:
        return configuration.kwargs[name]
    if buffer is not None:
        shape, strides = buffer.shape or ("1",), buffer.strides or ("1",)
        comma = "," if len(strides) == 1 else ""
        return f"{element_type(word)}[{', '.join(shape)}; strides=({', '.join(strides)}{comma})]"
    value = ast.unparse(given) if given is not None else ""
    if word == "constexpr":
        return ast.literal_eval(value)
    is_number = element_type(word)[0] in "iu" and _is_size(value)
    return f"{element_type(word)} = {value}" if is_number else element_type(word)


def _is_size(text: str) -> bool:
    """Whether launch specs can say it."""
    try:
        parse_size(text)
    except SpecError:
        return False
    return True


def _shared(arrays: Mapping[str, _Buffer]) -> tuple[list[str], list[list[str]]]:
    """Which arguments are one array, and which lie in one memory."""
    names = list(arrays)
    pairs = [
        (one, other)
        for number, one in enumerate(names)
        for other in names[number + 1 :]
        if arrays[one].memory == arrays[other].memory
    ]
    return [f"{one} is {other}" for one, other in pairs if arrays[one] == arrays[other]], [list(pair) for pair in pairs]


def _aligned(kernel: InductorKernel, names: Sequence[str]) -> Iterator[str]:
    """The parameters that Inductor tells Triton's compiler 16 divides."""
    for attributes in kernel.triton_meta.get("configs", ()):
        if isinstance(attributes, Mapping):
            yield from (names[place[0]] for place, words in attributes.items() if ["tt.divisibility", 16] in words)


def _grid(kernel: InductorKernel, given: Mapping[str, ast.expr], configuration: TunedConfiguration) -> list[str] | None:
    """``None``: of a kind that is not followed, so that the proof is for any grid."""
    axes = _AXES.get(str(kernel.inductor_meta.get("grid_type")))
    if axes is None or any(f"{axis}numel" not in given for axis in axes):
        return None
    return [
        f"cdiv({ast.unparse(given[f'{axis}numel'])}, {configuration.kwargs.get(f'{axis.upper()}BLOCK', 1)})"
        for axis in axes
    ]
