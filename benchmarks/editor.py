"""Time from saving an edited corpus kernel to its diagnostics, and of a warm `check` of it.

``python -m benchmarks.editor [--count 40] [--json FILE]``: each kernel is copied into a project with its spec, opened,
changed (a line with a statement that changes nothing is put into its body, so that its lines and its text are others),
saved, and timed until the server shows what came of it.  Then `check` is run on it, edited once more, by the worker
and without one.  Wall time in milliseconds; processor time is that of all processes that were started for it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.serving.lsp.editor import Editor
from tests.serving.worker.worker import Workers, workers

from tileverify import corpus

FOLDERS = ("showcase", "racy", "race_free", "out_of_bounds", "twins")


def sources(count: int) -> list[Path]:
    """Evenly from the folders, those with one spec beside them."""
    found = [sorted((corpus.ROOT / folder).glob("*.py")) for folder in FOLDERS]
    mixed = [each for row in zip(*found, strict=False) for each in row]
    rest = [each for one in found for each in one if each not in mixed]
    return [each for each in [*mixed, *rest] if each.with_suffix(".tileverify.toml").is_file()][:count]


def edited(text: str, number: int) -> str:
    """The text with another line at the top of its first kernel's body."""
    tree = ast.parse(text)
    kernels = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    kernel = next(node for node in kernels if any("kernel" in ast.unparse(each) for each in node.decorator_list))
    lines = text.splitlines(keepends=True)
    first = kernel.body[0]
    lines.insert(first.lineno - 1, f"{' ' * first.col_offset}edited = {number}  # a name that nothing uses\n")
    return "".join(lines)


def saved_until_shown(editor: Editor, path: Path, text: str) -> float:
    """Milliseconds."""
    before = editor.shown_count(path)
    started = time.perf_counter()
    editor.save(path, text)
    editor.until(lambda: editor.shown_count(path) > before, seconds=120)
    return (time.perf_counter() - started) * 1000


def checked(place: Workers, path: Path, *more: str) -> tuple[float, float]:
    """Wall and processor time of the client, in milliseconds; the worker's children are not its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "tileverify", "check", str(path), *more],
        env=environment(place), cwd=place.root, capture_output=True, check=False,
    )  # fmt: skip
    wall = (time.perf_counter() - started) * 1000
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def environment(place: Workers) -> dict[str, str]:
    extra = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)]
    found = {**place.environment(), "TILEVERIFY_CACHE_DIR": str(place.runtime / "cache")}
    found["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([found["PYTHONPATH"], *extra]))
    return found


def tick_ms(pid: int) -> float:
    """Processor time of a process and the children that it has waited for, in milliseconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) * 1000 / os.sysconf("SC_CLK_TCK")


def measured(count: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    with workers() as place:
        editor = Editor(environment(place), place.root)
        try:
            for source in sources(count):
                path = place.root / source.name
                text = source.read_text()
                shutil.copy(source, path)
                shutil.copy(source.with_suffix(".tileverify.toml"), path.with_suffix(".tileverify.toml"))
                editor.open(path)
                editor.until(lambda path=path: editor.shown_count(path) > 0, seconds=120)  # type: ignore[misc]
                worker = int(json.loads(next((place.runtime / "tileverify").glob("*.lock")).read_text())["pid"])
                before = tick_ms(worker)
                shown = saved_until_shown(editor, path, edited(text, 1))
                used = tick_ms(worker) - before
                path.write_text(edited(text, 2))
                warm, client = checked(place, path)
                again, _ = checked(place, path)
                path.write_text(edited(text, 3))
                alone, alone_cpu = checked(place, path, "--no-worker")
                editor.close(path)
                rows.append(
                    {"kernel": f"{source.parent.name}/{source.stem}", "shown": shown, "worker": used, "warm": warm,
                     "client": client, "known": again, "alone": alone, "alone_cpu": alone_cpu}
                )  # fmt: skip
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        finally:
            editor.end()
    return rows


def summary(rows: list[dict[str, object]], name: str) -> str:
    values = sorted(float(str(row[name])) for row in rows)
    highest = values[min(int(0.95 * len(values)), len(values) - 1)]
    return f"{name:10} median {statistics.median(values):7.0f}   95 % {highest:7.0f}   most {values[-1]:7.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    rows = measured(chosen.count)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(rows, indent=1))
    print(f"{len(rows)} kernels, milliseconds, load {os.getloadavg()[0]:.1f}")
    for name in ("shown", "worker", "warm", "client", "known", "alone", "alone_cpu"):
        print(summary(rows, name))


if __name__ == "__main__":
    main()
