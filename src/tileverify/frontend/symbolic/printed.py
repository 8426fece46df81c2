"""An access summary as text for people: ``tileverify footprint``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from ...contract.terms import TRUE, ZERO, Term, render
from ..bytecode.location import user_frame
from .summary import AccessSummary, Footprint, Loop, Origin, OriginKind, Promise, Site, ViewFootprint


def footprint_text(summary: AccessSummary) -> str:
    """One paragraph for each access, then what the kernel promised; ends with a newline."""
    blocks = [_heading(summary), *(_site(summary, site) for site in summary.sites)]
    if summary.promises:
        blocks.append(["promises", *(f"  {_promise(promise)}" for promise in summary.promises)])
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _heading(summary: AccessSummary) -> list[str]:
    count = len(summary.sites)
    lines = [f"{summary.entry}: {count} access{'' if count == 1 else 'es'}"]
    if summary.stable_arrays:
        lines.append(f"  never written: {', '.join(sorted(summary.stable_arrays))}")
    if summary.order_ops:
        lines.append(f"  orders memory beyond tokens: {', '.join(summary.order_ops)}")
    return lines


def _site(summary: AccessSummary, site: Site) -> list[str]:
    place = user_frame(site.location)
    where = f"  {place.file}:{place.line}" if place else ""
    manner = site.ordering if site.scope is None else f"{site.ordering}, {site.scope}"
    operation = f"{site.access.value} {site.mode}" if site.mode else site.access.value
    lines = [f"#{site.number} {operation} {origin_text(site.origin)} ({manner}){where}"]
    lines.extend(f"  {line}" for line in _footprint(site.footprint))
    if site.lanes:
        lines.append("  lanes: " + ", ".join(f"{render(lane.variable)} < {lane.size}" for lane in site.lanes))
    lines.extend(_loop(summary, loop) for loop in site.loops)
    if site.guard is not TRUE:
        lines.append(f"  if: {render(site.guard)}")
    if site.waits:
        waits = (
            f"#{wait.site}" if wait.condition is TRUE else f"#{wait.site} if {render(wait.condition)}"
            for wait in site.waits
        )
        lines.append("  waits for: " + "; ".join(waits))
    return lines


def _loop(summary: AccessSummary, loop: Loop) -> str:
    name = render(loop.iteration)
    text = f"  loop: {name}, {summary.names.get(name, 'its iteration')}"
    return text if loop.value in (None, loop.iteration) else f"{text}; value {render(loop.value)}"


def origin_text(origin: Origin) -> str:
    """The name of what is accessed."""
    match origin.kind:
        case OriginKind.PARAMETER:
            return origin.name
        case OriginKind.LIST_ELEMENT:
            assert origin.index is not None
            return f"{origin.name}[{render(origin.index)}]"
        case OriginKind.UNKNOWN:
            return "unknown memory"
        case _:
            return f"{origin.kind.value} {origin.name}"


def _footprint(place: Footprint) -> Iterator[str]:
    if not isinstance(place, ViewFootprint):
        yield f"bytes: {render(place.offset)} .. +{place.element_bytes - 1}"
        return
    yield "element: [" + ", ".join(render(coordinate) for coordinate in place.coordinates) + "]"
    layout = f"layout: shape ({_list(place.shape)}), strides ({_list(place.strides)})"
    yield layout if place.base is ZERO else f"{layout}, from byte {render(place.base)}"
    parts = []
    for index, space, inside in zip_longest(place.index, place.index_space, place.inbounds, fillvalue=None):
        assert index is not None
        limit = "" if space is None else f" of {render(space)}"
        parts.append(f"{render(index)}{limit}{' (promised inside)' if inside else ''}")
    yield "tile: " + ", ".join(parts)


def _list(terms: tuple[Term, ...]) -> str:
    return ", ".join(render(term) for term in terms)


def _promise(promise: Promise) -> str:
    place = user_frame(promise.location)
    where = f" ({place.file}:{place.line})" if place else ""
    guard = "" if promise.guard is TRUE else f", if {render(promise.guard)}"
    return f"{promise.code} {promise.text}: {render(promise.condition)}{guard}{where}"
