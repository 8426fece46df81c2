"""Questions to the driver that a binding answers wrongly, asked of a driver that is made up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tileverify.backend.gpu import driver
from tileverify.system.errors import UsageError


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses from 1000 on lie on device 1, from 2000 on on device 2, below on the host."""

    def attribute(found: Any, which: int, address: Any) -> int:
        assert which == 9
        found._obj.value = address.value // 1000
        return 0 if address.value >= 1000 else 1

    monkeypatch.setattr(driver, "bindings", lambda: None)
    monkeypatch.setattr(driver, "_library", lambda: SimpleNamespace(cuPointerGetAttribute=attribute))


@pytest.mark.usefixtures("memory")
def test_the_device_of_an_address() -> None:
    assert [driver.device_of(address) for address in (1000, 1999, 2000)] == [1, 1, 2]


@pytest.mark.usefixtures("memory")
def test_memory_of_the_host_is_refused() -> None:
    with pytest.raises(UsageError, match="0x10 is not one of a GPU's memory"):
        driver.device_of(16)
