"""What cuTile refuses reaches the author as cuTile says it, with the line, however the launch is described."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tileverify.gating import GatedKernel, GateOptions, Sandbox, Submission, judge

LAUNCH = 'args={"x": "f32[N]", "out": "f32[N]"}, grid=["cdiv(N, 64)"]'
SPEC = '[[launch]]\nkernel = "k"\ngrid = ["cdiv(N, 64)"]\nargs = { x = "f32[N]", out = "f32[N]" }\n'
START = "import cuda.tile as ct\nimport tileverify\n\n"
KERNEL = "@ct.kernel\ndef k(x, out):\n    i = ct.bid(0)\n    t = ct.load(x, (i,), (64,))\n"
WRONG = {  # source, line of the error, a word of cuTile's sentence
    "shape": (KERNEL + "    ct.store(out, (i,), ct.reshape(t, (63,)))\n", "", "63", 8),
    "rank": (KERNEL + "    ct.store(out, (i, i), t)\n", "", "rank", 8),
    "attribute": (KERNEL + "    ct.store(out, (i,), h(t))\n", "def h(t):\n    return t.entries\n\n", "entries", 5),
    "data-type": (KERNEL + "    ct.store(out, (i,), t << 1)\n", "", "float32", 8),
    "format": (KERNEL + '    ct.printf("%s", t)\n    ct.store(out, (i,), t)\n', "", "%s", 8),
    "dimension": (KERNEL + "    ct.store(out, (i,), t + ct.zeros((32,), ct.float32))\n", "", "32", 8),
    "recursion": (KERNEL + "    ct.store(out, (i,), h(t))\n", "def h(t):\n    return h(t + 1)\n\n", "do not end", 5),
    "endless": (KERNEL + "    while True:\n        t = t + 1.0\n    ct.store(out, (i,), t)\n", "", "never left", 8),
    "endless-count": (
        KERNEL + "    n = 0\n    while 1 < 2:\n        n += 1\n        t = t * 2.0\n    ct.store(out, (i,), t)\n",
        "",
        "never left",
        None,
    ),
    "mutual-recursion": (
        KERNEL + "    ct.store(out, (i,), g(t))\n",
        "def g(t):\n    return h(t)\n\ndef h(t):\n    return g(t)\n\n",
        "do not end",
        None,
    ),
}
WAYS = ("vouched", "own", "decorated")


def judged(name: str, way: str, sandbox: Sandbox) -> tuple[GatedKernel, str, int | None]:
    body, helper, word, line = WRONG[name]
    decorator = f"@tileverify.launch({LAUNCH})\n" * (way == "decorated")
    source = START + helper + decorator + body
    if line is not None:
        line += bool(decorator and not helper)
    options = GateOptions(spec=SPEC if way == "vouched" else None, hints=False)
    submission = Submission(source.encode(), "made up.py", SPEC if way == "own" else None)
    (kernel,) = judge(submission, options, sandbox).kernels
    return kernel, word, line


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", WRONG)
def test_a_compile_error_is_told_as_one(name: str, way: str, one_sandbox: Sandbox) -> None:
    kernel, word, line = judged(name, way, one_sandbox)
    (reason,) = kernel.reasons
    assert (kernel.verdict, reason.id) == ("error", "TV001")
    assert word in reason.message
    if line is not None:
        assert reason.line == line


def test_a_name_that_nobody_has_is_told_so(one_sandbox: Sandbox) -> None:
    source = START + KERNEL + "    ct.store(out, (i,), ct.softmax(t))\n"
    made_up = judge(Submission(source.encode()), GateOptions(spec=SPEC, hints=False), one_sandbox).kernels[0].reasons
    assert [str(each) for each in made_up] == [
        "module-name: the module 'cuda.tile' has no 'softmax' (line 8, column 25)"
    ]
    there = source.replace("ct.softmax", "ct.launch")
    refused = judge(Submission(there.encode()), GateOptions(spec=SPEC, hints=False), one_sandbox).kernels[0].reasons
    assert refused == (replace(made_up[0], message="'launch' of 'cuda.tile' may not be named"),)
