"""Launch contracts in certificates: in the words of launch specs, which read back as the same contract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...contract.allowed import allowed_text, read_allow
from ...contract.arguments import list_elements, parse_description, print_array, print_description, read_descriptor
from ...contract.data_facts import parse_data_fact, print_data_fact
from ...contract.declared_calls import calls_table, read_calls
from ...contract.expression_parser import parse_condition, parse_size
from ...contract.expressions import print_expression
from ...contract.launch import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    DescriptorBlock,
    LaunchSpec,
    ListArgument,
    ScalarArgument,
    TupleArgument,
    flat,
)
from ...contract.scope import read_names
from ...contract.strides import check_meanings
from ...contract.trustable import read_trust, trusted_text
from ...system.errors import SpecError

Json = dict[str, Any]


def launch_to_json(launch: LaunchSpec) -> Json:
    """All of ``launch`` that a proof depends on, and its name."""
    return {
        "name": launch.name,
        "arguments": [_argument_to_json(argument) for argument in launch.arguments],
        "grid": None if launch.grid is None else [print_expression(axis) for axis in launch.grid],
        "requires": [print_expression(fact) for fact in launch.requires],
        "data": [print_data_fact(fact) for fact in launch.data],
        "alias": [sorted(group) for group in launch.alias],
        "overlap": [sorted(group) for group in launch.overlap],
        **({"trust": list(launch.trust)} if launch.trust else {}),
        **({"allow": list(launch.allow)} if launch.allow else {}),
        **({"calls": calls_table(launch.calls)} if launch.calls else {}),
        **({"names": list(launch.names)} if launch.names else {}),
        **({"empty": list(launch.empty)} if launch.empty else {}),
    }


def contract_lines(launch: LaunchSpec) -> Iterator[tuple[str, str]]:
    """All of a contract that a proof depends on, for people: what a line speaks of, and its text."""
    for argument in launch.arguments:
        yield "argument", _argument_text(argument)
    if launch.grid is None:
        yield "grid", "any"
    else:
        yield "grid", f"({', '.join(map(print_expression, launch.grid))})"
    if launch.names:
        yield "names", f"{', '.join(launch.names)}, not negative"
    yield from (("given", print_expression(fact)) for fact in launch.requires)
    yield from (("assumes", print_data_fact(fact)) for fact in launch.data)
    for label, groups in (("alias", launch.alias), ("overlap", launch.overlap)):
        yield from ((label, " and ".join(sorted(group))) for group in groups)
    if launch.empty:
        yield "empty", f"{', '.join(launch.empty)}, when the launch begins"
    yield from (("trusts", text) for text in trusted_text(launch.trust))
    yield from (("allows", text) for text in allowed_text(launch.allow))
    yield from (("declares", call.text) for call in launch.calls)


def _argument_text(argument: Argument) -> str:
    match argument:
        case ListArgument(name=name, element=element, length=length, each=each, addresses=addresses):
            more = f": {', '.join(map(print_array, each))}" if each else ""
            what = "the addresses of" if addresses else "a list of"
            return f"{name} = {what} {print_expression(length)} arrays {print_array(element)}{more}"
        case TupleArgument(name=name, items=items):
            return f"{name} = ({', '.join(map(_argument_text, items))})"
        case ConstantArgument(name=name, value=value):
            return f"{name} = {_constant(value)}, compiled in"
        case ArrayArgument(name=name, descriptor=None):
            return f"{name} = {print_array(argument)}"
        case ArrayArgument(name=name):
            return f"{name} = {print_description(argument)}"
        case ScalarArgument(name=name, dtype=dtype, value=value):
            return f"{name} = {dtype}" + ("" if value is None else f" = {print_expression(value)}")
    raise TypeError(f"not an argument: {argument!r}")


def launch_from_json(document: Mapping[str, Any], kernel: str = "") -> LaunchSpec:
    """The inverse of `launch_to_json`; raises `SpecError`."""
    try:
        grid = document["grid"]
        axes = None if grid is None else tuple(parse_size(axis) for axis in grid)
        if axes is not None and len(axes) != 3:
            raise SpecError("its grid has not three axes")
        arguments = tuple(_argument_from_json(argument) for argument in document["arguments"])
        launch = LaunchSpec(
            kernel=kernel,
            name=_text(document["name"], "the name"),
            arguments=arguments,
            grid=None if axes is None else (axes[0], axes[1], axes[2]),
            requires=tuple(parse_condition(text) for text in document["requires"]),
            data=tuple(parse_data_fact(text) for text in document["data"]),
            alias=_groups(document["alias"]),
            overlap=_groups(document["overlap"]),
            trust=read_trust(document.get("trust", [])),
            allow=read_allow(document.get("allow", []), (names := [each.name for each in flat(arguments)])),
            calls=read_calls(document.get("calls", {}), names),
            names=read_names(document.get("names", []), (each.name for each in flat(arguments))),
            empty=_arrays(document.get("empty", []), arguments),
        )
        check_meanings(launch, widened=True)
        return launch
    except (KeyError, TypeError, AttributeError) as error:
        raise SpecError(f"a part is missing or of the wrong type ({error})") from None


def essence(launch: LaunchSpec) -> LaunchSpec:
    """``launch`` without what is for people: two contracts that mean the same launches compare equal so."""
    data = tuple(replace(fact, text="") for fact in launch.data)
    return LaunchSpec(
        kernel="",
        name=launch.name,
        arguments=tuple(map(_plain, launch.arguments)),
        grid=launch.grid,
        requires=launch.requires,
        data=data,
        alias=launch.alias,
        overlap=launch.overlap,
        trust=launch.trust,
        allow=launch.allow,
        calls=launch.calls,
        names=launch.names,
        empty=launch.empty,
    )


def _argument_to_json(argument: Argument) -> Json:
    match argument:
        case ArrayArgument(name=name, descriptor=None):
            return {"name": name, "is": print_array(argument)}
        case ArrayArgument(name=name, descriptor=DescriptorBlock(block=block, nan=nan)):
            padding = {"padding": "nan"} if nan else {}
            return {"name": name, "descriptor": {"desc": print_array(argument), "block": list(block), **padding}}
        case ScalarArgument(name=name, dtype=dtype, value=None):
            return {"name": name, "is": dtype}
        case ScalarArgument(name=name, dtype=dtype, value=value) if value is not None:
            return {"name": name, "is": f"{dtype} = {print_expression(value)}"}
        case ListArgument(name=name, element=element, length=length, each=each, addresses=addresses):
            listed = {"name": name, "addresses" if addresses else "list": print_array(element), "element": element.name}
            listed["length"] = print_expression(length)
            return {**listed, "elements": list(map(print_array, each))} if each else listed
        case TupleArgument(name=name, items=items, fields=fields):
            members = [_argument_to_json(item) for item in items]
            return {"name": name, "items": members, "fields": None if fields is None else list(fields)}
        case ConstantArgument(name=name):
            return {"name": name, "constant": _constant(argument.value)}
    raise TypeError(f"not an argument: {argument!r}")


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise SpecError(f"{what} is no text")
    return value


def _groups(value: object) -> tuple[frozenset[str], ...]:
    """Lists of names."""
    if not isinstance(value, list) or not all(isinstance(group, list) for group in value):
        raise SpecError("arrays that may overlap stand in no lists")
    return tuple(frozenset(_text(name, "an array that may overlap") for name in group) for group in value)


def _arrays(value: object, arguments: Iterable[Argument]) -> tuple[str, ...]:
    """Names of arrays among the arguments."""
    known = {argument.name for argument in flat(arguments) if isinstance(argument, ArrayArgument)}
    if not isinstance(value, list) or not all(name in known for name in value):
        raise SpecError("what is empty is no array")
    return tuple(value)


def _argument_from_json(document: Mapping[str, Any]) -> Argument:
    name = _text(document["name"], "an argument's name")
    if "is" in document:
        return parse_description(name, document["is"])
    if "descriptor" in document:
        return read_descriptor(name, document["descriptor"])
    if "list" in document or "addresses" in document:
        addresses = "list" not in document
        element = parse_description(document["element"], document["addresses" if addresses else "list"])
        if not isinstance(element, ArrayArgument):
            raise SpecError(f"the list '{name}' has no arrays")
        length = parse_size(document["length"])
        each = tuple(list_elements(name, document.get("elements", ()), element, length))
        return ListArgument(name, element, length, each, addresses)
    if "items" in document:
        fields = document["fields"]
        items = tuple(_argument_from_json(item) for item in document["items"])
        return TupleArgument(name, items, None if fields is None else tuple(fields))
    return ConstantArgument(name, document["constant"])


def _constant(value: object) -> object:
    """A constant in JSON.  Only numbers matter to a contract, which may name them; a launch is held against all."""
    if isinstance(value, tuple | list):
        return list(map(_constant, value))
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _plain(argument: Argument) -> Argument:
    if isinstance(argument, ConstantArgument):
        return replace(argument, value=_constant(argument.value))
    if isinstance(argument, TupleArgument):
        return replace(argument, items=tuple(map(_plain, argument.items)))
    return argument
