"""Settings in ``[tool.tileverify]`` of ``pyproject.toml``; what the command line says wins over them."""

from .read import configuration
from .settings import Configuration, FileSettings

__all__ = ["Configuration", "FileSettings", "configuration"]
