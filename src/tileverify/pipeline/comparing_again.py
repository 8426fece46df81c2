"""What a certificate says of compiled code, held against what the assembler makes here.

No PTX is kept with a certificate.  Only the assembler ties a text to the machine code: the same version makes the same
PTX and the same cubin of the same bytecode.  Who has it has the text, and who does not could compare a kept text with
the bytecode, but not with what runs.

What needs the prover's solver is imported where it is used: `recheck` confirms other certificates without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from ..backend.assembler import Assembler, AssemblyError, find_assembler
from ..backend.compiled.cubin_look import ProvedEntry
from ..results.compared_code import CodeAgain, ComparedCode
from ..system.version import __version__
from ..verifier.certificate.model import Certificate, FoundBy
from .failing import lacks_solver


def compared_again(
    certificate: Certificate, bytecode: bytes | None, cubins: Mapping[str, bytes], *, executor: bool = True
) -> tuple[CodeAgain, ...]:
    """One for each architecture that the certificate speaks of, and for each of ``cubins`` that came with it.

    ``executor``: the prover's executor, by which footprints are proved, may be loaded.
    """
    stated = {each.architecture for each in certificate.compared_code}
    silent = (ComparedCode(name, "", "") for name in cubins if name not in stated)
    return (
        *(
            _again(certificate, bytecode, each, cubins.get(each.architecture), executor)
            for each in certificate.compared_code
        ),
        *(CodeAgain(each, why_not="the certificate says nothing of this cubin") for each in silent),
    )


def _again(
    certificate: Certificate, bytecode: bytes | None, stated: ComparedCode, cubin: bytes | None, executor: bool
) -> CodeAgain:  # fmt: skip
    if cubin is not None and hashlib.sha256(cubin).hexdigest() != stated.cubin_sha256:
        return CodeAgain(stated, contradicted="the cubin is not the one that was compared")
    if not stated.cubin_sha256:
        return CodeAgain(stated, why_not="there was no cubin")
    if bytecode is None:
        return CodeAgain(stated, why_not="the bytecode is not at hand")
    if not executor:
        return CodeAgain(stated, why_not="it takes the prover's executor")
    try:
        assembler = find_assembler()
        if assembler.version != stated.assembler:
            raise AssemblyError(f"tileiras {stated.assembler} made the cubin, and {assembler.version} is here")
        return _held(certificate, bytecode, stated, assembler)
    except AssemblyError as error:
        return CodeAgain(stated, why_not=error.message)
    except ModuleNotFoundError as error:
        if not lacks_solver(error):
            raise
        return CodeAgain(stated, why_not="the solver that proves its footprints is not here")


def _held(certificate: Certificate, bytecode: bytes, stated: ComparedCode, assembler: Assembler) -> CodeAgain:
    from ..verifier.smt import solver_version
    from .comparing_code import made_code

    c = certificate
    proved = ProvedEntry(bytecode, c.symbol, c.parameters, c.launch, c.requires)
    found = made_code(proved, assembler, stated.architecture, stated.cubin_sha256)
    here, made = found.compared, f"what tileiras {assembler.version} makes of the bytecode"
    if here.cubin_sha256 != stated.cubin_sha256:
        return CodeAgain(stated, contradicted=f"its cubin is not {made}")
    if stated.ptx_sha256 and not here.ptx_sha256:
        return CodeAgain(stated, why_not="the PTX cannot be seen here")
    if here.ptx_sha256 != stated.ptx_sha256:
        return CodeAgain(stated, contradicted=f"its PTX is not {made}")
    if here == stated:
        return CodeAgain(stated, confirmed=True)
    other_tool = c.tool != FoundBy(__version__, solver_version())
    if other_tool and not found.seen.differences:
        return CodeAgain(stated, why_not=f"tileverify {__version__} finds: {here.outcome}")
    return CodeAgain(stated, contradicted=f"compared again, it is: {here.outcome}")
