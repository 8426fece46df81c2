"""Prove every variant and put it into a signed bundle named like it.

    python -m benchmarks.gpu.build OUT KEY.pem [--python PYTHON] [--only REGEX]

Records the launches (`recorded`, run by PYTHON, which needs torch and cuda.tile but no GPU), proves what was recorded,
assembles it for sm_90 and signs it.  Bundles that are there already for the same bytecode are kept.  Prints every
variant that is not proved, and how far the proof of each reaches.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tileverify.backend.assembler import find_assembler
from tileverify.frontend.sources.discover import SourceFailure, discover
from tileverify.launching.bundle.build import build_bundle
from tileverify.launching.bundle.manifest import bundle_bytes, read_bundle
from tileverify.launching.bundle.trust import sign
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import solver_version
from tileverify.record.recording import read_index

from .variants import Variant, variants

ARCHITECTURE = "sm_90"


def key_of(variant: Variant) -> tuple[object, ...]:
    """What tells recorded specialisations apart."""
    dtypes = tuple(each.split("[")[0] for each in variant.arguments if isinstance(each, str))
    # a float is a runtime scalar, other numbers are constants
    constants = tuple(each for each in variant.arguments if isinstance(each, bool | int))
    return variant.kernel, dtypes, constants, tuple(sorted(variant.hints.items()))


def key_recorded(entry: Mapping[str, Any]) -> tuple[object, ...]:
    signature = entry["signature"]
    hints = ((name, value) for name, value in re.findall(r"(\w+)=(\w+)", entry["options"]) if value != "None")
    return (
        entry["kernel"],
        tuple(each["dtype"] for each in signature if each["kind"] == "array"),
        tuple(each["value"] for each in signature if each["kind"] == "constant"),
        tuple(sorted((name, int(value)) for name, value in hints if name != "opt_level")),
    )


def recorded(out: Path, python: str, names: list[str]) -> dict[tuple[object, ...], Path]:
    folder = out / "recorded"
    command = [sys.executable, "-m", "tileverify", "record", "--no-gpu", "--specialisations", "1000"]
    program = [python, "-m", "benchmarks.gpu.recorded", *names]
    subprocess.run([*command, "-o", str(folder), "--", *program], check=True)
    return {key_recorded(each): folder / each["bytecode"] for each in read_index(folder)["specialisations"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    chosen = [variant for variant in variants() if re.search(options.only, variant.name)]
    files = recorded(options.out, options.python, [variant.name for variant in chosen])
    assembler, failures = find_assembler(), 0
    for variant in chosen:
        source, file = files[key_of(variant)], options.out / f"{variant.name}.tvk"
        if file.exists() and read_bundle(file.read_bytes(), str(file)).bytecode == source.read_bytes():
            continue
        (unit,) = discover([str(source)])
        if isinstance(unit, SourceFailure):
            raise unit.error
        result = check_unit(unit, CheckOptions(certificate=True))
        if result.certificate is None:
            failures += 1
            print(f"{variant.name}: {result.verdict.value}, {[each.message for each in result.findings]}", flush=True)
            continue
        bundle = build_bundle(unit, result, solver_version(), assembler, [ARCHITECTURE])
        file.write_bytes(bundle_bytes(sign(bundle, options.key)))
        print(f"{variant.name}: proved for {result.holds_for}, {result.time_ms.prove / 1000:.1f} s", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
