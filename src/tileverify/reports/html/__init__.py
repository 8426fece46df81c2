"""The report as one offline HTML page."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable
from typing import Any

# -------------------------------------------------------------------------------------------------------------- packing
# How a page carries data and code: compressed, harmless inside HTML, and under a strict content policy.


def packed(value: Any) -> str:
    """JSON, compressed, in base64: text without a character that means anything to HTML."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode("ascii"), 9, mtime=0)).decode("ascii")


def unpacked(text: str) -> Any:
    """The inverse of `packed`.  Raises ValueError, OSError or EOFError for anything else."""
    return json.loads(gzip.decompress(base64.b64decode(text, validate=True)))


def content_policy(*, scripts: Iterable[str], styles: Iterable[str]) -> str:
    """A policy under which a page runs exactly these inline texts and loads nothing from anywhere."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hashes(scripts)}",
            f"style-src {_hashes(styles)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hashes(texts: Iterable[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
