"""Help for tests that compile kernels: units by kernel and launch, and their decoded entries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tileverify.contract.launch import KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import Block, DivBy, Entry, Op
from tileverify.frontend.sources.discover import SourceFailure, discover

KERNELS = Path(__file__).parent / "kernels"


def write(folder: Path, source: str, spec: str | None = None, name: str = "k") -> Path:
    """A cuTile file ``name.py`` (and its spec) in ``folder``; ``ct`` is imported for it."""
    path = folder / f"{name}.py"
    path.write_text("import cuda.tile as ct\n" + source)
    if spec is not None:
        path.with_name(f"{name}.tileverify.toml").write_text(spec)
    return path


def results(*targets: object, spec_file: Path | None = None) -> list[KernelUnit | SourceFailure]:
    return list(discover([str(target) for target in targets], spec_file=spec_file))


def unit(*targets: object, spec_file: Path | None = None) -> KernelUnit:
    """The one unit under the targets."""
    [found] = results(*targets, spec_file=spec_file)
    assert isinstance(found, KernelUnit), found
    return found


def failed(*targets: object, spec_file: Path | None = None) -> SourceFailure:
    """The one failure under the targets."""
    [found] = results(*targets, spec_file=spec_file)
    assert isinstance(found, SourceFailure), found
    return found


def entry(of: KernelUnit) -> Entry:
    """The decoded entry of a unit."""
    [found] = [each for each in decode(of.bytecode).entries if each.name == of.symbol]
    return found


def operations(of: Entry, name: str) -> Iterator[Op]:
    """All operations with this name, nested ones included."""

    def walk(block: Block) -> Iterator[Op]:
        for operation in block.ops:
            if operation.name == name:
                yield operation
            for region in operation.regions:
                for inner in region.blocks:
                    yield from walk(inner)

    return walk(of.body)


def assumed_divisors(of: KernelUnit) -> dict[str, set[int]]:
    """What the bytecode assumes to divide which entry parameter, by the role and dimension of the parameter."""
    module = entry(of)
    meanings = dict(zip(module.parameters, of.parameters, strict=True))
    found: dict[str, set[int]] = {}
    for operation in operations(module, "assume"):
        # An assume of an assume speaks of the same value.
        source = operation.value("s")
        if source in meanings:
            meanings[operation.results[0]] = meanings[source]
            meaning, predicate = meanings[source], operation.attributes["pred"]
            name = f"{meaning.argument}.{meaning.role.value}" + ("" if meaning.dim is None else f"[{meaning.dim}]")
            if isinstance(predicate, DivBy):
                found.setdefault(name, set()).add(predicate.divisor)
    return found
