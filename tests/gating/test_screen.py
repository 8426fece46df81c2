"""The screen: what it refuses, by reason and place, and that it lets honest kernels through."""

from __future__ import annotations

from pathlib import Path

import pytest

import tileverify.corpus
from tileverify.gating import screen

HEAD = "import cuda.tile as ct\nimport math\nfrom dataclasses import dataclass, field\n"

REFUSED = {
    "import": ["import os", "import numpy", "from os import path", "from . import x", "from .. import y",
               "from cuda.tile import launch", "from cuda.tile import *", "from math import factorial",
               "import cuda.tile.compilation", "from cuda import lang"],
    "module-name": ["x = ct.launch", "x = ct.compilation", "x = ct.tune", "N = math.factorial(5)",
                    "def f():\n    return ct.launch"],
    "module-value": ["x = ct", "def f():\n    return ct", "x = (math, 1)"],
    "rebinding": ["import math as ct", "math = 3", "from math import pi as ct",
                  "from cuda.tile import cdiv as math", "eval = 1", "open: int = 2", "(a, (b, getattr)) = (1, (2, 3))",
                  "@dataclass\nclass type:\n    x: int = 1"],
    "module-statement": ["while True: pass", "for i in (1,): pass", "if 1: x = 2", "1 / 0", "print(1)", "x = 1; del x",
                         "a.b = 1", "x[0] = 1", "raise ValueError", "async def f(): pass", "with x: pass",
                         "try:\n    pass\nfinally:\n    pass", "x += 1", "match 1:\n    case 1: pass", "global x",
                         "x = 1\n'text'", "(ct.load).x = 3"],
    "module-string": ["x = 'os'", "x = ('a', 1)", "x = b'os'"],
    "string-annotation": ["def f(x: 'evil()'): pass", "def f() -> 'evil()': pass", "x: 'evil()' = 1",
                          "def f():\n    x: 'evil()' = 1"],
    "import-call": ["x = open(1)", "x = f()\ndef f(): pass", "def f(x=g()): pass\ndef g(): pass",
                    "x = max(1, 2, key=f)\ndef f(x): pass",
                    "def h(): pass\n@dataclass\nclass A:\n    x: int = field(default_factory=h)",
                    "x = ct.full((1,), 0, ct.int32)", "x = range(3)", "x = int.from_bytes(1)"],
    "builtin": [f"def f(x):\n    return {name}(x)" for name in
                ("getattr", "setattr", "eval", "exec", "open", "compile", "globals", "locals", "vars", "dir", "type",
                 "super", "object", "input", "breakpoint", "memoryview", "help", "id", "hasattr", "delattr", "iter")]
               + ["@dataclass\nclass A:\n    eval: int = 1\ndef f(x):\n    return eval(x)",
                  "def f():\n    return (lambda eval=eval: eval)()", "def f():\n    return [open for open in (open,)]",
                  "def f():\n    return lambda a, *, b=getattr: b"],
    "dunder": ["__all__ = ()", "def __getattr__(name): pass", "x = ().__class__", "def f():\n    return __import__",
               "def f(__x): pass", "import math as __builtins__"],
    "attribute": ["x = ().__class__", "def f(x):\n    return x._y", "def f(x):\n    x.y = 1",
                  "def f(x):\n    return x.mro",
                  "def f(x):\n    return x.gi_frame", "def f(x):\n    return '{0}'.format(x)",
                  "def f(x):\n    return x.pyfunc"],
    "decorator": ["@print\ndef f(): pass", "@ct.load\ndef f(): pass", "@(lambda f: f)\ndef f(): pass",
                  "@ct.kernel.x\ndef f(): pass", "def g(): pass\n@g\ndef f(): pass",
                  "from tileverify import launch\n@launch(1, 2, 3, 4)\ndef f(): pass",
                  "from tileverify import launch\n@launch\ndef f(): pass",
                  "def f():\n    @ct.kernel\n    def g(): pass", "@staticmethod\ndef f(): pass"],
    "class": ["class A: pass", "@dataclass\nclass A(object): pass", "@dataclass\nclass A(metaclass=int): pass",
              "@dataclass\nclass A:\n    def f(self): pass", "@dataclass\nclass A:\n    x = 1",
              "@ct.kernel\nclass A: pass"],
    "statement": ["def f():\n    import os", "def f():\n    global x", "def f():\n    class A: pass",
                  "def f():\n    try:\n        pass\n    except Exception:\n        pass", "def f():\n    raise x",
                  "def f():\n    with x: pass", "def f(x):\n    del x"],
    "expression": ["def f():\n    yield 1", "def f():\n    return (x := 1)", "x = lambda: 1", "x = [i for i in (1,)]",
                   "def f():\n    return {1}", "async def g(): pass\ndef f():\n    return await_"][:5],
    "name": ["def f():\n    return nowhere", "x = y"],
    "literal-size": ["x = 10**10**10", "x = 1 << 10**9", "x = (1,) * 10**9", "def f():\n    return 'a' * 10**9",
                     "N = 2**600\nM = N * N", "x = 7**7**7**7", "x = (" + "1,\n" * 5000 + ")",
                     "def f():\n    return [0] * 999999999"],
    "literal": ["def f():\n    return b'x'"],
    "identifier": ["def f\u00e9(): pass", "\u0445 = 1", "def f(" + "x" * 300 + "): pass"],
    "control-character": ["x = 1 # \x1b[2J", "# \u202e", "# \u200b", "x = 1\x00", "x = 1\x0c", "x = 1\ry = 2",
                          "def f():\n    return '\\x1b]0;owned\\x07'", "def f():\n    return '\\u202e'"],
    "line-length": ["-" * 5000 + "1"],
    "syntax": ["def", "(" * 300 + ")" * 300, "x = = 1"],
    "nesting": ["x = " + "-\\\n" * 2000 + "1", "x = " + "(" * 90 + "1" + ",)" * 90],
}  # fmt: skip

