"""Kernels on concrete arrays: from a contract and a few numbers to a legal launch, its inputs, its run, its outputs.

Everything is checked against the contract that the verdict speaks of, because a proof says nothing about a launch
outside of it.
"""

from ...backend.numbers.told import KernelFault
from .run import NotProved, RunOptions, RunResult, WrittenArray, run_target

__all__ = ["KernelFault", "NotProved", "RunOptions", "RunResult", "WrittenArray", "run_target"]
