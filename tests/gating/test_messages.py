"""What the gate's processes say to each other: an answer of another form is an error of who gave it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from math import inf, isnan, nan

import msgspec
import pytest

from tileverify.contract.launch import KernelParameter
from tileverify.gating import GateOptions, Submission, judge
from tileverify.gating.jobs.compile_job import (
    CompiledItem,
    CompiledUnit,
    claims_of,
    failure_of,
    items_bytes,
    parameter_of,
    parameter_words,
    unit_claimed,
)
from tileverify.gating.jobs.job_messages import JobRequest, NotPlain, heard, plain, said
from tileverify.gating.sandbox.sandbox import (
    BrokenFrame,
    JobEnd,
    JobKind,
    JobLimits,
    JobOutcome,
    Walls,
    read_frame,
    write_frame,
)
from tileverify.results import KernelResult, Verdict
from tileverify.results.json_report import result_to_json

END = JobEnd(stopped=None, signal=0, exit=0, cpu_s=0.0, memory_kib=0, wall_s=0.0)


@dataclass
class Saying:
    """A sandbox whose prover says this."""

    said: bytes
    layers: tuple[str, ...] = ()

    def run(self, job: JobKind, request: JobRequest, payload: bytes, limits: JobLimits) -> JobOutcome:
        return JobOutcome(b"compiled" if job is JobKind.COMPILE else self.said, END)


PROVED = msgspec.json.encode(result_to_json(KernelResult("s.py", "k", "0", Verdict.PROVED)))
HEAD = b'{"units": [["k", "0"]]}\n'
ODD = {
    "a-number": b"7\n",
    "a-list": b"[]\n",
    "units-of-one": b'{"units": [["k"]]}\n',
    "units-of-numbers": b'{"units": [[1, 2]]}\n',
    "reasons-without-ids": b'{"reasons": [{"message": "no"}]}\n',
    "reasons-of-numbers": b'{"reasons": [{"id": 1, "message": "no"}]}\n',
    "missing-is-a-text": b'{"units": [["k", "0"]], "missing": "k"}\n',
    "no-result": HEAD + b'{"bundle": "AA=="}\n',
    "result-is-a-text": HEAD + b'{"result": "proved"}\n',
    "result-is-empty": HEAD + b'{"result": {}}\n',
    "unknown-verdict": HEAD + b'{"result": ' + PROVED.replace(b'"proved"', b'"very proved"') + b"}\n",
    "forged-is-a-text": HEAD + b'{"result": ' + PROVED + b', "forged": "no"}\n',
    "bundle-is-no-base64": HEAD + b'{"result": ' + PROVED + b', "bundle": "?"}\n',
    "nested": HEAD + b'{"result": {"a": ' + b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("name", ODD)
def test_a_proof_of_another_form_is_none(name: str) -> None:
    options = GateOptions(hints=False)
    (kernel,) = judge(Submission(b""), options, Saying(ODD[name])).kernels  # type: ignore[arg-type]
    assert (kernel.verdict, kernel.accepted, [reason.id for reason in kernel.reasons]) == ("rejected", False, ["crash"])


def test_a_proof_of_this_form_is_one() -> None:
    box = Saying(HEAD + b'{"result": ' + PROVED + b"}\n")
    assert judge(Submission(b""), GateOptions(hints=False), box).accepted  # type: ignore[arg-type]


def framed(header: object) -> io.BytesIO:
    stream = io.BytesIO()
    write_frame(stream, header, b"payload")
    stream.seek(0)
    return stream


def test_a_header_of_another_kind_breaks_the_frame() -> None:
    walls = Walls(("seccomp",), None)
    assert read_frame(framed(walls), 10, Walls) == (walls, b"payload")
    others: tuple[object, ...] = ({"layers": "seccomp", "broken": None}, {"layers": []}, [], END)
    for header in others:
        with pytest.raises(BrokenFrame):
            read_frame(framed(header), 10, Walls)


UNIT = CompiledUnit(
    inferred=False,
    notes=(),
    symbol="k",
    fields={"args": {"top": "\0inf"}},
    parameters=(),
    bytecode=b"\x00\xff",
    compile_ms=1.5,
)


def test_what_was_compiled_is_read_as_it_was_sent() -> None:
    (claim,) = claims_of(items_bytes([CompiledItem(kernel="k", launch="0", line=3, unit=UNIT)])).items or ()
    assert (claim.kernel, claim.launch, claim.line) == ("k", "0", 3)
    assert failure_of(claim) is None
    assert unit_claimed(claim) == UNIT


@pytest.mark.parametrize(
    "unit", [b"7", b"null", b"{}", msgspec.json.encode(UNIT).replace(b"1.5", b'"1.5"'), b'{"bytecode": "?"}']
)
def test_a_kernel_of_another_form_stops_itself_alone(unit: bytes) -> None:
    (claim,) = claims_of(b'{"items": [{"kernel": "k", "launch": "0", "unit": ' + unit + b"}]}").items or ()
    with pytest.raises(msgspec.DecodeError):
        unit_claimed(claim)


@pytest.mark.parametrize(
    "item", [b'{"kernel": 1, "launch": "0"}', b'{"kernel": "k"}', b'{"launch": "0", "line": true}']
)
def test_what_has_no_name_is_no_kernel(item: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        claims_of(b'{"items": [' + item + b"]}")


class DataType:
    """Stands for cuda.tile's own."""

    def __str__(self) -> str:
        return "float32"


def test_parameters_come_back() -> None:
    each = KernelParameter("x[0]", scalar_dtype="i64", static_shape=(-1, 2))
    whole = KernelParameter(
        "x",
        "float",
        constant=True,
        has_default=True,
        default=(1, -inf, "é", None),
        items=(each,),
        index_bits=64,
        each=each,
    )
    assert parameter_of(parameter_words(whole, {DataType: "ct"})) == whole


def test_launches_hold_floats_that_json_has_not() -> None:
    assert heard(plain([inf, -inf, 0.5, True, 1 << 80, "x", {"a": None}], {DataType: "ct"})) == [
        *(inf, -inf, 0.5, True, 1 << 80, "x", {"a": None})
    ]
    back = heard(plain(nan, {DataType: "ct"}))
    assert isinstance(back, float)
    assert isnan(back)
    assert [said(inf), said(-inf), said(nan), said(2), said(0.5)] == ["inf", "-inf", "nan", 2, 0.5]


@pytest.mark.parametrize("value", ["\0inf", "\ud800", object(), 1 << 2000, "x" * 5000, [[]] * 5000, {1: 2}])
def test_what_no_launch_holds_is_not_sent(value: object) -> None:
    with pytest.raises(NotPlain):
        plain(value, {DataType: "ct"})
