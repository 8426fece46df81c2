"""The typing rule of every op: what a reader of the model may rely on without checking again.

Source: the verifiers of NVIDIA/cuda-tile and the per-op text of the specification.
"""

from __future__ import annotations

from . import rules_arithmetic, rules_control, rules_memory, rules_tile
from .model import Op
from .wellformed import RULES

__all__ = ["check_op", "rules_arithmetic", "rules_control", "rules_memory", "rules_tile"]


def check_op(op: Op) -> None:
    """Raise `IllFormed` unless the types and attributes of ``op`` obey the rule that its declaration names."""
    RULES[op.declaration.typing](op)
