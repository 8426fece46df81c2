"""Launching what was proved: the contract as a check on real arguments."""

from .arguments import ArrayValue, LaunchRefused
from .guard import Guard, compile_guard

__all__ = ["ArrayValue", "Guard", "LaunchRefused", "compile_guard"]
