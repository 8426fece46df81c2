"""The accesses and promises of a kernel as one contract reads them, made ready for questions."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..contract.terms import Term
from ..frontend.symbolic.summary import Origin, Promise, Site
from .obligations.answers import Decides
from .obligations.footprint_overlap import PreparedSite
from .obligations.obligations import Obligation, every_obligation
from .obligations.prepare import Preparer, terms_of
from .obligations.protocols import Protocols


@dataclass(frozen=True)
class PreparedKernel:
    """``sites`` and ``promises`` stand in the order of the summary's, where any are prepared.

    ``protocols``: what blocks tell each other, of the sites as they were prepared first.
    """

    preparer: Preparer
    sites: Sequence[PreparedSite]
    promises: Sequence[Promise]
    protocols: Protocols

    @classmethod
    def of(cls, preparer: Preparer, decider: Decides) -> PreparedKernel:
        """All of the kernel; ``decider`` answers what protocols rest on."""
        sites = tuple(map(preparer.site, preparer.summary.sites))
        promises = tuple(map(preparer.promise, preparer.summary.promises))
        return cls(preparer, sites, promises, Protocols(sites, preparer.contract, decider, preparer.origins))

    @classmethod
    def nothing(cls, preparer: Preparer, decider: Decides) -> PreparedKernel:
        """None of its accesses and promises, for questions about something else."""
        return cls(preparer, (), (), Protocols((), preparer.contract, decider, preparer.origins))

    @property
    def origins(self) -> Mapping[str, Origin]:
        """What pointers are derived from, in terms of the contract."""
        return self.preparer.origins

    @cached_property
    def by_number(self) -> dict[int, PreparedSite]:
        return {prepared.site.number: prepared for prepared in self.sites}

    def obligations(self) -> Iterator[Obligation]:
        """All that has to hold, with what protocols say of it."""
        return map(self.protocols.explained, every_obligation(self.sites, self.promises, self.preparer.contract))

    def doubts(self) -> Iterator[tuple[Site | Promise, list[Term]]]:
        """What more facts could prepare otherwise: accesses and promises, with the terms that hangs on."""
        asked: list[tuple[Site | Promise, Term, list[Term]]] = []
        asked += [(each.site, each.guard, terms_of(each)) for each in self.sites]
        asked += [(each, each.guard, [each.condition]) for each in self.promises]
        for item, guard, terms in asked:
            if doubt := self.preparer.doubts([guard, *terms]):
                yield item, [guard, *doubt]

    def again(self, preparer: Preparer, offsets: Container[int]) -> PreparedKernel:
        """With the accesses and promises at these places of the bytecode as ``preparer`` reads them."""
        summary = preparer.summary
        pairs = zip(summary.sites, self.sites, strict=True)
        sites = tuple(preparer.site(new) if new.offset in offsets else old for new, old in pairs)
        promised = zip(summary.promises, self.promises, strict=True)
        promises = tuple(preparer.promise(new) if new.offset in offsets else old for new, old in promised)
        return replace(self, sites=sites, promises=promises)

    def by(self, preparer: Preparer, decider: Decides) -> PreparedKernel:
        """The same for another attempt, whose ``preparer`` and ``decider`` go on from here."""
        protocols = Protocols(self.sites, preparer.contract, decider, preparer.origins)
        return replace(self, preparer=preparer, protocols=protocols)
