"""What `tileverify run` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...backend.numbers.elements import ML_DTYPES
from ...contract.concrete import Block
from ...results import KernelResult, Verdict
from ...system.printable import printable
from .run import RunResult, WrittenArray

_HEADINGS = ("array", "shape", "dtype", "written", "crc32", "min", "max")


def run_text(result: RunResult) -> str:
    """Verdict, backend, launch, and one line for every array."""
    verdict = result.verdict
    lines = heading(verdict, f"ran on: {result.backend}, {blocks(result.grid)} in {result.seconds:.2f} s",
                    result.grid, {**result.values, **result.floats}, result.generated, result.seed)  # fmt: skip
    lines += ["", *_table([_HEADINGS, *map(_row, result.arrays)])]
    for array in result.arrays:
        if array.unspecified:
            lines.append(f"{array.name}: what stands in {array.unspecified} of its elements is unspecified")
    lines += [*result.events, *result.assertions]
    if verdict.verdict is not Verdict.PROVED:
        lines.append("not proved: the blocks ran one after the other here; run at once they may leave something else")
    elif any(event.startswith("undefined behaviour") for event in result.events):
        lines.append("this contradicts the proof: please report it with the kernel and this launch")
    return _lines(lines) + printed_text(result.printed)


def heading(
    verdict: KernelResult, how: str, grid: Block, values: Mapping[str, float], generated: Sequence[str], seed: int
) -> list[str]:
    """Which kernel, how it ran, with which launch."""
    lines = [
        f"{verdict.file}::{verdict.kernel} [{verdict.launch}]: {verdict.verdict.value}",
        how,
        f"launch: grid ({', '.join(map(str, grid))}){_named(values)}",
    ]
    if generated:
        lines.append(f"generated from seed {seed}: {', '.join(generated)}")
    return lines


def blocks(grid: Block) -> str:
    count = grid[0] * grid[1] * grid[2]
    return f"{count} block{'s' if count != 1 else ''}"


def told_text(printed: Sequence[str], assertions: Sequence[str]) -> str:
    """What a kernel told before it went wrong."""
    return _lines(assertions) + printed_text(printed)


def printed_text(printed: Sequence[str]) -> str:
    """What the kernel printed; further lines of one print are indented."""
    if not printed:
        return ""
    lines = (
        f"{'  ' if number == 0 else '    '}{line}" for text in printed for number, line in enumerate(text.split("\n"))
    )
    return "printed:\n" + _lines(lines)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{printable(line)}\n" for line in lines)


def saved_text(target: str, arrays: Mapping[str, WrittenArray]) -> str:
    """What went into the file or folder ``target``, and how to read raw bits."""
    raw = [f"{name} ({array.dtype}: .view(ml_dtypes.{ML_DTYPES[array.dtype]}))"
           for name, array in arrays.items() if array.raw]  # fmt: skip
    note = f"; as raw bits: {', '.join(raw)}" if raw else ""
    return printable(f"saved to {target}: {', '.join(arrays) or 'nothing, for nothing was written'}{note}")


def _named(values: Mapping[str, float]) -> str:
    return "".join(f", {name} = {value}" for name, value in values.items())


def _row(array: WrittenArray) -> tuple[str, ...]:
    written = f"{array.written} of {array.elements.size}" if array.written else "-"
    shape = " x ".join(map(str, array.elements.shape)) or "scalar"
    return (
        array.name,
        shape,
        array.dtype,
        written,
        "-" if array.checksum is None else f"{array.checksum:08x}",
        _short(array.smallest),
        _short(array.largest),
    )


def _short(value: float | int | None) -> str:
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
