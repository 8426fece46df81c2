"""The operators of torch that rules of `equality` stand for, as torch declares them, in ``aten.txt`` beside this file.

    python -m tests.equality.aten             # writes it; needs torch

Overloads that torch takes apart before a dispatcher sees them are left out, and those that make no tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tileverify.equality import torch_moving, torch_rules

RULES = {**torch_rules.RULES, **torch_moving.RULES, **torch_rules.LAYER_RULES}
FILE = Path(__file__).with_suffix(".txt")


def declared() -> Iterator[str]:
    """A line for each overload, in the words of torch."""
    import torch

    apart = torch._C.DispatchKey.CompositeImplicitAutograd
    for name in sorted(RULES):
        for called in (name, f"{name}_"):
            packet = getattr(torch.ops.aten, called, None)
            for overload in packet.overloads() if packet is not None else ():
                operator = getattr(packet, overload)
                text = str(operator._schema)
                known = torch._C._dispatch_has_kernel(operator.name())
                if known and "Tensor" in text.partition("-> ")[2] and not operator.has_kernel_for_dispatch_key(apart):
                    yield text


def main() -> None:
    FILE.write_text("".join(f"{line}\n" for line in declared()))


if __name__ == "__main__":
    main()
