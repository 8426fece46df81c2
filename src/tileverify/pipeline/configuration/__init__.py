"""Settings in ``[tool.tileverify]`` of ``pyproject.toml``; what the command line says wins over them."""

from .configured import Configuration, FileSettings
from .read import configuration

__all__ = ["Configuration", "FileSettings", "configuration"]
