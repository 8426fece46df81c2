"""Device memory as it was at one point of a stream, put back where it lies."""

from __future__ import annotations

from collections.abc import Sequence

from . import driver


class SavedDeviceMemory:
    """``ranges``: first byte and end of each."""

    def __init__(self, device: int, ranges: Sequence[tuple[int, int]], stream: object) -> None:
        self._device = device
        self._copies = [
            (low, high - low, driver.DeviceMemory.uninitialised(device, high - low)) for low, high in ranges
        ]
        for address, size, copy in self._copies:
            self._move(copy.address, address, size, stream)

    def restore(self, stream: object) -> None:
        """Behind all that ``stream`` was given."""
        for address, size, copy in self._copies:
            self._move(address, copy.address, size, stream)

    def _move(self, to: int, source: int, size: int, stream: object) -> None:
        with driver.current(self._device):
            driver.called(driver.bindings().cuMemcpyDtoDAsync(to, source, size, driver.stream_handle(stream)))
