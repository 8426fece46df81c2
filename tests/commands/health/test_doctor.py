"""`doctor`: what it looks at, with and without each thing, and its exit codes."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import CommandLine

from tileverify import pipeline
from tileverify.commands import doctor
from tileverify.commands.doctor import Diagnosis, HealthState
from tileverify.frontend.sources import bytecode_file
from tileverify.results import KernelResult, Report, Verdict


def test_it_proves_and_refutes_and_needs_no_gpu(tileverify: CommandLine) -> None:
    ran = tileverify("doctor", "--format", "json")
    assert ran.code == 0
    document = json.loads(ran.out)
    assert document["schema"] == "tileverify/doctor/1"
    states = {each["name"]: each["state"] for each in document["diagnoses"]}
    for name in ("tileverify", "python", "solver", "cuda.tile", "proof", "refutation", "configuration", "cache"):
        assert states[name] == "ok"
    assert {"tileiras", "nvcc", "driver", "sandbox", "recheck", "cuda", "watch", "lsp", "mcp"} <= states.keys()
    for each in document["diagnoses"]:
        assert each["found"]
        assert each["state"] == "ok" or each["advice"]


@pytest.mark.parametrize(("help_", "state"), [("--enable-tile (-enable-tile)", "ok"), ("--gpu-architecture", "absent")])
def test_an_nvcc_that_knows_no_tile_code_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, help_: str, state: str
) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(f"#!/bin/sh\necho '{help_}'\n")
    nvcc.chmod(0o755)
    monkeypatch.setattr(bytecode_file, "find_nvcc", lambda: nvcc)
    (found,) = (each for each in doctor.examine() if each.name == "nvcc")
    assert found.state.value == state
    assert str(nvcc) in found.found


def test_text_has_a_line_for_each(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def look() -> Iterator[Diagnosis]:
        yield Diagnosis("a", HealthState.OK, "fine\x1b[2J")
        yield Diagnosis("b", HealthState.ABSENT, "none", "install b")

    monkeypatch.setattr(doctor, "_LOOKS", (("a", look),))
    ran = tileverify("doctor")
    assert (ran.code, ran.out) == (0, "ok      a              fine\\x1b[2J\nabsent  b              none; install b\n")
    assert "\x1b[" in tileverify("doctor", "--color", "always").out


def test_what_goes_wrong_while_looking_is_a_diagnosis_and_exit_code_2(
    tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look() -> Iterator[Diagnosis]:
        raise RuntimeError("odd")
        yield

    monkeypatch.setattr(doctor, "_LOOKS", (("a", look),))
    ran = tileverify("doctor")
    assert ran.code == 2
    assert ran.out.startswith("broken  a ")


def test_a_wrong_verdict_is_broken(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Report((KernelResult("k.py", "k", "0", Verdict.PROVED),), "0", "z3")
    monkeypatch.setattr(pipeline, "check_paths", lambda targets: wrong)
    states = [each.state for each in doctor._pipeline()]
    assert states == [HealthState.OK, HealthState.BROKEN]


def test_a_bad_configuration_is_broken(tileverify: CommandLine) -> None:
    Path("pyproject.toml").write_text("[tool.tileverify]\ntimeuot = 5\n")
    (found,) = doctor._configuration()
    assert found.state is HealthState.BROKEN
    assert "did you mean 'timeout'" in found.found


def test_a_cache_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEVERIFY_CACHE_DIR", str(tmp_path / "file" / "cache"))
    (found,) = doctor._cache()
    assert found.state is HealthState.ABSENT
    assert "TILEVERIFY_CACHE_DIR" in found.advice


class Driver:
    """A CUDA driver with so many devices."""

    def __init__(self, status: int, devices: int) -> None:
        self.status = status
        self.devices = devices

    def cuInit(self, flags: int) -> int:  # noqa: N802
        return self.status

    def cuDriverGetVersion(self, place: Any) -> int:  # noqa: N802
        place._obj.value = 13010
        return 0

    def cuDeviceGetCount(self, place: Any) -> int:  # noqa: N802
        place._obj.value = self.devices
        return 0

    def cuDeviceGet(self, place: Any, ordinal: int) -> int:  # noqa: N802
        place._obj.value = ordinal
        return 0

    def cuDeviceGetName(self, name: Any, size: int, device: Any) -> int:  # noqa: N802
        name.value = b"NVIDIA H200"
        return int(device.value)

    def cuDeviceGetAttribute(self, place: Any, attribute: int, device: Any) -> int:  # noqa: N802
        place._obj.value = {75: 9, 76: 0}[attribute]
        return 0


def test_driver_and_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(library: Any) -> list[tuple[str, str, str]]:
        def load(name: str) -> Any:
            if isinstance(library, Exception):
                raise library
            return library

        monkeypatch.setattr(ctypes, "CDLL", load)
        return [(each.name, each.state.value, each.found) for each in doctor.driver_and_devices()]

    assert told(OSError("no"))[0][:2] == ("driver", "absent")
    assert told(Driver(100, 0)) == [("driver", "absent", "libcuda.so.1 is there, but cuInit says 100")]
    assert [each[:2] for each in told(Driver(0, 0))] == [("driver", "ok"), ("gpu", "absent")]
    assert told(Driver(0, 2)) == [
        ("driver", "ok", "CUDA 13.1"),
        ("gpu", "ok", "NVIDIA H200, sm_90"),
        ("gpu", "broken", "device 1 does not say what it is"),
    ]
