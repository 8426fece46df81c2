"""What measurements depend on, as far as software can tell."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib import metadata

import torch

import tileverify

PACKAGES = ("torch", "triton", "cuda-bindings", "numpy", "nvidia-cublas", "nvidia-cudnn-cu13")


@cache
def machine() -> dict[str, str]:
    queried = "name,driver_version,clocks.max.sm,clocks.max.mem,power.limit"
    command = ["nvidia-smi", f"--query-gpu={queried}", "--format=csv,noheader", "--id=0"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().split(", ")
    name, driver, processors, memory, power = said
    return {
        "GPU": name,
        "driver": driver,
        "largest clocks": f"{processors} and {memory}",
        "power limit": power,
        "CUDA of torch": str(torch.version.cuda),
        "Python": platform.python_version(),
        "tileverify": tileverify.__version__,
        **{package: version for package in PACKAGES if (version := installed(package))},
    }


def installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
