"""A bundle in words, and as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...contract.as_terms import contract_text
from ...contract.data_facts import print_data_fact
from ...contract.descriptions import print_array
from ...contract.expressions import print_expression
from ...contract.launch import Expression, Number
from ...contract.trustable import trusted_text
from ...results.documents import Json, to_json
from ...system.printable import printable
from .manifest import manifest_of
from .model import Bundle


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
    return "".join(f"{printable(line)}\n" for line in _lines(bundle, file, belief))


def _lines(bundle: Bundle, file: str, belief: Belief) -> Iterator[str]:
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
    for label, texts in (*said, ("trusts", trusted_text(c.launch.trust))):
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
