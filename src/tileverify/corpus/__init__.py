"""Labelled kernels: what each one shows, how it is launched, and what the verdict must be and why.

``showcase`` is what ``make check`` proves; ``race_free``, ``racy``, ``out_of_bounds`` and ``order`` are named by the
property they test; ``contract`` holds launches whose verdict hangs on a clause or a fact that the launch lacks;
``cutile_rust`` holds entries in the shape of that compiler's, which ``generator`` in it writes;
``found`` holds the smallest forms of what was found in other people's kernels (`docs/findings.md`);
``explained`` has for every code that can be refuted what ``tileverify explain`` shows, wrong and mended.
``triton`` has kernels of ``@triton.jit``, for the mistakes that its users make.
Beside every ``NAME.py`` or ``NAME.tileirbc`` stand ``NAME.tileverify.toml`` (launches) and ``NAME.labels.toml``.
"""

from .labels import ROOT, TRITON, Labelled, corpus_launches

__all__ = ["ROOT", "TRITON", "Labelled", "corpus_launches"]
