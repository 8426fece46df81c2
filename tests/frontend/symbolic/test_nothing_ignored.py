"""Every attribute and flag of every op is looked at by the symbolic executor, or ignored for a reason."""

from __future__ import annotations

from typing import Any, Final

from tileverify.frontend.bytecode.declaration import AttributeDeclaration, FlagDeclaration, OpDeclaration
from tileverify.frontend.bytecode.model import Block
from tileverify.frontend.bytecode.optable import OPERATIONS
from tileverify.frontend.bytecode.traverse import walk
from tileverify.frontend.symbolic.execute import summarize
from tileverify.frontend.symbolic.tiles import RULES, not_followed

from ..bytecode.samples import sample, samples

NOT_FOLLOWED: Final = frozenset(name for name, rule in RULES.items() if rule is not_followed)
"""How they compute does not matter: their results are any value, the same one for equal operands."""

HINT: Final = "a hint to the compiler, which changes no result"
IGNORED: Final = {
    "assert.msg": "text for the host",
    "print_tko.str": "text for the host",
    "load_ptr_tko.hints": HINT,
    "load_view_tko.hints": HINT,
    "store_ptr_tko.hints": HINT,
    "store_view_tko.hints": HINT,
}


class Looked(dict[str, Any]):
    """Attributes; ``looked`` collects the names of those that somebody read."""

    def __init__(self, parts: Any, looked: set[str]) -> None:
        super().__init__(parts)
        self.looked = looked

    def __getitem__(self, name: str) -> Any:
        self.looked.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.looked.add(name)
        return super().get(name, default)


class Flags(frozenset[str]):
    looked: set[str]

    def __contains__(self, name: object) -> bool:
        self.looked.add(str(name))
        return super().__contains__(name)


def watch(block: Block, looked: dict[str, set[str]]) -> None:
    for op in walk(block):
        seen = looked.setdefault(op.name, set())
        op.attributes = Looked(op.attributes, seen)
        op.flags = Flags(op.flags)
        op.flags.looked = seen


def declared(op: OpDeclaration) -> tuple[AttributeDeclaration | FlagDeclaration, ...]:
    return (*op.attributes, *op.flags)


def ignored() -> set[str]:
    """Attributes and flags, as ``op.part``, that nothing looks at in any sample; not flags that announce operands."""
    looked: dict[str, set[str]] = {}
    for name, version in samples():
        module = sample(name, version)
        for entry in module.entries:
            watch(entry.body, looked)
            summarize(module, entry)
    parts = {
        f"{op.name}.{part.name}"
        for op in OPERATIONS
        if op.name in looked and op.name not in NOT_FOLLOWED
        for part in declared(op)
        if part.name not in {operand.name for operand in op.operands}
    }
    return parts - {f"{name}.{part}" for name, seen in looked.items() for part in seen}


def test_what_is_ignored_has_a_reason() -> None:
    assert ignored() == IGNORED.keys()


def test_all_ops_are_looked_at() -> None:
    """The samples hold every op that has anything to ignore."""
    seen = {op.name for name, version in samples() for e in sample(name, version).entries for op in walk(e.body)}
    assert {op.name for op in OPERATIONS if op.attributes or op.flags} - seen == {"preview$call"}
