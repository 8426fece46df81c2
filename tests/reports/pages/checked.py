"""Corpus kernels checked with details, once a session, and the pages made from them."""

from __future__ import annotations

import base64
import gzip
import json
import re
from functools import cache
from typing import Any

from tileverify.corpus import ROOT
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.reports.html.report import html_report
from tileverify.results import Report

KERNELS = (
    "racy/overlapping_store.py",
    "racy/stencil_inplace.py",
    "racy/permute_swapped.py::permute_swapped::as-many-tiles-as-heads",
    "out_of_bounds/loop_too_far.py",
    "out_of_bounds/unchecked_tail.py",
    "order/loop_carried.py",
    "data/masked_blocks.py",
    "showcase/matmul_swizzled.py",
    "showcase/vector_add.py",
    "showcase/softmax.py",
)


@cache
def report() -> Report:
    options = CheckOptions(details=True, playback=True)
    return check_paths([str(ROOT / kernel) for kernel in KERNELS], options=options)


@cache
def page() -> str:
    return html_report(report())


def blocks(text: str) -> dict[str, Any]:
    """The data blocks of a page, unpacked, by id."""
    found = re.findall(r'<script type="application/octet-stream" id="([\w-]+)">([\w+/=]*)</script>', text)
    return {name: json.loads(gzip.decompress(base64.b64decode(data))) for name, data in found}
