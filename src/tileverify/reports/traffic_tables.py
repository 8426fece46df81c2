"""Traffic for people and for programs: how many times the least a launch moves, and which access it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..contract.expressions import GRID_NAMES
from ..results.details import AccessRemarks, AccessTraffic, Amount, ArrayTraffic, Bounds, Traffic
from ..system.printable import display_path, plural

_UNITS: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
NO_EXPRESSION: Final = "no expression in the sizes was found"


# ----------------------------------------------------------------------------------------------- words
def headline(traffic: Traffic) -> str:
    """``moves 1.03 times the least``, with the launch: one line."""
    if traffic.reason:
        return f"not counted: {traffic.reason}"
    amount = f"{_amount(traffic.moves.bytes)}, least {_amount(traffic.least.bytes)}"
    return f"{launch_words(traffic)}: {ratio_words(traffic)} ({amount})"


def ratio_words(traffic: Traffic) -> str:
    if traffic.ratio is None:
        return "moves nothing" if not traffic.moves.bytes[1] else "has nothing that it must move"
    low, high = traffic.ratio
    if low == high:
        return f"moves {times(low)} times the least"
    if high is None:
        known = f"moves at least {times(low)} times the least"
        return known if low > 1 else "what it moves is not known before the launch"
    return f"moves {times(low)} to {times(high)} times the least, contents decide"


def times(ratio: float) -> str:
    """``1.03``, ``21.7``, ``512``; never 1.00 for more than once."""
    text = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}"
    return "1.01" if text == "1.00" and ratio > 1 else text


def launch_words(traffic: Traffic) -> str:
    """``at M = 4096, N = 4096``."""
    ordered = sorted(traffic.values.items(), key=lambda each: each[0] in GRID_NAMES)
    named = ", ".join(f"{name} = {value}" for name, value in ordered)
    grid = " x ".join(map(str, traffic.grid))
    return f"at {named}" if named else f"at the sizes of the launch (grid {grid})"


def costliest_words(traffic: Traffic) -> str:
    """``most of it: load A, k.py:25, 49.2%``; empty where the least is moved."""
    most = traffic.costliest
    if most is None or traffic.ratio is None or traffic.ratio[1] == 1 or not traffic.moves.bytes[1]:
        return ""
    share = 100 * most.moves.bytes[1] / traffic.moves.bytes[1]
    return f"most of it: {access_words(most)}, {share:.1f}%"


def access_words(access: AccessTraffic) -> str:
    place = "" if access.file is None else f", {display_path(access.file)}:{access.line}"
    return f"{access.access} {access.array}{place}"


def line_words(access: AccessTraffic) -> str:
    """``load A, line 25``."""
    place = "" if access.line is None else f", line {access.line}"
    return f"{access.access} {access.array}{place}"


def formula_words(amount: Amount) -> str:
    if not amount.expression:
        return ""
    return f"at most {amount.expression}" if amount.at_most else amount.expression


def evidence_words(traffic: Traffic) -> str:
    """How far to trust it."""
    if traffic.counted == 1 and not traffic.compared:
        return "counted for this launch; tileverify footprint --bytes has expressions in the sizes"
    small = f"the interpreter moved the same bytes in {plural(traffic.compared, 'small launch')}"
    if not traffic.values:
        return small
    return f"expressions hold in all {plural(traffic.counted, 'counted launch')}; {small}"


def _amount(bounds: Bounds) -> str:
    low, high = map(size_words, bounds)
    return high if bounds[0] == bounds[1] else f"{low} to {high}"


def size_words(number: int) -> str:
    """``33.6 MiB``; below one KiB in bytes."""
    for unit, name in _UNITS:
        if number >= unit:
            return f"{number / unit:.3g} {name}" if number < 1000 * unit else f"{number // unit} {name}"
    return plural(number, "byte")


@dataclass(frozen=True)
class TrafficView:
    """For a page: one line, and tables behind it."""

    traffic: Traffic

    @property
    def headline(self) -> str:
        costly = costliest_words(self.traffic)
        return f"{headline(self.traffic)}{'; ' if costly else ''}{costly}"

    @property
    def totals(self) -> list[tuple[str, str]]:
        amounts = (("moves", self.traffic.moves), ("least", self.traffic.least))
        return [(name, words) for name, amount in amounts if (words := formula_words(amount))]

    @property
    def tables(self) -> list[list[tuple[str, ...]]]:
        return [] if self.traffic.reason else [access_rows(self.traffic), array_rows(self.traffic)]

    @property
    def evidence(self) -> str:
        return evidence_words(self.traffic)


# ------------------------------------------------------------------------------------------------ text
def traffic_lines(traffic: Traffic) -> Iterator[str]:
    """For a terminal."""
    yield headline(traffic)
    if traffic.reason:
        return
    if costliest_words(traffic):
        yield f"  {costliest_words(traffic)}"
    yield ""
    for name, amount in (("moves", traffic.moves), ("least", traffic.least)):
        yield f"  {name}: {formula_words(amount) or NO_EXPRESSION if traffic.values else _amount(amount.bytes)}"
    yield ""
    yield from _table(access_rows(traffic))
    yield ""
    yield from _table(array_rows(traffic))
    yield ""
    yield f"  {evidence_words(traffic)}"


def access_rows(traffic: Traffic) -> list[tuple[str, ...]]:
    """Head and rows: access, bytes, share, expression."""
    rows: list[tuple[str, ...]] = [("access", "moves", "share", "in bytes")]
    words = line_words if len({each.file for each in traffic.accesses}) == 1 else access_words
    for each in traffic.accesses:
        share = f"{100 * each.moves.bytes[1] / traffic.moves.bytes[1]:.1f}%" if traffic.moves.bytes[1] else ""
        rows.append((words(each), _amount(each.moves.bytes), share, formula_words(each.moves)))
    return rows


def array_rows(traffic: Traffic) -> list[tuple[str, ...]]:
    """Head and rows: array, least, times, expression."""
    rows: list[tuple[str, ...]] = [("array", "least", "moved", "least in bytes")]
    rows += [
        (
            f"{each.array} {'written' if each.written else 'read'}",
            _amount(each.least.bytes),
            _array_times(each),
            formula_words(each.least),
        )
        for each in traffic.arrays
    ]
    return rows


def _array_times(each: ArrayTraffic) -> str:
    (low, high), (most_low, most) = each.least.bytes, each.moves
    if (low, most_low) != (high, most) or not high:
        return "contents decide" if high else ""
    return f"{times(most / high)} times"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def remark_lines(architecture: str, remarks: Sequence[AccessRemarks]) -> Iterator[str]:
    """For a terminal: each access, and below it what was said of it."""
    yield f"compiled for {architecture}"
    for each in remarks:
        place = "" if each.site.file is None else f", {display_path(each.site.file)}:{each.site.line}"
        yield f"  {each.site.access} {each.site.array}{place}"
        yield from (f"    {text}" for text in each.remarks or ("tileiras says nothing of it",))


# ------------------------------------------------------------------------------------------------ JSON
def remarks_document(remarks: Sequence[AccessRemarks]) -> list[Mapping[str, Any]]:
    """`docs/bytes.md` says what the keys mean."""
    return [
        {
            "access": each.site.access,
            "array": each.site.array,
            "file": None if each.site.file is None else display_path(each.site.file),
            "line": each.site.line,
            "remarks": list(each.remarks),
        }
        for each in remarks
    ]


def traffic_document(traffic: Traffic) -> Mapping[str, Any]:
    """`docs/bytes.md` says what the keys mean."""
    if traffic.reason:
        return {"reason": traffic.reason}
    return {
        "at": dict(traffic.values),
        "grid": list(traffic.grid),
        "times_the_least": None if traffic.ratio is None else list(traffic.ratio),
        "moves": _document(traffic.moves),
        "least": _document(traffic.least),
        "accesses": [
            {
                "number": each.number,
                "access": each.access,
                "array": each.array,
                "file": None if each.file is None else display_path(each.file),
                "line": each.line,
                "moves": _document(each.moves),
            }
            for each in traffic.accesses
        ],
        "arrays": [
            {
                "array": each.array,
                "written": each.written,
                "least": _document(each.least),
                "moves": {"bytes": list(each.moves)},
            }
            for each in traffic.arrays
        ],
        "counted_launches": traffic.counted,
        "interpreted_launches": traffic.compared,
    }


def _document(amount: Amount) -> Mapping[str, Any]:
    return {"bytes": list(amount.bytes), "expression": amount.expression or None}
