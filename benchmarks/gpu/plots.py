"""Measurements as figures, SVG and PNG.

python -m benchmarks.gpu.plots results.json OUT
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

FIGURES = {
    "additions": ("add",),
    "rows": ("softmax", "rms norm", "layer norm"),
    "products": ("product",),
    "attention": ("attention", "decode"),
}
"""Families of a figure, by how their names begin."""

COLOURS = {
    "proved": "#1f6feb", "torch": "#d9480f", "torch, flash": "#d9480f", "torch, cuDNN": "#9c36b5", "Triton": "#2b8a3e",
}  # fmt: skip


def draw(results: Mapping[str, Any], out: Path) -> None:
    """One figure for each group of families that was measured; needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "tileverify"
    from matplotlib import pyplot

    for name, starts in FIGURES.items():
        rows = [row for row in results["rows"] if "times" in row and row["family"].startswith(starts)]
        families = [(family, list(of)) for family, of in groupby(rows, key=lambda row: str(row["family"]))]
        if not families:
            continue
        wide = min(3, len(families))
        high = -(-len(families) // wide)
        figure, axes = pyplot.subplots(high, wide, figsize=(4.4 * wide, 3.2 * high), squeeze=False)
        for (family, of), axis in zip(families, axes.flat, strict=False):
            _panel(axis, family, of)
        for axis in list(axes.flat)[len(families) :]:
            axis.set_visible(False)
        figure.suptitle(f"{results['machine']['GPU']}, driver {results['machine']['driver']}", fontsize=9)
        figure.tight_layout()
        figure.savefig(out / f"{name}.svg", metadata={"Date": None})
        figure.savefig(out / f"{name}.png", dpi=130)
        pyplot.close(figure)


def _panel(axis: Any, family: str, rows: Sequence[Mapping[str, Any]]) -> None:
    rows = sorted(rows, key=lambda row: int(row["size"]))
    for way, colour in COLOURS.items():
        points = [
            (row["size"], 1000 * row["work"] / statistics.median(row["times"][way]))
            for row in rows
            if way in row["times"]
        ]
        if points:
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, linewidth=1.4, color=colour, label=way)
    axis.set_xscale("log", base=2)
    axis.set_ylim(bottom=0)
    axis.set_title(family, fontsize=10)
    axis.set_ylabel(rows[0]["unit"], fontsize=8)
    axis.tick_params(labelsize=7)
    axis.grid(alpha=0.3, linewidth=0.5)
    axis.legend(fontsize=7, frameon=False)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
