"""Compare the printer with NVIDIA's tileirdisasm, op for op, on every bytecode file below some folders.

    python benchmarks/compare_disassembly.py DIRECTORY... [--locations] [--show 3]

Also decodes, encodes and compares the bytes.  Prints a summary with the ops and versions that were seen; exits with 1
if anything differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "frontend" / "bytecode")]

from disassembly import MISSING, Refused, difference, disassemble, find_disassembler  # noqa: E402

from tileverify.frontend.bytecode import decode, encode, print_module  # noqa: E402
from tileverify.frontend.bytecode.container import MAGIC  # noqa: E402
from tileverify.frontend.bytecode.encoder import walk  # noqa: E402
from tileverify.frontend.bytecode.optable import OPERATIONS  # noqa: E402
from tileverify.system.errors import DecodeError  # noqa: E402

TOO_NEW = "newer than this tileirdisasm"


def bytecode_files(folders: list[Path]) -> list[Path]:
    """Files that begin like Tile IR bytecode, whatever they are called."""
    found = [file for folder in folders for file in ([folder] if folder.is_file() else sorted(folder.rglob("*")))]
    return [file for file in found if file.is_file() and file.open("rb").read(len(MAGIC)) == MAGIC]


class Summary:
    def __init__(self) -> None:
        self.results: Counter[str] = Counter()
        self.versions: Counter[str] = Counter()
        self.ops: Counter[str] = Counter()
        self.bytes = 0
        self.seconds = 0.0
        self.shown = 0

    def add(self, file: Path, tool: Path, locations: bool, show: int) -> None:
        data = file.read_bytes()
        begun = time.perf_counter()
        try:
            module = decode(data, file=str(file))
        except DecodeError as error:
            self.note("not decoded", str(error), show)
            return
        self.seconds += time.perf_counter() - begun
        self.bytes += len(data)
        self.versions[".".join(map(str, module.version))] += 1
        self.ops.update(op.name for entry in module.entries for op in walk(entry.body))
        if encode(module) != data:
            self.note("encoded differently", str(file), show)
        try:
            theirs = disassemble(file, tool, locations=locations)
        except Refused as refusal:
            if refusal.too_new:
                self.results[TOO_NEW] += 1
            else:
                self.note("refused by tileirdisasm", f"{file}: {refusal}", show)
            return
        lines = difference(module, theirs, locations=locations)
        if lines:
            self.note("different text", "\n".join([str(file), *lines[:5]]), show)
        elif print_module(module, locations=locations) == theirs:
            self.results["identical text"] += 1
        else:
            self.results["identical but for value names"] += 1

    def note(self, kind: str, detail: str, show: int) -> None:
        self.results[kind] += 1
        self.shown += 1
        if self.shown <= show:
            print(f"{kind}: {detail}", file=sys.stderr)

    @property
    def clean(self) -> bool:
        return set(self.results) <= {"identical text", "identical but for value names", TOO_NEW}

    def report(self) -> str:
        files = max(1, sum(self.versions.values()))
        missing = [op.name for op in OPERATIONS if op.name not in self.ops]
        return "\n".join(
            [
                *(f"{count:6} {kind}" for kind, count in self.results.most_common()),
                "versions: " + ", ".join(f"{name} ({count})" for name, count in sorted(self.versions.items())),
                f"decoding: {self.seconds / files * 1e3:.2f} ms and {self.bytes / files:.0f} bytes a file",
                f"ops: {len(self.ops)} of {len(OPERATIONS)}; not seen: {', '.join(missing) or 'none'}",
            ]
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--locations", action="store_true", help="compare source positions and call sites, too")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="print the first N differences")
    parser.add_argument("-j", type=int, default=2, metavar="N", help="disassemblers at a time")
    options = parser.parse_args()
    tool = find_disassembler()
    if tool is None:
        parser.error(MISSING)
    summary = Summary()
    with ThreadPoolExecutor(options.j) as pool:
        for _ in pool.map(
            lambda file: summary.add(file, tool, options.locations, options.show), bytecode_files(options.folders)
        ):
            pass
    print(summary.report())
    return 0 if summary.clean else 1


if __name__ == "__main__":
    sys.exit(main())
