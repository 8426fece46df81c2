"""Which proved kernel makes a launch of the library, for graphs and for accounts of what ran."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ..backend.guard import LaunchRefused
from ..launching.bundled import BundledKernel
from ..launching.launch_types import Arguments, LaunchedKernel
from ..launching.launcher import of_this_process
from . import prepared


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of a proof.

    ``bundle``: the file that it came in, nothing where the kernel was proved here; ``sha256``: of that file, or of the
    bytecode that was proved here.  ``contract``: the launches that it covers, a clause a line.
    """

    kernel: str
    bundle: str
    sha256: str
    bytecode_sha256: str
    contract: tuple[str, ...]
    assumes: tuple[str, ...]
    holds_for: str
    obligations: int
    deterministic: bool | None
    signed: bool


def chosen(kernel: str, grid: tuple[int, ...] | None, arguments: Arguments) -> BundledKernel | LaunchedKernel:
    """What makes the launch of ``module.kernel`` that `prepared.launch` would make: a bundle, or the kernel itself.

    Raises `LaunchRefused` where there are bundles for such arguments and none admits the launch, and `UsageError` where
    there is none, and no compiler either.
    """
    module, _, name = kernel.partition(".")
    refused = None
    for bundle in prepared.at_hand.bundles.get(name, ()):
        if prepared.fits(bundle, arguments):
            try:
                bundle.planned(None, grid, arguments)
            except LaunchRefused as reason:
                refused = reason
            else:
                return bundle
    if refused is not None:
        raise refused
    return prepared.kernel_of(module, name)


def account(kernel: BundledKernel | LaunchedKernel, grid: tuple[int, ...] | None, arguments: Arguments) -> Account:
    """Of the proof that covers a launch of what `chosen` gave; raises what `tileverify.launch` raises."""
    if isinstance(kernel, BundledKernel):
        return _of_bundle(kernel)
    proof = of_this_process().proof(grid, kernel, arguments)
    result = proof.result
    assert result.holds_for is not None
    return Account(
        kernel=result.kernel,
        bundle="",
        sha256=result.bytecode_sha256,
        bytecode_sha256=result.bytecode_sha256,
        contract=result.stated,
        assumes=result.assumes,
        holds_for=str(result.holds_for),
        obligations=result.obligations.total,
        deterministic=result.deterministic,
        signed=False,
    )


def _of_bundle(kernel: BundledKernel) -> Account:
    bundle = kernel.bundle
    return Account(
        kernel=kernel.name,
        bundle=Path(kernel.file).name,
        sha256=hashlib.sha256(Path(kernel.file).read_bytes()).hexdigest(),
        bytecode_sha256=bundle.certificate.bytecode_sha256,
        contract=bundle.contract,
        assumes=bundle.assumes,
        holds_for=str(bundle.holds_for),
        obligations=len(bundle.certificate.obligations),
        deterministic=bundle.deterministic,
        signed=bundle.signature is not None,
    )
