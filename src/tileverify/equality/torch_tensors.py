"""torch as a reference sees it while it runs on exact numbers.  This module imports torch; it is imported late.

Arrays of floats are tensors of a class of their own, without elements that torch could see.  Every operator that
comes down to torch's dispatcher is looked up by its name, `torch_rules` first; what has no rule is taken apart by
torch's own decompositions, and what has none of these, either, ends the attempt with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import torch
from torch._ops import OpOverload
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter, tree_map

from . import exact, formulas, torch_moving, torch_rules
from .exact import NUMBER
from .exact_arrays import presented
from .field import Array, Undecided
from .primitives import cast, is_numbers, lifted, plain
from .torch_rules import Rule

RULES: Final = {**torch_rules.RULES, **torch_moving.RULES, **torch_rules.LAYER_RULES}
FORMATS: Final = {
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "tf32": torch.float32, "f64": torch.float64,
    "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2,
}  # fmt: skip
"""Element types of launch specs; others are shown to references as float32."""
_NAMES: Final = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
_DIGITS: Final = 12
"""Decimal digits of a float above which it is not what a program says, but a rounding."""
_OF_THE_DEVICE: Final = frozenset({"device", "layout", "pin_memory", "memory_format", "non_blocking", "copy"})

_OF_ITS_OWN_TYPE: Final = frozenset({
    "copy", "fill", "masked_fill", "index_fill", "index_put", "_unsafe_index_put", "index_copy", "index_add", "scatter",
    "scatter_add", "constant_pad_nd",
})  # fmt: skip
"""Operators whose result has the type of the first operand, whatever is put into it."""

Given: TypeAlias = tuple[object, ...]
Named: TypeAlias = Mapping[str, object]
"""Arguments of an operator."""


class ExactTensor(torch.Tensor):
    """``numbers``: an array of elements of type `NUMBER`; shape and strides are those of the tensor."""

    numbers: Array

    @staticmethod
    def __new__(cls, numbers: Array, dtype: torch.dtype) -> ExactTensor:
        strides = tuple(stride // NUMBER.itemsize for stride in numbers.strides)
        made: ExactTensor = torch.Tensor._make_wrapper_subclass(cls, numbers.shape, strides=strides, dtype=dtype)
        made.numbers = numbers
        return made

    def __repr__(self, **_: object) -> str:
        return f"exact numbers near {self.numbers['s']!r}"

    @classmethod
    def __torch_dispatch__(
        cls, func: OpOverload, types: Sequence[type], args: Given = (), kwargs: Named | None = None
    ) -> object:
        with ExactTorch({}):
            return func(*args, **(kwargs or {}))


class ExactTorch(TorchDispatchMode):
    """While it is open, torch computes with exact numbers; ``scalars``: float scalars of the launch as numbers."""

    def __init__(self, scalars: Mapping[float, Array]) -> None:
        super().__init__()
        self.scalars = scalars
        self.lifted: dict[int, tuple[torch.Tensor, Array]] = {}
        """Tensors of floats that were made before, and what they stand for."""
        self.apart: list[OpOverload] = []
        """Operators that are being taken apart: a decomposition that comes back to its own operator says nothing."""

    def __torch_dispatch__(
        self, func: OpOverload, types: Sequence[type], args: Given = (), kwargs: Named | None = None
    ) -> object:
        kwargs = kwargs or {}
        name = func._schema.name.partition("::")[2]
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise Undecided(f"aten.{name} is random")
        if not any(isinstance(each, torch.Tensor) and each.is_floating_point() for each in tree_iter((args, kwargs))):
            result = func(*args, **kwargs)
            if not any(isinstance(each, torch.Tensor) and each.is_floating_point() for each in tree_iter(result)):
                return result
        if func.namespace == "aten":
            if name in RULES:
                return self.called(RULES[name], func, args, kwargs)
            if name.endswith("_") and name[:-1] in RULES and torch.Tag.inplace_view not in func.tags:
                return self.written(args[0], self.called(RULES[name[:-1]], func, args, kwargs))
        return self.decomposed(func, name, args, kwargs)

    def called(self, rule: Rule, func: OpOverload, args: Given, kwargs: Named) -> object:
        """The rule's answer; ``out=`` is written to."""
        out = kwargs.get("out")
        given = {key: value for key, value in kwargs.items() if key not in _OF_THE_DEVICE and key != "out"}
        result = rule(*map(self.shown, args), **{key: self.shown(value) for key, value in given.items()})
        dtype = kwargs.get("dtype") or _result_type(func, args, kwargs)
        if func._schema.name.partition("::")[2] in _OF_ITS_OWN_TYPE and isinstance(args[0], torch.Tensor):
            dtype = args[0].dtype
        found = tree_map(
            lambda each: _as_tensor(np.asarray(each), dtype) if isinstance(each, np.ndarray | np.generic) else each,
            result,
        )
        return found if out is None else self.written(out, found)

    def shown(self, value: object) -> object:
        """An argument as rules take it."""
        if isinstance(value, list | tuple):
            return [self.shown(each) for each in value]
        if isinstance(value, torch.Tensor):
            return self.array_of(value)
        if isinstance(value, torch.dtype):
            return str(value).removeprefix("torch.")
        return self.scalar(value) if isinstance(value, float) else value

    def scalar(self, value: float) -> float | Array:
        """A scalar of the launch as a number; also what torch itself rounded to f32, as the constant that was meant."""
        if value in self.scalars:
            return self.scalars[value]
        digits = repr(value).partition("e")[0].strip("-0.").replace(".", "")
        if np.isfinite(value) and len(digits) > _DIGITS and float(np.float32(value)) == value:
            return exact.numbers_of(np.asarray(value), "f32")
        return value

    def array_of(self, tensor: torch.Tensor) -> Array:
        if isinstance(tensor, ExactTensor):
            return tensor.numbers
        if not tensor.is_floating_point():
            if tensor.is_complex():
                raise Undecided("complex numbers")
            return np.asarray(tensor.detach().numpy())
        if id(tensor) not in self.lifted:
            values = tensor.detach().to(torch.float64).numpy()
            self.lifted[id(tensor)] = tensor, exact.numbers_of(values, _NAMES.get(tensor.dtype, "f64"))
        return self.lifted[id(tensor)][1]

    def written(self, target: object, result: object) -> torch.Tensor:
        """``target`` after ``result`` was written to it."""
        if not isinstance(target, torch.Tensor) or not isinstance(result, torch.Tensor):
            raise Undecided("several results are written to several tensors")
        held, value = self.array_of(target), self.array_of(result)
        if held.shape != np.broadcast_shapes(held.shape, value.shape):
            raise Undecided("a result is written to a tensor of another shape")
        if is_numbers(held):
            held[...] = lifted(value)
        else:
            held[...] = cast(value, held.dtype) if is_numbers(value) else value
        return target

    def decomposed(self, func: OpOverload, name: str, args: Given, kwargs: Named) -> object:
        from torch._decomp import decomposition_table

        apart = decomposition_table.get(func, func.decompose if func._can_decompose() else None)
        if apart is None or func in self.apart:
            raise Undecided(f"{func.namespace}.{name} has no exact rule")
        self.apart.append(func)
        try:
            with self:
                return apart(*args, **kwargs)
        finally:
            self.apart.pop()


