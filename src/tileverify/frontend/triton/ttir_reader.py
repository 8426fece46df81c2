"""Read the printed form of a Triton IR module.

An op stands on one line, but for its regions.  Nearly every op prints the same parts in an order of its own: operands,
bracketed groups of them, bare words, attributes, regions, types.  So one reader takes these parts as they come, and
only the loops of `scf` and functions, which name values between their words, have readers of their own.

Nothing is imported from Triton: its cache keeps this text beside each kernel (``kernel.ttir``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from ...system.errors import SourceError
from ...system.readings import read
from ..bytecode.location import Location
from ..bytecode.model import PointerType, ScalarType, TileType
from .ttir import (
    AttributeValue,
    DescriptorType,
    Successor,
    TritonBlock,
    TritonFunction,
    TritonModule,
    TritonOp,
    TritonParameter,
    TritonRegion,
    TritonType,
)
from .ttir_words import SCALAR_TYPES, PrintedLocations, location_aliases, type_of, unescaped


def read_ttir(text: str, file: str) -> TritonModule:
    """The module that ``text`` prints; ``file`` is named in errors.

    Raises :class:`SourceError` at the line of ``text`` that cannot be read.
    """
    return _Reader(text, file).module()


def read_ttir_text(path: Path) -> str:
    """The text of a file, such as ``kernel.ttir`` of Triton's cache."""
    return read(path).decode("utf-8", "replace")


_DECLARED: Final = re.compile(r"^// parameters: (?P<names>.*)$", re.MULTILINE)


def declared_parameters(text: str) -> tuple[str, ...]:
    """The names of a kernel's parameters in the comment that ``record`` writes; none where there is no such comment."""
    found = _DECLARED.search(text)
    return tuple(name.strip() for name in found["names"].split(",")) if found is not None else ()


# --------------------------------------------------------------------------------------------------- tokens
class _Token(NamedTuple):
    kind: str
    text: str
    line: int


_TOKEN: Final = re.compile(
    r"""[ \t\r]*(?:(?P<newline>(?:\n[ \t\r]*)+)|(?P<comment>//[^\n]*)|(?P<end>\Z)
    |(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<value>%[\w$.-]+(?:\#\d+)?)|(?P<count>:\d+)(?=\ *=|,)
    |(?P<label>\^[\w$.-]+)|(?P<symbol>@(?:[\w$.-]+|"[^"]*"))
    |(?P<number>-?(?:0x[0-9A-Fa-f]+|\d+\.\d*(?:[eE][+-]?\d+)?|\d+(?![\dx]*x[a-z!])))
    |(?P<arrow>->)
    |(?P<open>(?:tensor|dense|array|loc|fused|vector|!?[a-z]\w*(?:\.\w+)*|!tt\.\w+|\#tt\.\w+)?<(?!\{)|loc\()
    |(?P<word>[A-Za-z_][\w$.]*|!tt\.\w+|\#[\w$.]+)
    |(?P<mark>[][(){}<>:=,*?+-]|\|))""",
    re.VERBOSE,
)
_NESTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|->|[<(\[{]|[>)\]}]')


def _tokens(text: str, file: str) -> Iterator[_Token]:
    """The tokens of ``text``; a type, ``dense<...>``, ``loc(...)`` is one token, whatever is nested in it."""
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise SourceError(f"unexpected {text[position:].lstrip()[0]!r} in Triton IR", file, line)
        kind, end = match.lastgroup or "", match.end()
        if kind == "newline":
            line += match[kind].count("\n")
        elif kind == "open":
            start, end = match.start(kind), _closing(text, end, file, line)
            yield _Token(kind, text[start:end], line)
            line += text.count("\n", start, end)
        elif kind not in ("comment", "end"):
            token = match[kind]
            yield _Token(kind, token, line)
            if kind == "text":
                line += token.count("\n")
        position = end
    yield _Token("end", "", line + 1)


def _closing(text: str, position: int, file: str, line: int) -> int:
    """Behind the bracket that closes the one before ``position``."""
    depth = 1
    for match in _NESTED.finditer(text, position):
        piece = match[0]
        if piece in "<([{":
            depth += 1
        elif piece in ">)]}":
            depth -= 1
            if depth == 0:
                return match.end()
    raise SourceError("a bracket of this line is never closed", file, line)


# ------------------------------------------------------------------------------------------------- parsing
_REGION_WORDS: Final = frozenset({"else", "do"})