SOURCES = [(reason, source) for reason, sources in REFUSED.items() for source in sources]


@pytest.mark.parametrize(("reason", "source"), SOURCES, ids=[f"{r}-{n}" for n, (r, _) in enumerate(SOURCES)])
def test_refuses(reason: str, source: str) -> None:
    reasons = screen(HEAD + source)
    assert reason in {each.id for each in reasons}, reasons
    assert all(each.line is not None and each.message and "\n" not in str(each) for each in reasons)


def test_refuses_bytes_that_are_no_text() -> None:
    assert [each.id for each in screen(b"x = 1\n\xff")] == ["encoding"]
    # The declared encoding is not heeded: these are the characters of the source.
    assert screen("# -*- coding: rot13 -*-\nvzcbeg bf\n")
    assert [each.id for each in screen(b"#" * (1 << 20))] == ["source-size"]
    assert [each.id for each in screen("x = 1\n" * 40_000)] == ["source-size"]


def test_names_the_place() -> None:
    (reason,) = screen("import cuda.tile as ct\n\n\ndef f(x):\n    return  eval(x)\n")
    assert (reason.id, reason.line, reason.column) == ("builtin", 5, 12)
    assert str(reason) == "builtin: the builtin 'eval' may not be named (line 5, column 13)"


def test_tells_a_few_reasons_of_many() -> None:
    assert len(screen("import os\n" * 100)) == 20


HONEST = sorted(tileverify.corpus.ROOT.glob("*/*.py"))


@pytest.mark.parametrize("path", HONEST, ids=lambda path: path.stem)
def test_lets_the_corpus_through(path: Path) -> None:
    assert screen(path.read_bytes()) == ()


@pytest.mark.parametrize(
    "source",
    [
        "from __future__ import annotations\nimport cuda.tile\n@cuda.tile.kernel\ndef k(x):\n    cuda.tile.bid(0)\n",
        "from cuda import tile as ct\nfrom typing import Annotated\nN = 1 << 10\nT: Annotated[int, 3] = -N\n",
        HEAD + "@dataclass(frozen=True)\nclass Config:\n    tile: int = 128\n    stages: int = 2\nC = Config(64, 3)\n",
        HEAD + "@ct.kernel(num_ctas=ct.ByTarget(sm_100=2, default=1))\ndef k(x, n: ct.Constant[int] = 4): pass\n",
        HEAD + "def add(a, b):\n    '''Both.'''\n    return a + b\ndef f(x):\n"
        "    s = ct.reduce(x, axis=0, func=lambda a, b: a + b, identity=0)\n"
        "    return add(s, [i for i in range(3)][0])\n",
        HEAD + "import cuda.tile as ct\nfrom math import pi\nfrom math import pi\nN = pi\n",
        HEAD + "def f(input, id=3):\n    type = input + id\n    return (lambda min, max=type: min + max)(type)\n",
        HEAD + "def f(x):\n    return [a + b for a in x for b in range(3) if a > b]\n",
        HEAD + "def f(x):\n    def inner(y):\n        return y + z\n    z = x.shape[0] ** 2\n    return inner(z)\n",
        "from tileverify import launch\nimport cuda.tile as ct\n@launch(args={'x': 'f32[N]'}, grid=['cdiv(N, 128)'])\n"
        "@ct.kernel\ndef k(x):\n    ct.printf('%d', ct.bid(0))\n",
    ],
)
def test_lets_through(source: str) -> None:
    assert screen(source) == ()
