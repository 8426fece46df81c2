"""From a proved kernel to a bundle, and a bundle in words and as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...backend.assembler import Assembler, refuse_foreign_functions
from ...backend.compiled.cubin_look import ProvedEntry, refuse_differences
from ...contract.arguments import print_array
from ...contract.as_terms import contract_text
from ...contract.data_facts import print_data_fact
from ...contract.expressions import print_expression
from ...contract.launch import Expression, KernelUnit, Number
from ...contract.trustable import taken_for_granted, trusted_text
from ...frontend.bytecode.location import user_frame
from ...frontend.bytecode.traverse import walk
from ...pipeline.second_readings import MadeCode, made_code, proved_entry
from ...results import KernelResult, Verdict
from ...results.conditional import undetermined
from ...results.json_report import Json, to_json
from ...system.printable import display_path, printable
from ...system.version import __version__
from ...verifier.certificate.model import certificate_text, read_certificate
from .manifest import Bundle, Cubin, entry_of, manifest_of, parameter_types


def build_bundle(
    unit: KernelUnit, result: KernelResult, solver: str, assembler: Assembler | None, architectures: Sequence[str]
) -> Bundle:
    """The bundle of a result that is `proved` and has its certificate; raises `AssemblyError`, which is `CodeDiffers`
    where the code does other than the bytecode.

    Without an ``assembler`` the bundle has no cubins, and is assembled where it runs.
    """
    assert result.verdict is Verdict.PROVED
    assert result.certificate is not None
    assert result.holds_for is not None
    refuse_foreign_functions(unit.bytecode)
    made = {} if assembler is None else _made(proved_entry(unit, result), assembler, architectures)
    compared = tuple(each.compared for each in made.values())
    certificate = replace(read_certificate(result.certificate.text, result.file), compared_code=compared)
    lines = tuple(_lines(unit, result.file))
    files = {_shown(str(unit.file)): unit.file}
    return Bundle(
        tool=__version__,
        solver=solver,
        bytecode=unit.bytecode,
        certificate_text=certificate_text(certificate),
        certificate=certificate,
        contract=result.stated,
        assumes=result.assumes,
        holds_for=result.holds_for,
        # A bundle is launched with everything that the proof covers, not only with what was asked for.
        deterministic=None if undetermined(result) and result.deterministic else result.deterministic,
        parameter_types=parameter_types(unit.bytecode, unit.symbol, result.file),
        cubins={name: _cubin(each) for name, each in made.items()},
        lines=lines,
        sources={name: digest for name, file in files.items() if (digest := _hash_of(file)) is not None},
    )


def _made(proved: ProvedEntry, assembler: Assembler, architectures: Sequence[str]) -> dict[str, MadeCode]:
    """The code for each architecture, none of which differs from the bytecode."""
    made = {}
    for architecture in architectures:
        made[architecture] = made_code(proved, assembler, architecture)
        refuse_differences(made[architecture].seen)
    return made


def _cubin(code: MadeCode) -> Cubin:
    seen = code.compared
    return Cubin(seen.architecture, seen.assembler, code.made.cubin, seen.outcome, seen.ptx_sha256)


def _lines(unit: KernelUnit, file: str) -> Iterator[tuple[int, str, int, int]]:
    """(offset in the bytecode, file, line, column) of every op whose source is known."""
    for op in walk(entry_of(unit.bytecode, unit.symbol, file).body):
        frame = user_frame(op.location)
        if frame is not None:
            yield op.offset, _shown(frame.file), frame.line, frame.offset


def _shown(file: str) -> str:
    """A path that means something on another machine: below the current folder, or the name alone."""
    path = Path(display_path(Path(file)))
    return path.name if path.is_absolute() else str(path)


def _hash_of(file: Path) -> str | None:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None


# ----------------------------------------------------------------------------------------------------------------- text
# A bundle in words, and as JSON.


@dataclass(frozen=True, slots=True)
class Belief:
    """What is known of a bundle's word: the trusted key that ``signed_by`` names, whether its signature was
    ``looked_at`` (it is refused where it is wrong), and whether the kernel was ``proved`` again."""

    signed_by: str | None = None
    looked_at: bool = False
    proved: bool = False

    @property
    def verified(self) -> bool:
        """Whether somebody else than the bundle says that its kernel is proved."""
        return self.proved or self.signed_by is not None


def bundle_json(bundle: Bundle, belief: Belief) -> Json:
    """What `show --format json` prints: the manifest, with sizes and hashes of the cubins, and the contract of the
    certificate, which is the one that is proved again and guarded."""
    manifest = to_json(manifest_of(_stated(bundle)))
    codes = [bundle.cubins[each["architecture"]].code for each in manifest["cubins"]]
    return {
        **manifest,
        "cubins": [
            {**each, "bytes": len(code), "sha256": hashlib.sha256(code).hexdigest()}
            for each, code in zip(manifest["cubins"], codes, strict=True)
        ],
        "obligations": len(bundle.certificate.obligations),
        "signed": bundle.signature is not None,
        "signed_by": belief.signed_by,
        "verified": belief.verified,
    }


def bundle_text(bundle: Bundle, file: str, belief: Belief) -> str:
    """What `show` prints."""
    return "".join(f"{printable(line)}\n" for line in _text_lines(bundle, file, belief))


def _text_lines(bundle: Bundle, file: str, belief: Belief) -> Iterator[str]:
    c = bundle.certificate
    yield f"{file}: {c.kernel} [{c.launch.name}] of {c.file}"
    holds = {"any": "any launch within the contract", "sizes": "these sizes, any grid", "launch": "this launch only"}
    claimed = "" if belief.verified else "said to be "
    yield f"    {claimed}proved for {holds[bundle.holds_for]}: {len(c.obligations)} obligations"
    if bundle.deterministic is not None:
        same = "the same in every run" if belief.signed_by else "said to be the same in every run"  # not proved again
        yield f"    results    {same if bundle.deterministic else 'may differ from run to run'}"
    stated = _stated(bundle)
    said = (("contract", stated.contract), ("requires", c.requires), ("assumes", stated.assumes))
    for label, texts in (*said, ("trusts", trusted_text(taken_for_granted(c.launch)))):
        for number, text in enumerate(texts):
            yield f"    {label if number == 0 else '':10} {text}"
    yield f"    entry      {c.symbol}"
    for parameter, type_ in zip(c.parameters, bundle.parameter_types, strict=True):
        dim = "" if parameter.dim is None else f"[{parameter.dim}]"
        static = "" if parameter.static is None else f" = {parameter.static}, compiled in"
        yield f"               {type_}: {parameter.role.value}{dim} of {parameter.argument}{static}"
    yield f"    bytecode   {len(bundle.bytecode)} bytes, sha256 {c.bytecode_sha256}"
    for cubin in bundle.cubins.values():
        digest = hashlib.sha256(cubin.code).hexdigest()
        yield f"    {cubin.architecture:10} {len(cubin.code)} bytes by tileiras {cubin.assembler}, sha256 {digest}"
        if cubin.compiled:
            yield f"    {'':10} compiled: {cubin.compiled}"
    if not bundle.cubins:
        yield "    cubins     none: it is assembled where it runs"
    yield f"    built by   tileverify {bundle.tool} with {bundle.solver}"
    yield f"    signature  {_signature(bundle, belief)}"
    yield f"    verified   {_verified(belief)}"


def _stated(bundle: Bundle) -> Bundle:
    """With the contract of its certificate: what the manifest says of that is for people, and anybody may have written
    it."""
    launch = bundle.certificate.launch
    axes: tuple[Expression, ...] = launch.grid or ()
    while len(axes) > 1 and axes[-1] == Number(1):
        axes = axes[:-1]
    words = tuple(map(print_expression, axes)), tuple(map(print_expression, launch.requires))
    spelled = replace(launch, grid_text=words[0], requires_text=words[1])
    facts = tuple(fact.text or print_data_fact(fact) for fact in launch.data)
    arrays = (f"{array.name} = {print_array(array)}" for array in launch.arrays() if launch.names)
    return replace(bundle, contract=(*contract_text(spelled), *arrays), assumes=facts)


def _signature(bundle: Bundle, belief: Belief) -> str:
    if bundle.signature is None:
        return "none: its cubins run only where the assembler makes the same ones"
    if belief.signed_by:
        return f"by {belief.signed_by}"
    if belief.looked_at:
        return "whole, by a key that was not given as trusted (--trust)"
    return "not looked at, as the package cryptography is not installed"


def _verified(belief: Belief) -> str:
    if belief.proved:
        return "the kernel was proved again under this contract"
    if belief.signed_by:
        return "nothing here: whoever has that key vouches for all of this"
    return "nothing: all of this is the bundle's own word (--prove proves it, and so does loading it)"