@dataclass
class _Parts:
    """What an op has printed so far."""

    operands: list[str]
    groups: list[int]
    words: list[tuple[str, int]]
    attributes: dict[str, AttributeValue]
    types: list[TritonType]
    result_types: list[TritonType] | None
    regions: list[TritonRegion]
    successors: list[Successor]
    location: Location | None = None


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._tokens = list(_tokens(text, file))
        self._next = 0
        self._locations = PrintedLocations(location_aliases(text))

    # --------------------------------------------------------------------------------------------- steps
    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, text: str | None = None, kind: str | None = None) -> _Token:
        token = self._token
        if (text is not None and token.text != text) or (kind is not None and token.kind != kind):
            self._fail(f"expected {text or kind}, found {token.text or 'the end'!r}")
        if token.kind == "end":
            self._fail("the text ends in the middle of the module")
        self._next += 1
        return token

    def _taken(self, text: str) -> bool:
        if self._token.text == text:
            self._next += 1
            return True
        return False

    def _fail(self, message: str, token: _Token | None = None) -> NoReturn:
        raise SourceError(f"Triton IR cannot be read: {message}", self._file, (token or self._token).line)

    # ------------------------------------------------------------------------------------------- modules
    def module(self) -> TritonModule:
        while self._token.text != "module":
            if self._token.kind == "end":
                self._fail("there is no module")
            self._next += 1
        self._take("module")
        if self._token.kind == "symbol":
            self._next += 1
        if self._taken("attributes"):
            self._dictionary()
        self._take("{")
        functions: dict[str, TritonFunction] = {}
        while not self._taken("}"):
            function = self._function()
            functions[function.name] = function
        return TritonModule(functions)

    def _function(self) -> TritonFunction:
        self._take("tt.func")
        visibility = self._take().text if self._token.kind == "word" else "public"
        name = self._take(kind="symbol").text[1:].strip('"')
        self._take("(")
        parameters: list[TritonParameter] = []
        while not self._taken(")"):
            value, type = self._argument()
            attributes = self._dictionary() if self._token.text == "{" else {}
            self._location()
            parameters.append(TritonParameter(value[1:], type, attributes))
            self._taken(",")
        results = self._type_list() if self._taken("->") else []
        if self._taken("attributes"):
            self._dictionary()
        if self._token.text != "{":
            self._fail(f"function '{name}' has no body")
        body = self._region()
        return TritonFunction(name, visibility == "public", tuple(parameters), tuple(results), body, self._location())

    def _argument(self) -> tuple[str, TritonType]:
        value = self._take(kind="value").text
        self._take(":")
        return value, self._type()

    # ------------------------------------------------------------------------------------ regions, blocks
    def _region(self, arguments: Sequence[tuple[str, TritonType]] = ()) -> TritonRegion:
        """The blocks between braces; ``arguments`` are those of the first block, where its op names them."""
        self._take("{")
        blocks: list[TritonBlock] = []
        label, named = "", list(arguments)
        while True:
            if self._token.kind == "label":
                label = self._take().text
                if self._taken("("):
                    while not self._taken(")"):
                        named.append(self._argument())
                        self._location()
                        self._taken(",")
                self._take(":")
            ops: list[TritonOp] = []
            while self._token.kind != "label" and self._token.text != "}":
                ops.append(self._op())
            names, types = [name for name, _ in named], [type for _, type in named]
            blocks.append(TritonBlock(label, tuple(names), tuple(types), tuple(ops)))
            if self._taken("}"):
                return TritonRegion(tuple(blocks))
            named = []

    # ---------------------------------------------------------------------------------------------- ops
    def _op(self) -> TritonOp:
        results = self._result_names()
        if self._token.kind not in ("word", "text"):
            self._fail(f"expected an op, found {self._token.text or 'the end'!r}")
        name = self._take().text.strip('"')
        parts = _Parts([], [], [], {}, [], None, [], [])
        if name == "scf.for":
            self._for(parts)
        elif name == "scf.while":
            self._while(parts)
        self._rest(parts)
        types = _result_types(name, parts) if results else ()
        if len(types) != len(results):
            self._fail(f"{name} has {len(results)} results, but {len(types)} types")
        return TritonOp(
            name,
            results,
            types,
            tuple(parts.operands),
            tuple(parts.groups),
            tuple(parts.words),
            parts.attributes,
            tuple(parts.regions),
            tuple(parts.successors),
            parts.location,
            tuple(parts.types),
        )

    def _result_names(self) -> tuple[str, ...]:
        if self._token.kind != "value":
            return ()
        names: list[str] = []
        while True:
            value = self._take(kind="value").text
            if self._token.kind == "count":
                names += [f"{value}#{position}" for position in range(int(self._take().text[1:]))]
            else:
                names.append(value)
            if not self._taken(","):
                break
        self._take("=")
        return tuple(names)

    def _for(self, parts: _Parts) -> None:
        """``%i = %lower to %upper step %step iter_args(%a = %x) -> (T) : i32 {``"""
        if self._token.text == "unsigned":
            parts.words.append((self._take().text, 0))
        counter = self._take(kind="value").text
        for mark in ("=", "to", "step"):
            self._take(mark)
            parts.operands.append(self._take(kind="value").text)
        carried = self._carried(parts) if self._taken("iter_args") else []
        parts.result_types = self._type_list() if self._taken("->") else []
        counter_type: TritonType = TileType(SCALAR_TYPES["i32"])
        if self._taken(":"):
            counter_type = self._type()
        types = [counter_type, *parts.result_types]
        parts.regions.append(self._region(list(zip([counter, *carried], types, strict=True))))

    def _while(self, parts: _Parts) -> None:
        """``(%a = %x) : (T) -> (U) {``, and ``} do {`` behind the first region."""
        carried = self._carried(parts) if self._token.text == "(" else []
        self._take(":")
        types = self._type_list()
        self._take("->")
        parts.result_types = self._type_list()
        parts.regions.append(self._region(list(zip(carried, types, strict=True))))

    def _carried(self, parts: _Parts) -> list[str]:
        names: list[str] = []
        self._take("(")
        while not self._taken(")"):
            names.append(self._take(kind="value").text)
            self._take("=")
            parts.operands.append(self._take(kind="value").text)
            self._taken(",")
        return names

    def _rest(self, parts: _Parts) -> None:
        """Everything up to the end of the op: the next token that begins a line outside of its regions."""
        while not self._ended():
            token = self._token
            step = self._STEPS.get(token.text) or self._KINDS.get(token.kind)
            if step is None:
                self._fail(f"unexpected {token.text!r}")
            step(self, parts)

    def _ended(self) -> bool:
        before, token = self._tokens[self._next - 1], self._token
        return token.kind == "end" or token.line > before.line or token.text == "}"

    def _value(self, parts: _Parts) -> None:
        parts.operands.append(self._take().text)

    def _group(self, parts: _Parts) -> None:
        self._take("[")
        before = len(parts.operands)
        while not self._taken("]"):
            parts.operands.append(self._take(kind="value").text)
            self._taken(",")
        parts.groups.append(len(parts.operands) - before)

    def _parenthesis(self, parts: _Parts) -> None:
        """Operands of an op, or its regions."""
        self._take("(")
        while not self._taken(")"):
            if self._token.text == "{":
                parts.regions.append(self._region())
            else:
                parts.operands.append(self._take(kind="value").text)
            self._taken(",")

    def _brace(self, parts: _Parts) -> None:
        following = self._tokens[self._next + 1]
        if following.line > self._token.line or following.kind == "label":
            parts.regions.append(self._region())
        else:
            parts.attributes.update(self._dictionary())

    def _properties(self, parts: _Parts) -> None:
        self._take("<")
        parts.attributes.update(self._dictionary())
        self._take(">")

    def _word(self, parts: _Parts) -> None:
        word = self._take().text
        if self._taken("="):
            parts.attributes[word] = self._attribute()
        elif word == "to":
            parts.result_types = self._types()
        elif word in ("true", "false"):
            parts.attributes["value"] = word == "true"
        elif word not in _REGION_WORDS:
            parts.words.append((word, len(parts.operands)))

    def _text(self, parts: _Parts) -> None:
        parts.words.append((unescaped(self._take().text), len(parts.operands)))

    def _literal(self, parts: _Parts) -> None:
        parts.attributes["value"] = self._take().text

    def _callee(self, parts: _Parts) -> None:
        parts.attributes["callee"] = self._take().text[1:].strip('"')

    def _successor(self, parts: _Parts) -> None:
        label = self._take().text
        values: list[str] = []
        if self._taken("("):
            while self._token.text != ":":
                values.append(self._take(kind="value").text)
                self._taken(",")
            self._take(":")
            self._types()
            self._take(")")
        parts.successors.append(Successor(label, tuple(values)))

    def _open(self, parts: _Parts) -> None:
        """``loc(...)``, ``dense<...>``: what is one token."""
        if self._token.text.startswith("loc("):
            parts.location = self._location()
        else:
            self._literal(parts)

    def _signature(self, parts: _Parts) -> None:
        self._take(":")
        if self._token.kind == "value":
            return  # `tt.print "text" {...} : %x : T` has a colon before its operands, too
        parts.types += self._type_list() if self._token.text == "(" else self._types()

    def _arrow(self, parts: _Parts) -> None:
        self._take("->")
        parts.result_types = self._type_list() if self._token.text == "(" else self._types()

    def _skip(self, parts: _Parts) -> None:
        self._next += 1

    _STEPS: Final[Mapping[str, Callable[[_Reader, _Parts], None]]] = {
        "[": _group,
        "(": _parenthesis,
        "{": _brace,
        "<": _properties,
        ":": _signature,
        ",": _skip,
    }
    _KINDS: Final[Mapping[str, Callable[[_Reader, _Parts], None]]] = {
        "value": _value,
        "word": _word,
        "text": _text,
        "number": _literal,
        "symbol": _callee,
        "label": _successor,
        "open": _open,
        "arrow": _arrow,
    }

    # ------------------------------------------------------------------------------ types and attributes
    def _type_list(self) -> list[TritonType]:
        """Types in parentheses, or one type."""
        if not self._taken("("):
            return [self._type()]
        types = [] if self._token.text == ")" else self._types()
        self._take(")")
        return types

    def _types(self) -> list[TritonType]:
        types = [self._type()]
        while self._token.text in (",", "*") and not self._ended():
            self._next += 1
            types.append(self._type())
        return types

    def _type(self) -> TritonType:
        token = self._take()
        type = type_of(token.text)
        if type is None:
            self._next -= 1
            self._fail(f"'{token.text}' is no type of Triton IR before its layouts")
        return type

    def _dictionary(self) -> dict[str, AttributeValue]:
        self._take("{")
        made: dict[str, AttributeValue] = {}
        while not self._taken("}"):
            name = self._take().text.strip('"')
            made[name] = self._attribute() if self._taken("=") else True
            if self._taken(":"):
                self._type()
            self._taken(",")
        return made

    def _attribute(self) -> AttributeValue:
        token = self._take()
        if token.text == "[":
            items: list[AttributeValue] = []
            while not self._taken("]"):
                items.append(self._attribute())
                self._taken(",")
            return tuple(items)
        return _attribute_value(token)

    def _location(self) -> Location | None:
        if not self._token.text.startswith("loc("):
            return None
        return self._locations.of(self._take().text)


