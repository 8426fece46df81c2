"""What a kind of data fact has to say of itself, so that nobody else needs to know it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from ..fact_kind import FactKind
from ..launch import DataFact
from ..terms import Term
from .counting import Count
from .form import Form, Subject
from .found import HeldValues, Seen
from .loaded import Loaded, Promised
from .on_host import Contents, Value
from .sampling import Layouts, Pairs, Sampled
from .statements import DataTerm, NumberedFact
from .steered import Offers, Steered


class Fact(ABC):
    """A kind of fact about the contents of one array; the docstring of each says what it means.

    ``form`` is how it is written and ``subject`` what of the values it speaks of; ``bounded``: it gives the values
    limits, those that it excuses aside; ``least_amount``: what its ``n``, and its ``width``, is at least.
    """

    kind: ClassVar[FactKind]
    form: ClassVar[Form]
    subject: ClassVar[Subject]
    bounded: ClassVar[bool] = False
    least_amount: ClassVar[int | None] = None

    # ------------------------------------------------------------------------------------------ its words
    @abstractmethod
    def words(self, fact: DataFact, low: str, high: str, amount: str, width: str) -> str:
        """The fact as a sentence without a full stop; the numbers in it are worded already."""

    def misplaced(self, array: str, rank: int) -> str | None:
        """Why an array of such a rank cannot keep the fact; ``None`` if it can."""
        return None

    # ------------------------------------------------------------------------------------ its meaning as terms
    @abstractmethod
    def instances(self, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        """What it says of the values that a question mentions, of those inside the array."""

    def different(self, array: Promised) -> Term | None:
        """How many different values the array needs to keep it; ``None`` if the subject is not one of `DISTINCT`."""
        return None

    def promises(self, data: DataTerm, array: Promised) -> Iterator[Term]:
        """What must hold of every launch in which somebody can keep it, the room for `different` values aside."""
        return iter(())

    # ---------------------------------------------------------------------------------------- what implies it
    def follows(self, wanted: NumberedFact, seen: NumberedFact) -> bool:
        """Whether ``wanted``, of this kind, says no more than ``seen``, of any kind and on the same arrays."""
        return seen.kind == self.kind

    def holds_in(self, outer: DataTerm, inner: DataTerm) -> bool:
        """Whether ``outer`` says no more than ``inner``, both of this kind and on one array, as their numbers tell."""
        return False

    def implied(self, fact: DataFact) -> DataFact | None:
        """A fact on the ``other`` array that follows from it."""
        return None

    # --------------------------------------------------------------------------------------------- in numbers
    def allows(self, fact: NumberedFact, value: int) -> bool:
        """What it asks of each element."""
        return True

    def keeps(self, fact: NumberedFact, values: Sequence[int], width: int) -> bool:
        """Whether values that it all `allows`, in row-major order and ``width`` to a row, keep it together."""
        return True

    def limits(self, fact: NumberedFact, count: int) -> tuple[int, int] | None:
        """The ends, the second one excluded, between which it keeps the values of ``count`` elements."""
        return None

    def layouts(self, sampled: Sampled) -> Layouts:
        """Contents that are made for this kind of fact, beside those that any array may have."""
        return iter(())

    # ---------------------------------------------------------------------------------------------- in arrays
    @abstractmethod
    def violation(self, fact: DataFact, contents: Contents, value: Value) -> str | None:
        """What breaks the fact, with element and value; ``None`` if it holds of the contents."""

    def counted(self, fact: DataFact, facts: Sequence[DataFact], count: int, value: Value) -> Count | None:
        """What a device counts in ``count`` elements, if ``facts``, this one among them, are asked; ``None``: nothing.

        The fact holds if all elements are counted.
        """
        return None

    def observed(self, seen: Seen) -> Iterator[str]:
        """The strongest facts of this kind that held in all launches, as launch specs write them."""
        return iter(())

    def held(self, found: HeldValues) -> Iterator[NumberedFact]:
        """The strongest facts of this kind that the contents, one element or more, keep."""
        return iter(())

    # ------------------------------------------------------------------------------------------- in a search
    def candidates(self, use: Steered) -> Offers:
        """Facts of this kind that a kernel may need which uses the values so, the weakest first."""
        return iter(())


class FactOfTwo(Fact):
    """A kind of fact about two arrays, the second of which is its ``other``.

    ``measured``: what the second one holds says how much there is, not where; ``indexed``: it says which elements of
    the first one are meant, while others speak of the same elements of both.
    """

    measured: ClassVar[bool] = False
    indexed: ClassVar[bool] = False

    @abstractmethod
    def limited(self, fact: NumberedFact | DataFact) -> Iterator[str]:
        """The arrays whose values the fact gives limits."""

    @abstractmethod
    def keeps_both(self, fact: NumberedFact, first: Sequence[int], second: Sequence[int]) -> bool:
        """Whether two arrays keep the fact; what it asks of the single elements of the second one aside."""

    def layouts_of_both(self, fact: NumberedFact, first: Sampled, second: Sampled) -> Pairs:
        """Contents of both arrays that are made for the fact, whether they keep it or not."""
        return iter(())

    def layouts_beside(self, fact: NumberedFact, first: Sampled, second: Sequence[int]) -> Layouts:
        """Contents of the first array that are made for the fact, beside what the second one holds."""
        yield self.beside(
            fact, len(first.places), second, (first.low, first.high) if first.bounded else None, first.step
        )

    def layouts_of_other(self, fact: NumberedFact, second: Sampled) -> Layouts:
        """Contents of the second array that are made for the fact, beside those that any array may have."""
        return iter(())

    @abstractmethod
    def beside(
        self, fact: NumberedFact, count: int, second: Sequence[int], limits: tuple[int, int] | None, step: int
    ) -> Sequence[int]:
        """``count`` values of the first array which keep it beside what the second one holds, if there are any.

        They are multiples of ``step`` between the ``limits``, the second one excluded, where these are given.
        """

    @abstractmethod
    def observed_both(self, first: Seen, second: Seen) -> Iterator[str]:
        """As `observed`, of two arrays."""

    @abstractmethod
    def held_both(self, first: HeldValues, second: HeldValues) -> Iterator[NumberedFact]:
        """As `held`, of two arrays."""

    @abstractmethod
    def candidates_of_both(self, first: Steered, second: Steered) -> Offers:
        """As `candidates`, of two arrays whose values are loaded at the same indices, or of which the second one's are
        part of the indices at which the first one's are (``indexed``)."""
