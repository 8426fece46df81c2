"""The kinds of data facts that there are: one entry for each.  Everybody else asks here, and names none of them.

`formula` says how clauses are read, `kind` what an entry may have besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from ..launch import DataFact
from .form import AllowedRanks, Form, Subject
from .formula import FactFormula
from .kind import FactKind, ImpliedFact
from .promised import FactPromise
from .statements import DataTerm, NumberedFact

_TABLE: Final = AllowedRanks(2, 2, "; rows and columns are those of an array of rank 2")
_SEGMENT: Final = "[{@a[i]}, {@a[i]} + {@lengths[i]}) = [{a[i]}, {a[i] + lengths[i]})"
_RANKED: Final = "count(keys, n, i // n, keys[i])"
_FILLED: Final = "count(keys, n, x // width, x % width)"
_BUCKET: Final = (
    "bucket {@a[x]}, of key {x % width} in chunk {x // width} of {keys}, [{a[x]}, {a[x] + " + _FILLED + "}),"
)


def _other(text: str, index: str, other: str) -> str:
    """The same of another element."""
    return text.replace(f"[{index}]", f"[{other}]").replace(f"{index} ", f"{other} ").removesuffix(",")


def _of_j(text: str) -> str:
    """The same of segment j."""
    return text.replace("[i", "[j").replace("{i}", "{j}").removesuffix(",")


_BUCKETS: Final = (
    FactFormula(
        f"x in a: 0 < {_FILLED} -> low <= a[x] and a[x] + {_FILLED} <= high",
        f"{_BUCKET} is not inside [{{low}}, {{high}})",
    ),
    FactFormula(
        f"x, y in a: x != y and 0 < {_FILLED} and 0 < {_other(_FILLED, 'x', 'y')}"
        f" -> a[x] + {_FILLED} <= a[y] or a[y] + {_other(_FILLED, 'x', 'y')} <= a[x]",
        f"{_BUCKET} meets {_other(_BUCKET, 'x', 'y')}",
    ),
)

_CUT: Final = "(offsets[i + 1] - offsets[i] + n - 1) // n"
_CHUNKS: Final = "the chunks of segment {i} of {offsets}, {@a[i]} + [0, {" + _CUT + "}),"

KINDS: Final = (
    FactKind(
        "injective",
        Form(bounds=True, unless=True),
        Subject.ELEMENTS,
        "no value occurs twice in {a}{among}",
        (
            FactFormula(
                "i, j in a: a[i] == a[j] and a[i] not in unless and low <= a[i] < high -> i == j",
                "{a[i]=} is also {@a[j]}",
            ),
        ),
        made="different values",
        seen="values once",
        held="but for one value",
        offered="different values",
    ),
    FactKind(
        "permutation",
        Form(),
        Subject.ELEMENTS,
        "{a} holds every one of its own indices once",
        (
            FactFormula("i in a: 0 <= a[i] < size(a)", "{a[i]=} is not in [0, {size(a)})"),
            FactFormula("i, j in a: a[i] == a[j] -> i == j", "{a[i]=} is also {@a[j]}"),
        ),
        promises=(
            FactPromise("size(a) == 0 or least(a) <= 0 and size(a) <= most(a)", apart=False),
            FactPromise("size(a) <= 1 or step(a) == 1", apart=False),
        ),
        held="places",
    ),
    FactKind(
        "nondecreasing",
        Form(),
        Subject.ORDER,
        "the values in {a} never fall",
        (FactFormula("i, j in a: row(i) == row(j) and last(i) <= last(j) -> a[i] <= a[j]", "{a[j]=} follows {a[i]}"),),
        seen="order",
        offered="order",
    ),
    FactKind(
        "range",
        Form(numbers=("low", "high"), unless=True),
        Subject.LIMITS,
        "every value in {a} lies from {low} to below {high}",
        (FactFormula("i in a: low <= a[i] < high or a[i] in unless", "{a[i]=} is not in [{low}, {high})"),),
        seen="limits",
        held="limits",
        offered="limits",
    ),
    FactKind(
        "value_at",
        Form(numbers=("n", "low")),
        Subject.ELEMENT,
        "element {n} of {a} is {low}",
        (
            FactFormula("0 <= n and n < size(a)", "{a} has no element {n}"),
            FactFormula("i in a: i == n -> a[i] == low", "{a[i]=} is not {low}"),
        ),
        placed=AllowedRanks(1, 1, "; elements are counted along one axis"),
    ),
    FactKind(
        "column_range",
        Form(numbers=("n", "low", "high")),
        Subject.COLUMN,
        "every value in column {n} of {a} lies from {low} to below {high}",
        (FactFormula("i in a: last(i) == n -> low <= a[i] < high", "{a[i]=} is not in [{low}, {high})"),),
        placed=_TABLE,
        least=0,
        made="rows of columns",
        seen="limits of columns",
        held="limits of columns",
        offered="limits of columns",
    ),
    FactKind(
        "unique_rows",
        Form(),
        Subject.LINES,
        "no two rows of {a} are equal",
        (
            FactFormula(
                "i, j in a: line(a, i) == line(a, j) -> row(i) == row(j)",
                "rows {row(i)} and {row(j)} of {a} are equal",
            ),
        ),
        placed=_TABLE,
        made="rows of columns",
        seen="rows once",
        held="rows once",
        offered="rows once",
    ),
    FactKind(
        "multiples",
        Form(numbers=("n",)),
        Subject.STEPS,
        "every value in {a} is a multiple of {n}",
        (FactFormula("i in a: a[i] % n == 0", "{a[i]=} is no multiple of {n}"),),
        least=1,
        seen="steps",
        held="steps",
        offered="steps",
    ),
    FactKind(
        "shares",
        Form(numbers=("n",)),
        Subject.SUM,
        "no value in {a} is negative, and all together are at most {n}",
        (
            FactFormula("i in a: 0 <= a[i]", "{a[i]=} is negative"),
            FactFormula("sum(a) <= n", "the sum of {a} is {sum(a)}, more than {n}"),
        ),
        taken=(FactFormula("i in a: 0 <= a[i] <= n"), FactFormula("sum(a) <= n")),
        promises=(
            FactPromise("0 <= n", apart=False),
            FactPromise("size(a) * max(least(a), 0) <= n"),
            FactPromise("size(a) * (size(a) - 1) <= 2 * n", distinct=True),
        ),
        measures=("a",),
        made="parts of a sum",
        seen="parts",
        held="parts",
        offered="parts",
    ),
    FactKind(
        "disjoint_rows",
        Form(bounds=True, unless=True),
        Subject.ROWS,
        "no value occurs in two rows of {a}{among}",
        (
            FactFormula(
                "i, j in a: a[i] == a[j] and a[i] not in unless and low <= a[i] < high -> first(i) == first(j)",
                "{a[i]=} is also {@a[j]}",
            ),
        ),
        placed=AllowedRanks(least=2, otherwise=" and no rows; write injective({array})"),
        stronger=("injective",),
        made="different rows",
        seen="values in one row",
        held="but for one value",
        offered="different rows",
    ),
    FactKind(
        "segments",
        Form(("a", "lengths"), bounds=True),
        Subject.SEGMENTS,
        "the segments that begin at {a} with the lengths in {lengths} do not meet",
        (
            FactFormula("i in lengths: 0 <= lengths[i]", "{lengths[i]=} is negative"),
            FactFormula(
                "i in a, lengths: 0 < lengths[i] -> low <= a[i] and a[i] + lengths[i] <= high",
                f"{_SEGMENT} is not inside [{{low}}, {{high}})",
            ),
            FactFormula(
                "i, j in a, lengths: i != j and 0 < lengths[i] and 0 < lengths[j]"
                " -> a[i] + lengths[i] <= a[j] or a[j] + lengths[j] <= a[i]",
                f"{_SEGMENT} meets {_other(_SEGMENT, 'i', 'j')}",
            ),
        ),
        placed=AllowedRanks(1, 1, "; segments are given by arrays of rank 1"),
        promises=(
            FactPromise(
                "min(size(a), size(lengths)) <= 0 or least(lengths) <= 0"
                " or min(size(a), size(lengths)) * least(lengths) <= high - low"
            ),
        ),
        measures=("lengths",),
        implies=ImpliedFact("shares", "lengths", "high - low"),
        made="segments",
        seen="segments",
        held="without bounds",
        offered="segments",
    ),
    FactKind(
        "ranks",
        Form(("a", "keys"), ("n",)),
        Subject.RELATION,
        "{a} numbers the equal keys of every {n} elements of {keys}",
        (
            FactFormula(
                f"i in a, keys: 0 <= a[i] < {_RANKED}",
                f"{{a[i]=}} is not in [0, {{{_RANKED}}}):"
                f" chunk {{i // n}} of {{keys}} has {{{_RANKED}}} of key {{keys[i]}}",
            ),
            FactFormula(
                "i, j in a, keys: i != j and i // n == j // n and keys[i] == keys[j] -> a[i] != a[j]",
                "{a[i]=} is also {@a[j]}, of the same key {keys[i]} in chunk {i // n} of {keys}",
            ),
        ),
        taken=(
            FactFormula("i in a, keys: 0 <= a[i] < n"),
            FactFormula(f"i in a, keys: a[i] < {_RANKED} and {_RANKED} <= n"),
            FactFormula("i, j in a, keys: i != j and i // n == j // n and keys[i] == keys[j] -> a[i] != a[j]"),
        ),
        placed=AllowedRanks(1, 1, "; ranks and their keys are arrays of rank 1"),
        least=1,
        promises=(
            FactPromise("size(keys) <= 0 or size(a) < size(keys) or least(a) <= 0"),
            FactPromise("min(size(a), size(keys)) <= n", distinct=True),
        ),
        made="ranks of keys",
        seen="ranks",
        held="ranks",
        offered="ranks",
    ),
    FactKind(
        "buckets",
        Form(("a", "keys"), ("n", "width"), bounds=True),
        Subject.RELATION,
        "the buckets that begin at {a}, {width} for every {n} elements of {keys}, "
        "have room for the elements with their key and do not meet",
        _BUCKETS,
        taken=(FactFormula(f"x in a: {_FILLED} <= n"), *_BUCKETS),
        placed=AllowedRanks(1, 1, "; buckets and their keys are arrays of rank 1"),
        least=1,
        promises=(
            FactPromise(
                "size(a) < (size(keys) + n - 1) // n * width or least(keys) < 0 or width < most(keys)"
                " or size(keys) <= max(high - low, 0)"
            ),
        ),
        indexed=True,
        made="buckets of keys",
        seen="buckets",
        held="buckets",
        offered="buckets",
    ),
    FactKind(
        "chunks",
        Form(("a", "offsets"), ("n",), bounds=True),
        Subject.RELATION,
        "the chunks of {n} of each segment between two of {offsets} have numbers of their own, from {a} on",
        (
            FactFormula(
                f"i in a, offsets: 0 < {_CUT} -> low <= a[i] and a[i] + {_CUT} <= high",
                f"{_CHUNKS} are not inside [{{low}}, {{high}})",
            ),
            FactFormula(
                f"i, j in a, offsets: i != j and 0 < {_CUT} and 0 < {_of_j(_CUT)}"
                f" -> a[i] + {_CUT} <= a[j] or a[j] + {_of_j(_CUT)} <= a[i]",
                f"{_CHUNKS} meet {_of_j(_CHUNKS)}",
            ),
        ),
        placed=AllowedRanks(1, 1, "; numbers of chunks and offsets of segments are arrays of rank 1"),
        least=1,
        suited_by=(("nondecreasing", "offsets"),),
        made="chunks of segments",
        seen="chunks",
        held="chunks",
        offered="chunks",
    ),
    FactKind(
        "distinct_where",
        Form(("a", "counts"), unless=True),
        Subject.RELATION,
        "no value occurs twice in {a} beside counts above 0 in {counts}",
        (
            FactFormula(
                "i, j in a, counts: a[i] == a[j] and a[i] not in unless and 0 < counts[i] and 0 < counts[j] -> i == j",
                "{a[i]=} is also {@a[j]}, and {@counts[i]} and {@counts[j]} are above 0",
            ),
        ),
        placed=AllowedRanks(1, 1, "; values and their counts are arrays of rank 1"),
        held="values again",
    ),
    FactKind(
        "in_segments",
        Form(("a", "numbers", "offsets")),
        Subject.RELATION,
        "every value in {a} lies in the segment between two of {offsets} whose number is beside it in {numbers}",
        (
            FactFormula(
                "i in a, numbers: offsets[numbers[i]] <= a[i] and a[i] < offsets[numbers[i] + 1]",
                "{a[i]=} is not in [{offsets[numbers[i]]}, {offsets[numbers[i] + 1]}),"
                " segment {numbers[i]} of {offsets}",
            ),
        ),
        placed=AllowedRanks(1, 1, "; values, numbers and offsets of segments are arrays of rank 1"),
        suited_by=(("nondecreasing", "offsets"), ("injective", "offsets")),
        made="places in segments",
    ),
)
"""In the order in which messages list them."""

FACTS: Final[Mapping[str, FactKind]] = {kind.word: kind for kind in KINDS}
"""By the word that begins them in a launch spec."""

AnyFact: TypeAlias = DataFact | DataTerm | NumberedFact


def meaning_of(fact: AnyFact) -> FactKind:
    """What the kind of the fact means."""
    return FACTS[fact.fact.kind if isinstance(fact, DataTerm) else fact.kind]


def subject_of(fact: AnyFact) -> Subject:
    """What of the values the fact speaks of."""
    return meaning_of(fact).subject


def by_subject(subjects: Iterable[Subject] = Subject) -> list[FactKind]:
    """All kinds on these subjects, in their order."""
    return [kind for subject in subjects for kind in KINDS if kind.subject is subject]


def joining() -> list[FactKind]:
    """Those of them that speak of several arrays."""
    return [kind for kind in by_subject() if kind.joins]