def _attribute_value(token: _Token) -> AttributeValue:
    text = token.text
    if token.kind == "text":
        return unescaped(text)
    if token.kind == "number":
        return int(text, 0) if re.fullmatch(r"-?(0x[0-9A-Fa-f]+|\d+)", text) else float(text)
    if text in ("true", "false"):
        return text == "true"
    listed = re.fullmatch(r"(?:array<\w+(?::\s*(?P<items>.*))?|dense<\[?(?P<values>[-\d, ]+)\]?)>", text, re.DOTALL)
    if listed is not None:
        items = listed["items"] or listed["values"] or ""
        return tuple(int(item) if item.strip() not in ("true", "false") else item.strip() == "true"
                     for item in items.split(",") if item.strip())  # fmt: skip
    return text


def _result_types(name: str, parts: _Parts) -> tuple[TritonType, ...]:
    """The types of the results, where an op does not print them behind an arrow."""
    if name == "tt.make_tensor_descriptor":
        block = (parts.result_types or parts.types)[-1]
        if isinstance(block, TileType) and isinstance(block.element, ScalarType):
            return (DescriptorType(block.element, block.shape),)
        return (block,)
    if name == "tt.split" and parts.result_types is not None:
        return (parts.result_types[0],) * 2  # both halves are of the one type that is printed
    if parts.result_types is not None:
        return tuple(parts.result_types)
    if name == "arith.constant" and isinstance(parts.attributes.get("value"), bool) and not parts.types:
        return (TileType(SCALAR_TYPES["i1"]),)
    if not parts.types:
        return ()
    first, last = parts.types[0], parts.types[-1]
    if name in ("arith.cmpi", "arith.cmpf") and isinstance(first, TileType):
        return (replace(first, element=SCALAR_TYPES["i1"]),)
    if name == "tt.load" and isinstance(first, TileType) and isinstance(first.element, PointerType):
        return (TileType(first.element.pointee, first.shape),)
    return (last if name == "arith.select" else first,)


__all__ = ["declared_parameters", "read_ttir", "read_ttir_text"]
