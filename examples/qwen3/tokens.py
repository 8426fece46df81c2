"""Text to numbers and back: by a model's own ``tokenizer.json``, or byte by byte for models without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from .errors import EngineError

CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
"""A question, as Qwen3's chat models are asked."""


class Tokens(Protocol):
    def encode(self, text: str) -> list[int]:
        """At least one number."""

    def decode(self, numbers: list[int]) -> str:
        """What they say; bytes that are no character yet as U+FFFD."""


class Bytes:
    """Token i is the byte i; what is no byte says nothing."""

    def encode(self, text: str) -> list[int]:
        return list(text.encode("utf-8")) or [0]

    def decode(self, numbers: list[int]) -> str:
        return bytes(each for each in numbers if each < 256).decode("utf-8", errors="replace")


class Trained:
    """``tokenizer.json``, by the package `tokenizers`."""

    def __init__(self, file: Path) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise EngineError("texts are read by tokenizers: pip install tokenizers") from None
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(file))
        except Exception as error:  # of tokenizers, which has one class for all
            raise EngineError(f"cannot read '{file}': {error}") from None

    def encode(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer.encode(text).ids
        if not found:
            raise EngineError("the prompt is empty")
        return found

    def decode(self, numbers: list[int]) -> str:
        found: str = self._tokenizer.decode(numbers)
        return found


class Stream:
    """The text of one sequence as it grows: what is told is never taken back.

    Numbers are decoded together with those that were told last, as what a number says depends on what stands before it.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens, self._numbers = tokens, list[int]()
        self._before, self._told = 0, 0  # numbers: where the last ones told begin, and where they end

    def add(self, number: int) -> str:
        """What the number adds; nothing while a character is not whole."""
        self._numbers.append(number)
        new = self._new()
        if new.endswith("\ufffd"):
            return ""
        self._before, self._told = self._told, len(self._numbers)
        return new

    def rest(self) -> str:
        """What was held back."""
        return self._new()

    def _new(self) -> str:
        known = self._tokens.decode(self._numbers[self._before : self._told])
        return self._tokens.decode(self._numbers[self._before :])[len(known) :]


def tokens_of(folder: Path) -> Tokens:
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise EngineError(f"'{folder}' has no tokenizer.json")
    return Trained(file)
