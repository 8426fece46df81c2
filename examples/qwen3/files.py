"""Weights from a folder as Hugging Face keeps them: one safetensors file, or several with an index."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from .config import Config, read_json
from .errors import EngineError
from .memory import Array, Memory
from .weights import Progress, Weights, weights_from

ONE, INDEX = "model.safetensors", "model.safetensors.index.json"


def load_weights(folder: Path, config: Config, memory: Memory, progress: Progress | None = None) -> Weights:
    """Raises `EngineError` for files or tensors that are missing or damaged, and for tensors of other shapes."""
    files = Files(folder, memory)
    return weights_from(config, memory, files.fill, progress)


class Files:
    """Tensors by name, read one at a time; each file is opened when the first of its tensors is wanted."""

    def __init__(self, folder: Path, memory: Memory) -> None:
        self._folder, self._memory = folder, memory
        self._opened: dict[str, Any] = {}
        self._index = self._places()

    def fill(self, name: str, target: Array) -> None:
        """Put the numbers of a tensor there, in the element type of ``target``."""
        if name not in self._index:
            raise EngineError(f"'{self._folder}' has no tensor '{name}'")
        opened = self._open(self._index[name])
        try:
            found = opened.get_tensor(name)
        except Exception as error:  # of safetensors, which has one class for all
            raise EngineError(f"tensor '{name}' cannot be read: {error}") from None
        if tuple(found.shape) != tuple(target.shape):
            raise EngineError(
                f"tensor '{name}' has the shape {tuple(found.shape)}, and the model takes {tuple(target.shape)}"
            )
        self._memory.fill(target, found)

    def _places(self) -> dict[str, str]:
        """Which file holds a name."""
        if (self._folder / INDEX).is_file():
            found = read_json(self._folder / INDEX).get("weight_map")
            if not isinstance(found, dict):
                raise EngineError(f"'{self._folder / INDEX}' has no weight_map")
            return found
        if not (self._folder / ONE).is_file():
            raise EngineError(f"'{self._folder}' has neither {ONE} nor {INDEX}")
        return dict.fromkeys(self._open(ONE).keys(), ONE)

    def _open(self, name: str) -> Any:
        if name not in self._opened:
            try:
                from safetensors import safe_open
            except ImportError:
                raise EngineError("weights are read by safetensors: pip install safetensors") from None
            framework = "pt" if self._memory.on_gpu else "numpy"
            if not self._memory.on_gpu:
                _know_bf16()
            try:
                self._opened[name] = safe_open(str(self._folder / name), framework=framework)
            except Exception as error:  # of safetensors, and OSError
                raise EngineError(f"cannot read '{self._folder / name}': {error}") from None
        return self._opened[name]


def _know_bf16() -> None:
    """NumPy knows the name of the type once ml_dtypes is there; files of other types are read without it."""
    with suppress(ImportError):
        import ml_dtypes  # noqa: F401
