"""Triton's language as its compiler reads it, where its interpreter reads it otherwise.

* ``range`` counts in numbers of Triton; the interpreter leaves it to Python.
* ``and``, ``or`` and ``not`` of tensors work lane by lane; the interpreter takes every tensor with dimensions for true.
* Functions of libdevice and inline assembly have values.  What is not in `FUNCTIONS` gives its first operand where that
  is a float: then a float comes of it, too, which seldom steers an address.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import operator
import types
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Final

import numpy as np

from .arena import NotEnumerated

COMBINED: Final = "_combined_as_compiled"
INVERTED: Final = "_inverted_as_compiled"
LIBRARIES: Final = ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice")
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "isnan": np.isnan, "isinf": np.isinf, "finitef": np.isfinite, "isfinited": np.isfinite, "pow": np.power,
    "fmod": np.fmod, "atan2": np.arctan2, "round": np.round, "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh, "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log1p": np.log1p, "sqrt": np.sqrt,
    "expm1": np.expm1, "rint": np.rint, "trunc": np.trunc, "floor": np.floor, "ceil": np.ceil,
}  # fmt: skip
"""What libdevice computes, under its names."""


def interpreted(interpreter: Any, kernel: Any) -> Any:
    """The function that Triton's interpreter executes."""
    tl = interpreter.tl

    def counted(*bounds: Any) -> Iterator[Any]:
        wide = any(getattr(bound, "dtype", None) == tl.int64 for bound in bounds)
        kind, element = (tl.int64, np.int64) if wide else (tl.int32, np.int32)
        for number in range(*map(operator.index, bounds)):
            yield tl.tensor(interpreter.TensorHandle(np.array([number], element), kind), kind)

    written = interpreter.InterpretedFunction(kernel.fn).rewrite()
    names = {**written.__globals__, "range": counted, COMBINED: _combined, INVERTED: _inverted}
    function = FunctionType(written.__code__, names, written.__name__, written.__defaults__, written.__closure__)
    function.__kwdefaults__, function.__annotations__ = written.__kwdefaults__, written.__annotations__
    return function


def speak_as_compiled(interpreter: Any) -> None:
    """Mend all that, in this process, for good."""
    rewriter = interpreter.FunctionRewriter
    own = rewriter.ast_transformer
    rewriter.ast_transformer = types.SimpleNamespace(visit=lambda tree: own.visit(_Words().visit(tree)))
    interpreter.tl.dtype.value = property(lambda dtype: dtype)  # what is passed as a constant is asked for its value
    original = interpreter._patch_lang_tensor

    def patched(tensor: Any, scope: Any) -> None:
        original(tensor, scope)
        tensor.__index__ = lambda scalar: int(scalar.handle.data.squeeze())  # NumPy converts no [1] any more

    interpreter._patch_lang_tensor = patched
    _stand_in_for_libraries(interpreter)


class _Words(ast.NodeTransformer):
    """``and``, ``or`` and ``not`` become calls of `_combined` and `_inverted`."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        method = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        parts: list[ast.expr] = [ast.Lambda(args=nothing, body=value) for value in node.values]
        return self._call(COMBINED, [ast.Constant(method), *parts], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._call(INVERTED, [node.operand], node) if isinstance(node.op, ast.Not) else node

    def _call(self, name: str, arguments: list[ast.expr], node: ast.AST) -> ast.AST:
        called = ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=arguments, keywords=[])
        return ast.fix_missing_locations(ast.copy_location(called, node))


def _combined(method: str, *parts: Callable[[], Any]) -> Any:
    """Tensors are combined lane by lane, all of them; what else decides the answer alone ends it."""
    tensors = []
    value: Any = None
    for part in parts:
        value = part()
        if hasattr(value, "handle"):
            tensors.append(value)
        elif bool(value) == (method == "logical_or"):
            return value
    return functools.reduce(lambda x, y: getattr(x, method)(y), tensors) if tensors else value


def _inverted(value: Any) -> Any:
    return value.__not__() if hasattr(value, "handle") else not value


# ------------------------------------------------------------------------------------------------------- libraries
def _stand_in_for_libraries(interpreter: Any) -> None:
    for name in LIBRARIES:
        library = importlib.import_module(name)
        for function in [each for each in vars(library).values() if inspect.isfunction(each)]:
            setattr(library, function.__name__, _stand_in(interpreter, function))

    def assembly(self: Any, text: str, constraints: str, operands: Any, result: Any, pure: bool, pack: int) -> Any:
        if not (operands and all(each.scalar.is_floating() for each in (operands[0].dtype, *result))):
            raise NotEnumerated("inline assembly of integers")
        made = [self.cast_impl(operands[0], each) for each in result]
        return types.SimpleNamespace(get_result=made.__getitem__)

    interpreter.InterpreterBuilder.create_inline_asm = assembly


def _stand_in(interpreter: Any, original: Any) -> Callable[..., Any]:
    """In the module of ``original``, else Triton refuses kernels that refer to it."""
    name = original.__name__

    @functools.wraps(original)
    def function(*operands: Any, **of_triton: Any) -> Any:
        tensors = [interpreter.interpreter_semantic.to_tensor(operand) for operand in operands]
        first = tensors[0]
        if not first.dtype.is_floating():
            raise NotEnumerated(f"{name} of integers")
        if name not in FUNCTIONS:
            return first
        values = FUNCTIONS[name](*(tensor.handle.data for tensor in tensors))
        kind = interpreter.tl.int32 if values.dtype == bool else first.dtype
        handle = interpreter.TensorHandle(values.astype(interpreter._get_np_dtype(kind)), kind)
        return type(first)(handle, first.type.with_element_ty(kind))

    return function
