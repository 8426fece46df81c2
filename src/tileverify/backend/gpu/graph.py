"""A graph of kernel launches, by the driver."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, SupportsInt

from . import driver
from .loaded import Plan


class CudaGraph:
    """On one device.  The driver copies parameters, so that plans may go once they were added."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._graph = driver.called(driver.bindings().cuGraphCreate(0))
        self._executable: Any = None

    def add(self, plan: Plan, after: Sequence[SupportsInt], *, early: bool = False) -> object:
        """``early``: it may start before the one that it comes behind has ended, where the device knows such starts."""
        early = early and driver.starts_early(self._device)
        nodes = [] if early else list(after)
        node = driver.called(
            driver.bindings().cuGraphAddKernelNode(self._graph, nodes, len(nodes), self._parameters(plan))
        )
        if early:
            (ahead,) = after
            driver.let_start_early(self._graph, ahead, node)
        return node

    def _parameters(self, plan: Plan) -> Any:
        bindings = driver.bindings()
        found = bindings.CUDA_KERNEL_NODE_PARAMS()
        found.func = bindings.CUfunction(plan.kernel.function.value)
        found.gridDimX, found.gridDimY, found.gridDimZ = plan.grid
        found.blockDimX = found.blockDimY = found.blockDimZ = 1
        found.sharedMemBytes = 0
        found.kernelParams = plan.parameters.pointers
        found.ctx = driver.primary_context(self._device)
        return found

    def finish(self) -> None:
        bindings = driver.bindings()
        with driver.current(self._device):
            self._executable = driver.called(bindings.cuGraphInstantiate(self._graph, 0))

    def change(self, handle: object, plan: Plan) -> None:
        bindings = driver.bindings()
        driver.called(bindings.cuGraphExecKernelNodeSetParams(self._executable, handle, self._parameters(plan)))

    def replay(self, stream: object) -> None:
        with driver.current(self._device) if driver.several() else nullcontext():
            driver.called(driver.bindings().cuGraphLaunch(self._executable, driver.stream_handle(stream)))

    def __del__(self) -> None:
        bindings = driver.bindings()
        if self._executable is not None:
            bindings.cuGraphExecDestroy(self._executable)
        bindings.cuGraphDestroy(self._graph)
