"""The entry that a certificate speaks of, and its parameters."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Final

from ...contract import terms as t
from ...contract.as_terms import build_contract
from ...contract.launch import Role
from ...contract.terms import TermKind
from ...frontend.bytecode import decode
from ...frontend.bytecode.model import Entry, Module
from ...frontend.sources.abi import entry_parameters, entry_types, mismatch
from ...results.conditional import plain_name
from ...system.errors import TileVerifyError
from .model import Certificate, CertificateError


def check_entry(certificate: Certificate, file: str) -> None:
    """The entry's parameters are the contract's arguments, and what is said to be compiled in follows from it.

    Raises `CertificateError`.
    """
    launch, parameters = certificate.launch, certificate.parameters
    roles = tuple(replace(parameter, static=None) for parameter in parameters)
    fitting = [
        tuple(replace(parameter, static=None) for parameter in entry_parameters(launch, bare_pointers=bare))
        for bare in (False, True)
    ]
    values = build_contract(launch).values
    known = {variable.symbol.name: value for variable, value in values.items() if variable.kind is TermKind.VAR}
    static = all(
        known.get(f"{each.argument}.{_WORDS[each.role]}[{each.dim}]") is t.const(each.static)
        for each in parameters
        if each.static is not None and each.role is not Role.PARTITION
    )
    tiles = [each for each in entry_parameters(launch) if each.role is Role.PARTITION]
    static = static and tiles == [each for each in parameters if each.role is Role.PARTITION]
    if roles not in fitting or not static:
        raise CertificateError("the entry's parameters are not the arguments of the certificate's contract", file)


def check_name(certificate: Certificate, file: str) -> None:
    """The kernel is called by the entry's symbol, or by the function's name in it; raises `CertificateError`."""
    kernel, symbol = certificate.kernel, certificate.symbol
    if symbol not in (kernel, kernel.replace(".", "_")) and kernel != plain_name(symbol):
        raise CertificateError(f"the certificate calls the kernel '{kernel}', but the entry is '{symbol}'", file)


_WORDS: Final = defaultdict(str, {Role.SHAPE: "shape", Role.STRIDE: "strides"})


def entry_and_module(certificate: Certificate, bytecode: bytes) -> tuple[Module, Entry]:
    """The entry that the certificate speaks of; raises `TileVerifyError` where the bytecode has none that fits."""
    module = decode(bytecode)
    entry = next((entry for entry in module.entries if entry.name == certificate.symbol), None)
    if entry is None:
        raise TileVerifyError(f"the bytecode has no entry '{certificate.symbol}'")
    launch = certificate.launch
    if problem := mismatch(certificate.parameters, launch, entry_types(entry), entry.name):
        raise TileVerifyError(problem)
    return module, entry
