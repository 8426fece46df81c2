"""Constants that ``@triton.heuristics`` computes at each launch, beside what a launch spec says of them.

No launch has another value than the computed one.  Where the spec fixes all that a heuristic looks at, both are
compared; else the spec is believed, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ...contract.expressions import constant_value
from ...contract.launch import Argument, ConstantArgument, LaunchSpec, ScalarArgument
from ...contract.spec_text import mistake_in

_DECORATOR: Final = "@triton.heuristics"
DEFAULTS: Final[Mapping[str, int]] = {"num_warps": 4, "num_ctas": 1}
"""Options of Triton's compiler that a spec need not give."""


class _LookedAtError(Exception):
    """A heuristic looks at what the spec leaves open."""


class _Open:
    """An argument that differs from launch to launch: it is there, and whoever asks for more learns nothing."""

    def _looked_at(self, *_: object) -> Any:
        raise _LookedAtError

    __class__ = property(_looked_at)
    __getattr__ = __bool__ = __hash__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _looked_at
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = _looked_at
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __int__ = __index__ = __len__ = __iter__ = _looked_at


def computed(decorated: object) -> Iterator[tuple[str, Callable[[Mapping[str, object]], object]]]:
    """The constants and how they are computed, in Triton's order."""
    while decorated is not None and type(decorated).__module__.startswith("triton."):
        if type(decorated).__name__ == "Heuristics":
            yield from decorated.values.items()  # type: ignore[attr-defined]
        decorated = getattr(decorated, "fn", None)


def heuristic_notes(spec: LaunchSpec, decorated: object) -> Iterator[str]:
    """What has to be said of the constants of ``spec`` that heuristics of the kernel compute.

    Raises :class:`SpecError` where a constant is another one in every launch of ``spec``.
    """
    known: dict[str, object] = {argument.name: _value(argument) for argument in spec.arguments}
    given = {**DEFAULTS, **dict(spec.options)}
    for name, compute in computed(decorated):
        if name in known:
            field, told = f"args.{name}", known[name]
        else:
            field, told = f"options.{name}", given.get(name)
        try:
            value = compute({**known, **dict(spec.options)})
            differs = value != told
        except Exception:  # whatever a kernel's own Python raises
            if name in known:
                yield f"{name} = {told!r} is what the launch spec says; {_DECORATOR} computes it at each launch"
            continue
        if differs:
            raise mistake_in(spec, f"{field}: {_DECORATOR} makes it {value!r} in every such launch, not {told!r}")


def _value(argument: Argument) -> object:
    if isinstance(argument, ConstantArgument):
        return argument.value
    number = None
    if isinstance(argument, ScalarArgument) and argument.value is not None:
        number = constant_value(argument.value)
    return _Open() if number is None else number
