"""A bundle in words, and as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from ..reports.plain import printable
from .manifest import manifest_of
from .model import Bundle


def bundle_json(bundle: Bundle, signed_by: str | None) -> dict[str, Any]:
    """What `show --format json` prints: the manifest, with sizes and hashes of the cubins."""
    import json

    document: dict[str, Any] = json.loads(manifest_of(bundle))
    for each in document["cubins"]:
        code = bundle.cubins[each["architecture"]].code
        each |= {"bytes": len(code), "sha256": hashlib.sha256(code).hexdigest()}
    document["obligations"] = len(bundle.certificate.obligations)
    document["signed"] = bundle.signature is not None
    document["signed_by"] = signed_by
    return document


def bundle_text(bundle: Bundle, file: str, signed_by: str | None) -> str:
    """What `show` prints."""
    return "".join(f"{printable(line)}\n" for line in _lines(bundle, file, signed_by))


def _lines(bundle: Bundle, file: str, signed_by: str | None) -> Iterator[str]:
    c = bundle.certificate
    yield f"{file}: {c.kernel} [{c.launch.name}] of {c.file}"
    holds = {"any": "any launch within the contract", "sizes": "these sizes, any grid", "launch": "this launch only"}
    yield f"    proved for {holds[bundle.holds_for]}: {len(c.obligations)} obligations"
    if bundle.deterministic is not None:
        yield f"    results    {'the same in every run' if bundle.deterministic else 'may differ from run to run'}"
    for label, texts in (("contract", bundle.contract), ("requires", c.requires), ("assumes", bundle.assumes)):
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
    if not bundle.cubins:
        yield "    cubins     none: it is assembled where it runs"
    yield f"    built by   tileverify {bundle.tool} with {bundle.solver}"
    yield f"    signature  {_signature(bundle, signed_by)}"


def _signature(bundle: Bundle, signed_by: str | None) -> str:
    if bundle.signature is None:
        return "none: its cubins run only where the assembler makes the same ones"
    return f"by {signed_by}" if signed_by else "by a key that was not given as trusted (--trust)"
