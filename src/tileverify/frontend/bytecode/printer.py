"""`print_module`: Tile IR assembly, in the words of NVIDIA's ``tileirdisasm`` (13.4 and 13.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from .assembly_text import Names, attribute_text, constant_text, hints_text, string_text, symbol_text, type_text
from .location import Location
from .model import Block, Entry, Global, Module, Op, PointerType, TensorViewType, TileType, Type, Value

_FLAGS: Final = {
    "ftz": " flush_to_zero",
    "nan": " propagate_nan",
    "sat": " saturating",
    "fast_acc": " fast_acc",
    "global": " global",
    "unsignedCmp": "unsigned ",
}
_OVERFLOW: Final = {"none": "", "nsw": "no_signed_wrap", "nuw": "no_unsigned_wrap", "nw": "no_wrap"}
_IMPLICIT_TERMINATOR: Final = {"for": "continue", "loop": "continue", "if": "yield"}


def print_module(module: Module, *, locations: bool = False) -> str:
    """The assembly text of ``module``; ``locations`` adds the source position with its call sites to every op."""
    lines: list[str] = []
    if module.producer is not None:
        lines.append(f"// Producer: {module.producer}")
    lines += [_global_text(item) + (" loc(unknown)" if locations else "") for item in module.globals]
    for entry in module.entries:
        printer = _EntryPrinter(entry, locations)
        printer.run()
        lines += (line.text for line in printer.lines)
    return "\n".join(lines) + "\n"


def print_op(op: Op, entry: Entry) -> str:
    """One op of ``entry`` in one line, without its regions."""
    return _EntryPrinter(entry, False).line(op)


@dataclass(frozen=True, slots=True)
class AssemblyLine:
    """A line of an entry's assembly and the ``op`` that begins in it: none in what only ends a region."""

    text: str
    op: Op | None


def entry_lines(entry: Entry) -> Iterator[AssemblyLine]:
    """The assembly of one entry, line by line, without locations in the text."""
    printer = _EntryPrinter(entry, False)
    printer.run()
    yield from printer.lines


def location_text(location: Location | None) -> str:
    """``"file":line:column``, nested in call sites, or ``unknown``."""
    if location is None:
        return "unknown"
    frames = [f"{string_text(frame.file)}:{frame.line}:{frame.column}" for frame in location.chain()]
    text = frames[-1]
    for frame in reversed(frames[:-1]):
        text = f"callsite({frame} at {text})"
    return text


def _global_text(item: Global) -> str:
    visibility = " private" if item.private else ""
    constant = " constant" if item.constant else ""
    place = symbol_text(item.name) + (f" alignment = {item.alignment}" if item.alignment else "")
    return f"global{visibility} {constant} {place} {constant_text(item.value)} : {type_text(item.type)}"


