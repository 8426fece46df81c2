"""Every launch of a run, with the proof that covers it: as text, JSON, or a page."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .errors import EngineError
from .launches import Noted


def write_report(file: Path, title: str, noted: Sequence[Noted]) -> None:
    """By the file's ending: ``.json``, ``.html``, or text; raises `EngineError` where it cannot be written."""
    writer = {".json": as_json, ".html": as_page}.get(file.suffix, as_text)
    try:
        file.write_text(writer(title, noted), encoding="utf-8")
    except OSError as error:
        raise EngineError(f"cannot write '{file}': {error.strerror or error}") from None


def document(title: str, noted: Sequence[Noted]) -> dict[str, Any]:
    """``proofs``: each once, by the hash of its bundle or bytecode; ``launches`` name theirs by it."""
    proofs = {each.proof.sha256: asdict(each.proof) for each in noted}
    launches = [
        {
            "kernel": each.kernel,
            "grid": list(each.grid),
            "arrays": list(each.arrays),
            "made": each.made,
            "proof": each.proof.sha256,
        }
        for each in noted
    ]
    return {"run": title, "made": sum(each.made for each in noted), "launches": launches, "proofs": proofs}


def as_json(title: str, noted: Sequence[Noted]) -> str:
    return json.dumps(document(title, noted), indent=1) + "\n"


def as_text(title: str, noted: Sequence[Noted]) -> str:
    return "\n".join(_lines(title, noted)) + "\n"


def _lines(title: str, noted: Sequence[Noted]) -> Iterator[str]:
    yield f"{title}: {sum(each.made for each in noted)} launches, all proved"
    for proof in dict.fromkeys(each.proof for each in noted):
        own = [each for each in noted if each.proof == proof]
        yield ""
        yield f"{own[0].kernel}: {sum(each.made for each in own)} launches"
        where = f"bundle {proof.bundle}{', signed' if proof.signed else ''}" if proof.bundle else "proved here"
        yield f"    {where}, sha256 {proof.sha256}"
        kept = "" if proof.deterministic is None else f", {'deterministic' if proof.deterministic else 'may differ'}"
        yield f"    {proof.obligations} obligations hold for {_holds(proof.holds_for)}{kept}"
        yield from (f"    contract  {clause}" for clause in proof.contract)
        yield from (f"    assumes   {fact}" for fact in proof.assumes)
        for each in own:
            yield f"    {each.made:8} x grid {each.grid}  {', '.join(each.arrays)}"


def as_page(title: str, noted: Sequence[Noted]) -> str:
    rows = []
    for proof in dict.fromkeys(each.proof for each in noted):
        own = [each for each in noted if each.proof == proof]
        shapes = "\n".join(f"{each.made} x grid {each.grid}  {', '.join(each.arrays)}" for each in own)
        contract = "\n".join([*proof.contract, *(f"assumes {fact}" for fact in proof.assumes)])
        cells = [
            html.escape(own[0].kernel),
            str(sum(each.made for each in own)),
            f"<code>{proof.sha256[:16]}</code> {html.escape(proof.bundle or 'proved here')}"
            f"{' (signed)' if proof.signed else ''}",
            f"{proof.obligations} obligations, {_holds(proof.holds_for)}",
            _folded(contract),
            _folded(shapes),
        ]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    heads = ("kernel", "launches", "bundle", "proof", "contract", "shapes")
    head = "".join(f"<th>{each}</th>" for each in heads)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Launches</title><style>'
        "body{font:14px system-ui;margin:2em}table{border-collapse:collapse}"
        "td,th{border:1px solid #ccc;padding:.4em .6em;text-align:left;vertical-align:top}pre{margin:0}"
        f"</style></head><body><h1>{html.escape(title)}</h1>"
        f"<p>{sum(each.made for each in noted)} launches, all proved.</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></body></html>\n"
    )


def _folded(text: str) -> str:
    lines = text.count("\n") + 1
    return f"<details><summary>{lines} lines</summary><pre>{html.escape(text)}</pre></details>" if text else ""


def _holds(holds_for: str) -> str:
    return {"any": "any launch within the contract", "sizes": "these sizes, any grid", "launch": "this launch"}[
        holds_for
    ]
