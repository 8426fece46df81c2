"""Facts that held of the index arrays of recorded launches, in numbers and as strong as they were.

They are observations: nobody says that they hold in the next launch.  A proof that needs one assumes a weaker form of
it and says so (`verifier.abduction.observed`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Final

from .form import Subject
from .found import Seen
from .kinds import by_subject, of_two
from .on_host import Array

_FIRST: Final = (Subject.LIMITS, Subject.ELEMENTS, Subject.ROWS)
_WRITTEN: Final = (*_FIRST, *(subject for subject in Subject if subject not in _FIRST))
"""The order in which a recording says what it saw: the limits, what differs, all else."""


def observed_facts(contents: Mapping[str, Sequence[Array]]) -> list[str]:
    """Facts as launch specs write them, on arrays by name, each with what it held in several launches."""
    arrays = [Seen(name, found) for name, found in contents.items()]
    facts = [fact for seen in arrays for kind in by_subject(_WRITTEN) for fact in kind.observed(seen)]
    pairs = list(permutations(arrays, 2))
    return facts + [fact for kind in of_two(_WRITTEN) for pair in pairs for fact in kind.observed_both(*pair)]
