"""Which specs of a recording ``tileverify check`` accepts: a verdict for each launch, in pieces that can be continued.

    python -m benchmarks.tilegym.accepted run DIR LINES.jsonl [--rounds N]
    python -m benchmarks.tilegym.accepted table LINES.jsonl [--recording DIR]

``DIR`` is a folder that ``tileverify record`` wrote.  Round 1 checks the first specialisation of every kernel with all
of its launches, round 2 the second, and so on; what stands in ``LINES.jsonl`` is not checked again, so that a run can
be stopped at any time.  A spec is accepted if ``check`` gives a verdict on it, whichever, and no error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tileverify.pipeline import CheckOptions, check_paths

_BEST_FIRST = ("proved", "undecided", "refuted", "error")
_WIDEST_FIRST = ("any", "sizes", "launch", "")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("recording", type=Path)
    run.add_argument("lines", type=Path)
    run.add_argument("--rounds", type=int, default=1, help="specialisations checked of each kernel (default 1)")
    table = commands.add_parser("table")
    table.add_argument("lines", type=Path)
    table.add_argument("--recording", type=Path, help="count what is not checked yet, too")
    options = parser.parse_args(arguments)
    if options.command == "run":
        _run(options.recording, options.lines, options.rounds)
    else:
        _table(_read(options.lines), options.recording)
    return 0


def _run(recording: Path, lines: Path, rounds: int) -> None:
    done = {line["bytecode"] for line in _read(lines)}
    with lines.open("a", encoding="utf-8") as out:
        for kernel, bytecode in _in_rounds(recording, rounds):
            if bytecode in done:
                continue
            report = check_paths([str(recording / bytecode)], options=CheckOptions())
            for result in report.results:
                line = {
                    "kernel": kernel,
                    "bytecode": bytecode,
                    "launch": result.launch,
                    "verdict": result.verdict.value,
                    "holds_for": result.holds_for or "",
                    "codes": sorted({finding.code for finding in result.findings}),
                    "message": result.findings[0].message if result.findings else "",
                    "prove_ms": round(result.time_ms.prove, 1),
                }
                print(json.dumps(line), file=out)
            out.flush()


def _in_rounds(recording: Path, rounds: int) -> Iterator[tuple[str, str]]:
    kernels = _kernels(recording)
    for number in range(rounds):
        yield from ((name, files[number]) for name, files in kernels.items() if number < len(files))


def _kernels(recording: Path) -> dict[str, list[str]]:
    """The bytecode files of every kernel, which is a qualified name and its source text."""
    found: dict[str, list[str]] = {}
    for entry in json.loads((recording / "index.json").read_text(encoding="utf-8"))["specialisations"]:
        source = entry["source"]
        name = f"{source['module'].removeprefix('tilegym.')}:{source['qualname']}#{source['id'][:6]}"
        found.setdefault(name, []).append(entry["bytecode"])
    return dict(sorted(found.items()))


def _read(lines: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()] if lines.exists() else []


def _table(lines: list[dict[str, Any]], recording: Path | None) -> None:
    by_kernel: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        by_kernel[line["kernel"]].append(line)
    accepted = {name for name, found in by_kernel.items() if all(line["verdict"] != "error" for line in found)}
    print("| | kernels | specialisations | launches |\n|---|---:|---:|---:|")
    if recording is not None:
        kernels = _kernels(recording)
        print(f"| recorded | {len(kernels)} | {sum(map(len, kernels.values()))} | |")
    files = {line["bytecode"] for line in lines}
    refused = {line["bytecode"] for line in lines if line["verdict"] == "error"}
    print(f"| checked | {len(by_kernel)} | {len(files)} | {len(lines)} |")
    launches = sum(line["verdict"] != "error" for line in lines)
    print(f"| all specs accepted | {len(accepted)} | {len(files - refused)} | {launches} |")
    worst = {name: max((line["verdict"] for line in found), key=_BEST_FIRST.index) for name, found in by_kernel.items()}
    kernels_of, launches_of = Counter(worst.values()), Counter(line["verdict"] for line in lines)
    for verdict in _BEST_FIRST:
        print(f"| {verdict} | {kernels_of[verdict]} | | {launches_of[verdict]} |")
    for width in _WIDEST_FIRST[:3]:
        print(f"| proved for `{width}` | | | {sum(line['holds_for'] == width for line in lines)} |")
    print()
    for name, found in sorted(by_kernel.items()):
        bad = [line for line in found if line["verdict"] != "proved"]
        if bad:
            codes = ", ".join(sorted({code for line in bad for code in line["codes"]}))
            print(
                f"* `{name}`: {worst[name]}, {len(bad)} of {len(found)} launches ({codes}): {bad[0]['message'][:200]}"
            )


if __name__ == "__main__":
    sys.exit(main())
