"""The accesses of a certificate's entry as the prover's executor reads them."""

from __future__ import annotations

from ...frontend.bytecode.trusting import under_trust
from ...frontend.symbolic.execute import summarize
from ...frontend.symbolic.summary import AccessSummary
from .entry import entry_and_module
from .model import Certificate


def summary_of(certificate: Certificate, bytecode: bytes) -> AccessSummary:
    """The entry's access summary as the prover makes it; raises `TileVerifyError`."""
    module, entry = entry_and_module(certificate, bytecode)
    launch = certificate.launch
    return summarize(module, under_trust(entry, launch.trust), certificate.parameters, may_overlap=launch.sharing())
