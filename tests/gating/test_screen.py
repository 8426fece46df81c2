"""The screen: what it refuses, by reason and place, and that it lets honest kernels through."""

from __future__ import annotations

import ast
import copy
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tileverify.corpus
from tileverify.gating import screen
from tileverify.gating.screen_vocabulary import MODULES
from tileverify.gating.triton_vocabulary import TRITON_MODULES

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
    "annotation": ["@dataclass\nclass A:\n    s: str = 'evil()'\ndef f(x: A.s): pass", "def f(x: 1): pass",
                   "T = (int, 1)\ndef f(x: T): pass", "T = int\nT = float\ndef f(x: T): pass",
                   "def f(x: g): pass\ndef g(): pass", "def f(x: max): pass", "def f(x: tuple[g]): pass\ndef g(): pass",
                   "def f(x: int.real): pass", "def f(x: [int]): pass", "def f(x: ct.cdiv(3, 2)): pass",
                   "from typing import Annotated\nN = (1,)\ndef f(x: Annotated[int, N]): pass",
                   "@dataclass\nclass A:\n    T: int = 1\n    y: T = 2\nT = int"],
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


# ------------------------------------------------------------------------------------- by enumeration
EVERYWHERE = """from __future__ import annotations
import math
import cuda.tile as ct
from typing import Annotated, Optional, Union
from dataclasses import dataclass, field
from tileverify import launch
N = 4 + -3 if True and 1 < 2 else max(5, 6)
M: int = (1, 2)[0]
T = ct.Constant[int]
S = Annotated[int, ct.ConstantAnnotation(), 3, (-1,)]

@dataclass(frozen=True)
class A:
    n: int = 3
    m: tuple[int, ...] = field(default=(1, 2))

@launch(args={"x": "f32[N]"}, grid=["1"])
@ct.kernel(num_ctas=ct.ByTarget(sm_100=2, default=1))
def k(x: T, /, y: S | None = None, *more: Union[int, float], z: Optional[int] = N, **rest: list[int]) -> None:
    def inner(u: int = 3) -> int:
        return u + 1
    v: int = x.shape[0]
    v = v + 1
    v += 2
    for i in range(3):
        if v > 3:
            continue
    else:
        pass
    while v and not i:
        break
    assert v, f"{v:3}"
    w = [a + b for a in (1, 2) for b in range(3) if a > b]
    r = ct.reduce(x, axis=0, func=lambda a, b=1, *c, d=2: a + b, identity=0)
    p = print(*w, sep="", **{"end": ""})
    return x[0:1:2, ...] if v else -r
"""


