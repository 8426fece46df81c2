"""Whether the code of a cubin touches in all launches what the bytecode touches, for whoever built it."""

from __future__ import annotations

from dataclasses import dataclass

from ...backend.assembler import Assembled
from ...backend.compiled.cubin_look import ProvedEntry
from ...backend.compiled.hidden_parameters import HostSide
from ...backend.compiled.ptx import PtxError, read
from ...frontend.bytecode import decode
from ...frontend.bytecode.trusting import under_trust
from ...frontend.symbolic.execute import summarize
from ...system.errors import TileVerifyError
from ...verifier.obligations.clause_terms import clause_terms
from .all_launches import NotShown
from .host_cases import show_for_all_launches


@dataclass(frozen=True, slots=True)
class CodeProof:
    """``why_not``: empty where it is proved."""

    why_not: str = ""

    def __str__(self) -> str:
        return f"not proved for all launches ({self.why_not})" if self.why_not else "proved for all launches"


def code_proof(proved: ProvedEntry, assembled: Assembled) -> CodeProof:
    """Never raises: why nothing was proved is told."""
    if assembled.ptx is None:
        return CodeProof("the assembler's PTX was not seen")
    try:
        module = decode(proved.bytecode)
        launch = proved.launch
        entry = under_trust(next(each for each in module.entries if each.name == proved.symbol), launch.trust)
        code = read(assembled.ptx).entry(entry.name)
        summary = summarize(module, entry, proved.parameters, may_overlap=launch.sharing())
        clauses = clause_terms(proved.requires, summary, launch)
        host = HostSide(assembled.host, assembled.cubin)
        show_for_all_launches(code, entry, summary, proved.parameters, launch, clauses, host)
    except NotShown as end:
        return CodeProof(end.why)
    except (TileVerifyError, PtxError, StopIteration) as error:
        return CodeProof(str(error) or "the PTX has no such entry")
    except (AssertionError, LookupError, TypeError, ValueError) as error:  # PTX of a form that was never met
        return CodeProof(f"its PTX is not understood: {type(error).__name__}")
    return CodeProof()
