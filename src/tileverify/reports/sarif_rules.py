"""The rules of the SARIF report: one for every code, with all that `explain` tells."""

from __future__ import annotations

from typing import Final

from ..results import WARNINGS, FindingLevel
from ..results.codes import CODES, Code, Family
from ..results.documents import Json

CONDITIONAL: Final = "proved-if"
"""The rule of notes on conditional proofs, which have no code: they are no findings."""

RULES: Final = {code: number for number, code in enumerate((*CODES, CONDITIONAL))}
"""Code -> its index among the rules, the same in every report of this version."""


def level_of(code: str) -> FindingLevel:
    """``error`` for what is wrong, ``warning`` for what is undecided, which does not pass either, and for what leaves a
    proof a proof."""
    known = CODES.get(code)
    undecided = known is not None and known.family is Family.UNDECIDED
    return FindingLevel.WARNING if undecided or code in WARNINGS else FindingLevel.ERROR


def rules() -> list[Json]:
    """SARIF's ``reportingDescriptor`` objects, in the order of `RULES`."""
    return [*map(_rule, CODES.values()), _RULE_OF_CONDITIONS]


_MEANING: Final = (
    "The kernel is proved for the launches that satisfy the condition, and not for the others. Nobody wrote the "
    "condition: tileverify added it to a contract that it made up itself."
)
_ADVICE: Final = "Write a launch spec: `tileverify init FILE`. `check --deny-requires` makes conditions errors."
_RULE_OF_CONDITIONS: Final[Json] = {
    "id": CONDITIONAL,
    "name": "ProvedIf",
    "shortDescription": {"text": "A kernel is proved under a condition that nobody wrote."},
    "fullDescription": {"text": _MEANING},
    "help": {"text": f"{_MEANING}\n\nWhat to do: {_ADVICE}\n"},
    "defaultConfiguration": {"level": FindingLevel.NOTE},
    "properties": {"tags": [CONDITIONAL, "gpu", "cuda-tile"], "precision": "very-high"},
}


def _rule(code: Code) -> Json:
    level = level_of(code.code)
    return {
        "id": code.code,
        "name": "".join(part.capitalize() for part in code.name.split("-")),
        "shortDescription": {"text": _sentence(code.fault)},
        "fullDescription": {"text": code.meaning},
        "help": {
            "text": f"{code.meaning}\n\nFormula: {code.formula}\n\nWhat to do: {code.fix}\n",
            "markdown": f"{code.meaning}\n\n**Formula**\n\n{code.formula}\n\n**What to do**\n\n{code.fix}\n",
        },
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": [code.name, code.family.value.replace(" ", "-"), "gpu", "cuda-tile"],
            "precision": "very-high",
            "problem.severity": level,
        },
    }


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
