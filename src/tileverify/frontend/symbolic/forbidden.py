"""Accesses that the format does not allow, and that no question of the verifier is about.

No compiler emits them.  They are refused (TV902) and not refuted: where one is reached, whatever follows is undefined.
"""

from __future__ import annotations

from ..bytecode.model import Module
from .numbering import Numbering
from .summary import Access, Origin, OriginKind


def forbidden(module: Module, numbering: Numbering, site: int, origin: Origin, access: Access) -> str:
    """Why access number ``site`` may not touch ``origin``; empty if it may."""
    match origin.kind:
        case OriginKind.LOCAL | OriginKind.SHARED_LOCAL if site not in numbering.living[origin.name]:
            return "the memory of an alloca is used behind the end of the region that it was made in"
        case OriginKind.LIST if access is not Access.READ:
            return f"it writes into the descriptors of the list '{origin.name}', which belong to the launch"
        case OriginKind.GLOBAL if access is not Access.READ:
            constant = any(item.constant for item in module.globals if item.name == origin.name)
            return f"it writes into the global '{origin.name}', which the module declares constant" if constant else ""
    return ""