def expressions(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """All places of a tree where an expression stands or may stand: node, field, place in the field's list."""
    for node in ast.walk(tree):
        for name, kind in getattr(type(node), "_field_types", KINDS.get(type(node), {})).items():
            value = getattr(node, name, None)
            if isinstance(value, list) and (any(isinstance(each, ast.expr) for each in value) or "expr" in str(kind)):
                yield from ((node, name, place) for place in range(len(value) + 1))
            elif isinstance(value, ast.expr) or (value is None and "expr" in str(kind)):
                yield node, name, None


KINDS: dict[type, dict[str, object]] = {}
for _kind in vars(ast).values():
    if isinstance(_kind, type) and issubclass(_kind, ast.AST):
        _texts = (_kind.__doc__ or "").partition("(")[2].rstrip(")").split(",")
        KINDS[_kind] = {each.split()[-1]: each for each in _texts if each.split()}
"""Fields by their declaration in the grammar, such as ``expr? value`` (from 3.13 on classes tell it themselves)."""


TRITON_EVERYWHERE = """from __future__ import annotations
import triton
import triton.language as tl
from triton.language.extra import libdevice
from tileverify import launch
HALF = tl.constexpr(0.5)
SIZE = triton.next_power_of_2(100) + triton.cdiv(7, 2)
CONFIGS = [triton.Config({"B": b}, num_warps=w) for b in (64, 128) for w in (2, 4) if b > w]

@triton.jit
def larger(a, b: tl.constexpr = 3):
    return tl.maximum(a, b)

@launch(args={"x": "f32[n]"}, grid=["1"])
@triton.autotune(configs=CONFIGS, key=["n"], reset_to_zero=["x"])
@triton.jit(do_not_specialize=["n"], noinline=False)
def k(x, n: tl.int32, B: tl.constexpr = SIZE):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=(at < n) & (n >= 0), other=0.0).to(tl.float32)
    for i in tl.static_range(2):
        if i > 1:
            continue
        v += libdevice.erf(v[None, :].trans().sum(axis=1)) * HALF
    while tl.sum(v, axis=0) > 1.0 and not n:
        v = -v if B == 64 else tl.math.exp(v)
    tl.device_assert(n > 0, f"{n}")
    tl.store(x + at, tl.reduce(v, 0, larger), mask=at < n)
"""


@pytest.mark.parametrize("everywhere", [EVERYWHERE, TRITON_EVERYWHERE], ids=["cutile", "triton"])
def test_every_expression_is_looked_at(everywhere: str) -> None:
    """Wherever the grammar has room for an expression, one that reaches for a file is refused."""
    assert screen(everywhere) == ()
    tree = ast.parse(everywhere)
    places = list(expressions(tree))
    tried = 0
    for number, (_, name, place) in enumerate(places):
        changed = copy.deepcopy(tree)
        node = list(expressions(changed))[number][0]
        evil = ast.Attribute(ast.Call(ast.Name("open", ast.Load()), [], []), "x", ast.Load())
        if place is None:
            setattr(node, name, evil)
        else:
            getattr(node, name)[place : place + 1] = [evil]
        try:
            text = ast.unparse(ast.fix_missing_locations(changed))
            ast.parse(text)
        except (SyntaxError, ValueError, AttributeError, TypeError, IndexError):
            continue  # no program has it there
        if "open" in text:
            tried += 1
            assert screen(text), (node, name, place, text)
    assert tried > 150


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are of Python 3.12")
@pytest.mark.parametrize("source", ["def f[T: open(1)](x: T): pass", "@dataclass\nclass A[T: open(1)]:\n    x: T",
                                    "def f[T](x: T): pass", "type X = open(1)"])  # fmt: skip
def test_type_parameters_are_refused(source: str) -> None:
    assert screen(HEAD + source)


TRITON_HEAD = "import triton\nimport triton.language as tl\nimport cuda.tile as ct\n"
IN_TRITON = "@triton.jit\ndef f(x):\n    return "


@pytest.mark.parametrize(
    ("reason", "source"),
    [
        ("import", "import triton.runtime"), ("import", "from triton import compile"), ("import", "import triton._C"),
        ("import", "from triton.language import core"), ("import", "from triton.language.extra.cuda import smid"),
        ("module-name", "x = tl.core"), ("module-name", "x = triton.knobs"), ("module-name", "x = tl.math"),
        ("module-name", IN_TRITON + "tl.extra.cuda.smid()"), ("module-value", IN_TRITON + "tl"),
        ("attribute", IN_TRITON + "x.handle"), ("attribute", IN_TRITON + "f.fn"), ("attribute", "x = tl.sum.src"),
        ("attribute", "S = tl.sum\nx = S.fn"), ("attribute", IN_TRITON + "tl.sum.get_capture_scope()"),
        ("builtin", IN_TRITON + "getattr(x, 'y')"), ("import-call", "k = triton.jit(max)"),
        ("inline-assembly", IN_TRITON + "tl.inline_asm_elementwise('', '', [x], tl.int32, False, 1)"),
        ("inline-assembly", IN_TRITON + "tl.inline_asm_elementwise('', '', [x], tl.int32, is_pure=x, pack=1)"),
        ("mixed-languages", IN_TRITON + "ct.bid(0)"), ("mixed-languages", "@ct.kernel\ndef f(x):\n    tl.store(x, 1)"),
        ("mixed-languages", "def g(x):\n    return x\n" + IN_TRITON + "g(x)"),
        ("mixed-languages", "@triton.jit\ndef g(x):\n    return x\ndef f(x):\n    return g(x)"),
        ("decorator", "@triton.jit(repr=max)\ndef f(x): pass"), ("decorator", "@triton.heuristics({})\ndef f(x): pass"),
        ("decorator", "@triton.jit(do_not_specialize=['''\ndef f(x): pass'''])\ndef f(x): pass"),
        ("decorator", "@triton.jit(do_not_specialize=['n m'])\ndef f(x): pass"),
        ("decorator", "@triton.autotune([triton.Config({'B': 1})], ['n'], None)\n@triton.jit\ndef f(x): pass"),
        ("decorator", "C = [triton.Config({'B': 1}, pre_hook=max)]"), ("module-string", "C = {'B': 1}"),
        ("rebinding", "C = [triton.Config({'B': b}) for (b, max) in ((1, 2),)]"),
        ("rebinding", "C = [triton.Config({'B': 1}) for tl in (1,)]"), ("expression", "C = [b for b in (1, 2)]"),
    ],
)  # fmt: skip
def test_refuses_in_triton(reason: str, source: str) -> None:
    reasons = screen(TRITON_HEAD + source + "\n")
    assert reason in {each.id for each in reasons}, reasons
    assert all(each.line is not None and each.message and "\n" not in str(each) for each in reasons)


def test_names_of_triton_are_there() -> None:
    pytest.importorskip("triton")
    for module, names in TRITON_MODULES.items():
        found = importlib.import_module(module)
        assert not [name for name in names if not hasattr(found, name)], module


def test_no_listed_name_is_a_text() -> None:
    """Any of them may be an annotation, and a text there would be evaluated."""
    for module, names in MODULES.items():
        if module.startswith("triton") and importlib.util.find_spec("triton") is None:
            continue
        if module != "tileverify":
            found = importlib.import_module(module)
            assert not [name for name in names if isinstance(getattr(found, name, None), str | bytes)]


@pytest.mark.parametrize("hint", ["typing.ForwardRef('evil()')", "ForwardRef", "NewType", "TypeVar", "Callable",
                                  "Generic", "NamedTuple", "TypedDict", "get_type_hints", "cast"])  # fmt: skip
def test_what_makes_types_of_text_is_not_listed(hint: str) -> None:
    name = hint.partition("(")[0].removeprefix("typing.")
    assert screen(f"from typing import {name}\ndef f(x: {name}): pass")
    assert screen(f"import typing\ndef f(x: typing.{name}): pass")


@pytest.mark.parametrize(
    "source",
    [
        "from __future__ import annotations\nimport cuda.tile\n@cuda.tile.kernel\ndef k(x):\n    cuda.tile.bid(0)\n",
        "from cuda import tile as ct\nfrom typing import Annotated\nN = 1 << 10\nT: Annotated[int, 3] = -N\n",
        HEAD + "@dataclass(frozen=True)\nclass Config:\n    tile: int = 128\n    stages: int = 2\nC = Config(64, 3)\n",
        HEAD
        + "from typing import Annotated, Optional\nT = Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(0,))]"
        "\ndef f(x: T, y: Optional[ct.Constant[tuple[int, ...]]], z: int | None = None) -> None: pass\n",
        HEAD
        + "@dataclass\nclass A:\n    mode: str = 'fast'\ndef f(a: A, b: ct.IndexedWithInt64):\n    return a.mode\n",
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