class OwnForms(TorchFunctionMode):
    """Functions of which torch's own form would choose a kernel by the device."""

    def __torch_function__(
        self, func: Callable[..., object], types: Sequence[type], args: Given = (), kwargs: Named | None = None
    ) -> object:
        own: Callable[..., object] = func
        if func is torch.nn.functional.scaled_dot_product_attention:
            own = attention
        return own(*args, **(kwargs or {}))


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """``softmax(scale * query @ key.T + mask) @ value``, as torch's page of this function has it."""
    if dropout_p:
        raise Undecided("attention with dropout is random")
    if enable_gqa:
        key, value = (each.repeat_interleave(query.shape[-3] // each.shape[-3], -3) for each in (key, value))
    scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    return torch.softmax(scores, -1) @ value


def _as_tensor(array: Array, dtype: torch.dtype) -> torch.Tensor:
    """An array of a rule's result: numbers of the type ``dtype``, or integers as they are."""
    if is_numbers(array):
        if dtype.is_complex:
            raise Undecided("complex numbers")
        if dtype.is_floating_point:
            return ExactTensor(plain(array), dtype)
        array = np.asarray(cast(array, str(dtype).removeprefix("torch.")))
    return torch.from_numpy(np.ascontiguousarray(array) if array.ndim else array.copy())


def _kind(dtype: torch.dtype) -> int:
    return 2 if dtype.is_floating_point else 0 if dtype == torch.bool else 1


def _result_type(func: OpOverload, args: Given, kwargs: Named) -> torch.dtype:
    """The float type of what is computed of these: of tensors with axes, else of those without, else of scalars."""
    leaves = list(tree_iter((args, {key: each for key, each in kwargs.items() if key != "out"})))
    tensors = [each for each in leaves if isinstance(each, torch.Tensor)]
    if func._schema.name.endswith("_") and tensors:
        return tensors[0].dtype
    result = torch.bool
    for group in ([each for each in tensors if each.ndim], [each for each in tensors if not each.ndim]):
        own = _promoted([each.dtype for each in group])
        result = own if _kind(own) > _kind(result) else result
    return result if result.is_floating_point else torch.get_default_dtype()


def _promoted(dtypes: Sequence[torch.dtype]) -> torch.dtype:
    result = torch.bool
    for dtype in dtypes:
        try:
            result = torch.promote_types(result, dtype)
        except RuntimeError:  # torch promotes no formats of 8 bits
            result = torch.float32
    return result


# --------------------------------------------------------------------------------------------- references
def run_with_torch(
    function: Callable[..., object], arguments: Mapping[str, object], dtypes: Mapping[str, str]
) -> object:
    """What ``function`` returns, with arrays in the place of tensors.  ``dtypes``: of the arrays, by argument.

    Arrays of ``arguments`` change where the function changes its tensors.
    """
    scalars: dict[float, Array] = {}
    taken = {name: _given(value, dtypes.get(name, "f32"), scalars) for name, value in arguments.items()}
    mode = ExactTorch(scalars)
    with mode, OwnForms():
        result = function(**taken)

    def array(each: object) -> object:
        return presented(mode.array_of(each)) if isinstance(each, torch.Tensor) else each

    result = tuple(result) if isinstance(result, list) else result
    return tree_map(array, result)


def _given(value: object, dtype: str, scalars: dict[float, Array]) -> object:
    if is_numbers(value):
        if not value.ndim:
            return ScalarNumber(plain(value), scalars)
        return ExactTensor(plain(value), FORMATS.get(dtype, torch.float32))
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


# ------------------------------------------------------------------------------------------------------- scalar numbers
# Float scalars of a launch as torch takes them: floats of Python that are recognised where an operator gets them.
#
# torch hands the float on, without the class.  It is found again by its value, which was drawn, so that no constant of
# a program has it.


def _combined(
    one: ScalarNumber, other: float, rule: Callable[[Array, Array], Array], swapped: bool = False
) -> ScalarNumber:
    if not isinstance(other, int | float):
        return NotImplemented
    mine, others = one.number, other.number if isinstance(other, ScalarNumber) else lifted(other)
    return ScalarNumber(np.asarray(rule(others, mine) if swapped else rule(mine, others)), one.known)


def _operator(
    rule: Callable[[Array, Array], Array], swapped: bool = False
) -> Callable[[ScalarNumber, float], ScalarNumber]:
    return lambda self, other: _combined(self, other, rule, swapped)


class ScalarNumber(float):
    """The shadow of a number; arithmetic with other scalars gives one again."""

    number: Array
    known: dict[float, Array]

    def __new__(cls, number: Array, known: dict[float, Array]) -> ScalarNumber:
        made = super().__new__(cls, float(exact.certain(number)))
        made.number, made.known = number, known
        before = known.setdefault(float(made), number)
        if not bool(exact.same(before, number)):
            raise Undecided("two different scalars are equal in float64")
        return made

    __add__ = __radd__ = _operator(exact.add)
    __mul__ = __rmul__ = _operator(exact.multiply)
    __sub__, __rsub__ = _operator(exact.subtract), _operator(exact.subtract, swapped=True)
    __truediv__, __rtruediv__ = _operator(exact.divide), _operator(exact.divide, swapped=True)

    def __pow__(self, other: float, modulus: None = None) -> ScalarNumber:
        return _combined(self, other, formulas.power)

    def __neg__(self) -> ScalarNumber:
        return ScalarNumber(exact.negative(self.number), self.known)


# ---------------------------------------------------------------------------------------------------------- torch plain
# A reference in torch on ordinary tensors of the CPU.  This module imports torch; it is imported late.


_CASTS: Final = frozenset({torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16})


class _InFloat64(TorchFunctionMode):
    """While it is open, all types of floats that a program names are float64."""

    def __torch_function__(
        self, func: Callable[..., object], types: Sequence[type], args: Given = (), kwargs: Named | None = None
    ) -> object:
        own = torch.Tensor.double if func in _CASTS else func
        return own(*tree_map(_wide, args), **tree_map(_wide, dict(kwargs or {})))


def _wide(value: object) -> object:
    return torch.float64 if isinstance(value, torch.dtype) and value.is_floating_point else value


def run_in_float64(function: Callable[..., object], arguments: Mapping[str, object]) -> object:
    """What ``function`` returns; its tensors are the arrays of ``arguments``, which change where it changes them."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _InFloat64():
            return _arrays(function(**tree_map(_tensor, dict(arguments))))
    finally:
        torch.set_default_dtype(before)


def run_in_types(function: Callable[..., object], arguments: Mapping[str, object], dtypes: Mapping[str, str]) -> object:
    """The same with tensors of the element types ``dtypes``."""
    taken = {name: _tensor(value) for name, value in arguments.items()}
    for name, value in taken.items():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            taken[name] = value.to(FORMATS.get(dtypes.get(name, "f32"), torch.float32))
    result = _arrays(function(**taken))
    for name, value in taken.items():
        given = arguments[name]
        if isinstance(given, np.ndarray):
            given[...] = _arrays(value)
    return result


def _tensor(value: object) -> object:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _arrays(result: object) -> object:
    """Tensors as arrays, floats as float64."""

    def array(each: object) -> object:
        if not isinstance(each, torch.Tensor):
            return each
        found: Array = (each.detach().to(torch.float64) if each.is_floating_point() else each.detach()).numpy()
        return found

    return tree_map(array, tuple(result) if isinstance(result, list) else result)