class _EntryPrinter:
    def __init__(self, entry: Entry, locations: bool) -> None:
        self.lines: list[AssemblyLine] = []
        self._entry = entry
        self._names = Names(entry)
        self._locations = locations
        self._op: Op

    def run(self) -> None:
        entry = self._entry
        parameters = self._typed(entry.parameters)
        hints = f" optimization_hints={hints_text(entry.hints)}" if entry.hints else ""
        self._write(f"entry {symbol_text(entry.name)}({parameters}){hints} {{")
        self._block(entry.body, "  ", None)
        self._write("}" + self._location(entry.location))

    def _write(self, text: str, op: Op | None = None) -> None:
        self.lines.append(AssemblyLine(text, op))

    def line(self, op: Op) -> str:
        self._op = op
        body = op.declaration.assembly.format_map(_Fields(self._field))
        left = self._names.left(op)
        return f"{left} = {op.name} {body}" if left else f"{op.name} {body}" if body else op.name

    def _block(self, block: Block, indent: str, inside: Op | None) -> None:
        ops = block.ops
        if inside is not None and not ops[-1].group("args") and ops[-1].name == _IMPLICIT_TERMINATOR.get(inside.name):
            ops = ops[:-1]
        for op in ops:
            text = indent + self.line(op)
            if op.regions:
                self._regions(op, text, indent)
            else:
                self._write(text + self._location(op.location), op)

    def _regions(self, op: Op, text: str, indent: str) -> None:
        beginning: Op | None = op
        if op.declaration.body == "combination":
            self._write(text, op)
            text = f"{indent}({self._typed(op.regions[0].blocks[0].arguments)})"
            beginning = None
        for region in op.regions:
            if region.blocks:
                self._write(text + " {", beginning)
                self._block(region.blocks[0], indent + "  ", op)
                text, beginning = indent + "} else", None
        self._write(f"{indent}}}{self._location(op.location)}")

    def _location(self, location: Location | None) -> str:
        return f" loc({location_text(location)})" if self._locations else ""

    # -------------------------------------------------------------------------------------------- fields
    def _field(self, key: str) -> str:
        op = self._op
        special = _SPECIAL.get(key)
        if special is not None:
            return special(self)
        if key.startswith("type_"):
            return self._operand_types(key.removeprefix("type_"))
        if key in _FLAGS:
            return _FLAGS[key] if key in op.flags else ""
        if key in op.operands:
            return self._operand(key)
        return self._attribute(key)

    def _operand(self, key: str) -> str:
        operand = self._op.operands[key]
        if operand is None:
            return ""
        if isinstance(operand, tuple):
            return self._list(operand)
        return f", {self._names[operand]}" if key in ("mask", "pad") else self._names[operand]

    def _operand_types(self, key: str) -> str:
        operand = self._op.operands[key]
        if operand is None:
            return ""
        if isinstance(operand, tuple):
            return _types(value.type for value in operand)
        return f", {type_text(operand.type)}" if key in ("mask", "pad", "token") else type_text(operand.type)

    def _attribute(self, key: str) -> str:
        op = self._op
        value = op.attributes[key]
        match key:
            case "rnd":
                return "" if value == op.declaration.attribute(key).usual else f"rounding<{value}>"
            case "ovf":
                return f" overflow<{_OVERFLOW[value]}>" if value != "none" else ""
            case "scope":
                return f" {value}" if value else ""
            case "hints":
                return f" optimization_hints = {hints_text(value)}" if value else ""
            case "inbounds":
                return f" inbounds = [{', '.join(map(attribute_text, value))}]" if any(value) else ""
            case "perm":
                return f"[{', '.join(map(str, value))}]"
            case "value":
                return constant_text(value)
            case "msg" | "str" | "callee":
                return string_text(value)
            case "name":
                return symbol_text(value)
            case "reverse" | "ident":
                return attribute_text(value)
            case _:
                return attribute_text(value) if op.name == "assume" else str(value)

    def _list(self, values: Iterable[Value]) -> str:
        return ", ".join(self._names[value] for value in values)

    def _typed(self, values: Iterable[Value]) -> str:
        return ", ".join(f"{self._names[value]}: {type_text(value.type)}" for value in values)

    # The combinations that format strings name.
    def _result_types(self) -> str:
        return _types(value.type for value in self._op.results)

    def _first_type(self) -> str:
        return type_text(self._op.results[0].type) if self._op.results else ""

    def _spaced_rounding(self) -> str:
        rounding = self._attribute("rnd")
        return rounding and f" {rounding}"

    def _token(self) -> str:
        token = self._op.optional("token")
        return f" token={self._names[token]}" if token else ""

    def _spaced_token(self) -> str:
        token = self._op.optional("token")
        return f" token = {self._names[token]}" if token else ""

    def _gdc_token(self) -> str:
        token = self._op.optional("token")
        return f"token = {self._names[token]} " if token else ""

    def _reduction(self) -> str:
        reduction: str = self._op.attributes["red"]
        kind = f"#cuda_tile.multimem_reduction_kind<{reduction}>"
        return "" if reduction == "add" else f" attributes {{reduction = {kind}}}"

    def _padded_inbounds(self) -> str:
        return self._attribute("inbounds") or " "

    def _more_args(self) -> str:
        return "".join(f", {self._names[value]}" for value in self._op.group("args"))

    def _types_of_args(self) -> str:
        args = self._op.group("args")
        return f" : {_types(value.type for value in args)}" if args else ""

    def _types_of_index(self) -> str:
        types = [value.type for value in self._op.group("index")]
        return "".join(f", {type_text(type)}" for type in (types[:1] if len(set(types)) == 1 else types))

    def _shape(self) -> str:
        return self._extents("shape")

    def _strides(self) -> str:
        return self._extents("strides")

    def _extents(self, which: str) -> str:
        type = self._op.result.type
        assert isinstance(type, TensorViewType)
        dynamic = iter(self._op.group(which))
        extents = type.shape if which == "shape" else type.strides
        return ", ".join(self._names[next(dynamic)] if extent is None else str(extent) for extent in extents)

    def _dynamic(self) -> str:
        """The operand types of a tensor view: its base only where that is special, one type for all extents."""
        base = self._op.value("base").type
        given = [value.type for value in self._op.group("shape") + self._op.group("strides")]
        special = isinstance(base, TileType) and isinstance(base.element, PointerType) and base.element.attribute
        types = ([base] if special else []) + given[:1]
        return f"{_types(types)} -> " if types else ""

    def _counter(self) -> str:
        return self._names[self._op.regions[0].blocks[0].arguments[0]]

    def _carried(self) -> str:
        op = self._op
        inits = op.group("inits")
        arguments = op.regions[0].blocks[0].arguments[op.name == "for" :]
        pairs = ", ".join(f"{self._names[a]} = {self._names[b]}" for a, b in zip(arguments, inits, strict=True))
        text = f" iter_values({pairs})" if inits else ""
        if op.name == "for":
            return f"{text} -> ({self._result_types()})" if inits else ""
        types = _types(value.type for value in inits)
        results = self._result_types()
        return (text + (f" : {' -> '.join(filter(None, (types, results)))}" if types or results else "")).lstrip()

    def _results_of_if(self) -> str:
        return f" -> ({self._result_types()})" if self._op.results else ""


class _Fields:
    """Lets `str.format_map` ask for one field after another."""

    def __init__(self, field: Callable[[str], str]) -> None:
        self._field = field

    def __getitem__(self, key: str) -> str:
        return self._field(key)


_SPECIAL: Final[dict[str, Callable[[_EntryPrinter], str]]] = {
    "types": _EntryPrinter._result_types,
    "first_type": _EntryPrinter._first_type,
    "spaced_rnd": _EntryPrinter._spaced_rounding,
    "token": _EntryPrinter._token,
    "spaced_token": _EntryPrinter._spaced_token,
    "gdc_token": _EntryPrinter._gdc_token,
    "red": _EntryPrinter._reduction,
    "padded_inbounds": _EntryPrinter._padded_inbounds,
    "more_args": _EntryPrinter._more_args,
    "type_args": _EntryPrinter._types_of_args,
    "type_index": _EntryPrinter._types_of_index,
    "shape": _EntryPrinter._shape,
    "strides": _EntryPrinter._strides,
    "dynamic": _EntryPrinter._dynamic,
    "counter": _EntryPrinter._counter,
    "carried": _EntryPrinter._carried,
    "results_of_if": _EntryPrinter._results_of_if,
}


def _types(types: Iterable[Type]) -> str:
    return ", ".join(map(type_text, types))
