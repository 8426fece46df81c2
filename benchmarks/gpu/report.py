"""Measurements as markdown; needs no GPU.

python -m benchmarks.gpu.report results.json
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from .paired import paired_ratio

Row = Mapping[str, Any]


def markdown(results: Mapping[str, Any]) -> str:
    """The machine, a table for each family, and what did not run."""
    lines = [", ".join(f"{name} {value}" for name, value in results["machine"].items()) + ".", ""]
    for family, rows in groupby(results["rows"], key=lambda row: row["family"]):
        lines += [f"### {family}", "", *table([row for row in rows if "times" in row]), ""]
    notes = [f"* {row['family']}, {row['label']}: {note}" for row in results["rows"] for note in row["notes"]]
    wrong = [f"* {row['family']}, {row['label']}: wrong: {row['wrong']}" for row in results["rows"] if row["wrong"]]
    return "\n".join([*lines, *notes, *wrong]).rstrip() + "\n"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Rates from medians; ratios from trimmed means of the same rounds, that to the bare launch with 95 % intervals."""
    if not rows:
        return
    others = [name for name in rows[0]["times"] if name not in ("proved", "bare")]
    unit = rows[0]["unit"]
    heads = ["", f"proved, {unit}", *others, *(f"proved / {name}" for name in others)]
    yield "| " + " | ".join((*heads, "time, verified / bare launch", "relative error", "variant")) + " |"
    yield "|---|" + "---:|" * (len(heads) + 1) + "---|"
    for row in rows:
        times, error = row["times"], row["errors"][row["chosen"]]
        rates = [rate(row, name) for name in ("proved", *others)]
        ratios = [f"{paired_ratio(times[name], times['proved']).value:.3f}" if name in times else "" for name in others]
        guard = paired_ratio(times["proved"], times["bare"])
        cells = (row["label"], *rates, *ratios, f"{guard.value:.4f} ({guard.low:.4f} to {guard.high:.4f})")
        yield "| " + " | ".join((*cells, f"{error:.1e}", row["chosen"])) + " |"


def rate(row: Row, name: str) -> str:
    if name not in row["times"]:
        return ""
    value = 1000 * row["work"] / statistics.median(row["times"][name])
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    print(markdown(json.loads(Path(sys.argv[1]).read_text())), end="")
