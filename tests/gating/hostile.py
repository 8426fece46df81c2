"""Submissions that mean harm.  Each ends with an honest kernel, so that nothing but the harm speaks against it.

``{file}`` is a file that must not be read or changed, ``{folder}`` a folder that must stay as it is, ``{port}`` a local
port that listens.  ``ALONE`` are those that the sandbox, without the screen, has nothing to hold against: they reach
for nothing, or what they do has no effect outside of their own process.
"""

from __future__ import annotations

from typing import Final

HONEST: Final = """
import cuda.tile as ct

@ct.kernel
def k(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(128,)))
"""

_FORGE: Final = """
import cuda.tile.compilation as c
def forged(kernel, signatures, output, **options):
    output.write({bytes})
c.export_kernel = forged
import cuda.tile as ct
ct.compilation.export_kernel = forged
"""

_MAGIC: Final = r"b'\x7fTileIR\0'"


def _forge(expression: str) -> str:
    return _FORGE.replace("{bytes}", expression)


FILES: Final = {
    "reads-a-file": "x = open('{file}').read()",
    "reads-with-os": "import os\nx = os.read(os.open('{file}', os.O_RDONLY), 100)",
    "reads-with-pathlib": "from pathlib import Path\nx = Path('{file}').read_text()",
    "reads-and-swallows": "try:\n    x = open('{file}').read()\nexcept Exception:\n    pass",
    "reads-with-io": "import io\nx = io.FileIO('{file}').readall()",
    "reads-with-linecache": "import linecache\nx = linecache.getlines('{file}')\nassert x, 'nothing'",
    "reads-with-numpy": "import numpy\nx = numpy.fromfile('{file}', dtype='u1')",
    "reads-with-import": "import sys\nsys.path.insert(0, '{folder}')\nimport canary",
    "reads-the-environment": "import os\nx = os.environ['TILEVERIFY_TEST_SECRET']",
    "reads-proc": "x = open('/proc/self/environ').read()",
    "reads-memory": "x = open('/proc/self/mem', 'rb')",
    "writes-a-file": "open('{folder}/new', 'w').write('x')",
    "overwrites-a-file": "open('{file}', 'w').write('x')",
    "removes-a-file": "import os\nos.remove('{file}')",
    "removes-a-tree": "import shutil\nshutil.rmtree('{folder}')",
    "renames-a-file": "import os\nos.rename('{file}', '{file}.old')",
    "makes-a-link": "import os\nos.symlink('{file}', '{folder}/link')",
    "makes-a-hard-link": "import os\nos.link('{file}', '{folder}/link')",
    "makes-a-folder": "import os\nos.makedirs('{folder}/a/b')",
    "makes-a-device": "import os\nos.mkfifo('{folder}/fifo')",
    "changes-rights": "import os\nos.chmod('{file}', 0)",
    "changes-times": "import os\nos.utime('{file}', (1, 1))",
    "makes-a-temporary-file": "import tempfile\nx = tempfile.NamedTemporaryFile(dir='{folder}', delete=False)",
    "opens-a-database": "import sqlite3\nsqlite3.connect('{folder}/db').execute('create table t (x)')",
    "memory-file": "import os\nx = os.memfd_create('x')",
}

NETWORK: Final = {
    "connects": "import socket\nsocket.create_connection(('127.0.0.1', {port}))",
    "connects-and-swallows": "try:\n    import socket\n    socket.create_connection(('127.0.0.1', {port}))\n"
    "except BaseException:\n    pass",
    "fetches": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:{port}/')",
    "native-socket": "import _socket\n_socket.socket().connect(('127.0.0.1', {port}))",
    "listens": "import socket\nsocket.create_server(('127.0.0.1', 0))",
}

PROCESSES: Final = {
    "runs-a-shell": "import os\nos.system('touch {folder}/new')",
    "runs-a-command": "import subprocess\nsubprocess.run(['touch', '{folder}/new'])",
    "runs-in-a-terminal": "import pty\npty.spawn(['touch', '{folder}/new'])",
    "replaces-itself": "import os\nos.execv('/bin/touch', ['touch', '{folder}/new'])",
    "spawns": "import os\nos.posix_spawn('/bin/touch', ['touch', '{folder}/new'], {})",
    "forks": "import os\nif os.fork() == 0:\n    open('{folder}/new', 'w')",
    "fork-bomb": "import os\nwhile True:\n    os.fork()",
    "fork-bomb-by-pools": "import multiprocessing\nfor i in range(1000):\n"
    "    multiprocessing.Process(target=print).start()",
    "thread-bomb": "import threading, time\nfor i in range(10000):\n"
    "    threading.Thread(target=time.sleep, args=(100,)).start()",
    "kills-its-parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
    "kills-everything": "import os\nos.kill(-1, 9)",
    "stops-its-parent": "import ctypes\nctypes.CDLL(None).kill(ctypes.CDLL(None).getppid(), 19)",
}

NATIVE: Final = {
    "calls-libc": "import ctypes\nctypes.CDLL(None).system(b'touch {folder}/new')",
    "opens-through-libc": "import ctypes\nctypes.CDLL(None).open(b'{folder}/new', 0o102, 0o600)",
    "forks-through-libc": "import ctypes\nctypes.CDLL(None).fork()",
    "makes-a-system-call": "import ctypes\nctypes.CDLL(None).syscall(41, 2, 1, 0)",
    "reads-a-null-pointer": "import ctypes\nctypes.string_at(0)",
    "unhooks-then-opens": "import ctypes, sys\nctypes.CDLL(None).PySys_AddAuditHook\nopen('{file}').read()",
    "traces-its-parent": "import ctypes\nctypes.CDLL(None).ptrace(16, ctypes.CDLL(None).getppid(), 0, 0)",
    "unshares": "import ctypes\nctypes.CDLL(None).unshare(0x10000000)",
    "pickles": "import pickle\npickle.loads(b'cos\\nsystem\\n(S\"touch {folder}/new\"\\ntR.')",
    "makes-code": "import types\nc = (lambda: 0).__code__\n"
    "(lambda: 0).__class__(c.replace(co_code=bytes(200), co_consts=()), {})()",
}

TRICKS: Final = {
    "dunder-import": "__import__('os').system('touch {folder}/new')",
    "getattr-import": "getattr(__builtins__, '__imp' + 'ort__')('os').system('touch {folder}/new')",
    "eval": 'eval(\'__import__("os").system("touch {folder}/new")\')',
    "exec": "exec('import os; os.system(\"touch {folder}/new\")')",
    "subclasses": "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen' or True][0]\n"
    "import sys\nsys.modules['posix'].system('touch {folder}/new')",
    "frames": "try:\n    1 / 0\nexcept Exception as e:\n"
    "    e.__traceback__.tb_frame.f_builtins['open']('{folder}/new', 'w')",
    "format-string": "x = '{0.__class__.__init__}'.format(1)\nopen('{folder}/new', 'w')",
    "decorator": "import os\n@os.system\ndef f(): pass\nos.system('touch {folder}/new')",
    "decorator-lambda": "@(lambda f: open('{folder}/new', 'w'))\ndef f(): pass",
    "default": "def f(x=open('{folder}/new', 'w')): pass",
    "annotation": "def f(x: open('{folder}/new', 'w')): pass",
    "string-annotation": 'import cuda.tile as ct\n@ct.kernel\ndef g(x: \'open("{folder}/new", "w")\'): pass',
    "class-body": "class A:\n    open('{folder}/new', 'w')",
    "metaclass": "class M(type):\n    def __new__(*a):\n        open('{folder}/new', 'w')\nclass A(metaclass=M): pass",
    "module-getattr": "def __getattr__(name):\n    open('{folder}/new', 'w')\n"
    "import sys\ngetattr(sys.modules[__name__], 'q')",
    "at-exit": "import atexit\natexit.register(open, '{folder}/new', 'w')\nimport sys\nsys.exit()",
    "finaliser": "class A:\n    def __del__(self):\n        open('{folder}/new', 'w')\nA()",
    "static-eval": "import cuda.tile as ct\n@ct.kernel\ndef g(x, out):\n"
    "    n = ct.static_eval(open('{folder}/new', 'w'))\n    ct.store(out, index=(ct.bid(0),), tile=n)\n",
    "launches": "import cuda.tile as ct\nimport tileverify, numpy\ntileverify.gate('import os', isolation='landlock')",
}

_WRITE: Final = "\"open('{folder}/new', 'w')\""


def _evaluated(before: str, expression: str = "eval({write})") -> str:
    """A kernel whose compilation evaluates ``expression``, behind what would make `eval` a name of the module's own."""
    return (
        f"import cuda.tile as ct\nfrom dataclasses import dataclass, field\n{before}\n@ct.kernel\ndef g(x, out):\n"
        f"    n = ct.static_eval({expression.replace('{write}', _WRITE)})\n"
        "    ct.store(out, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(128,)))\n"
    )


SCOPES: Final = {
    "rebinds-a-builtin": _evaluated("eval = eval"),
    "rebinds-in-a-tuple": _evaluated("(eval, N) = (eval, 1)"),
    "rebinds-with-an-annotation": _evaluated("eval: int = eval"),
    "field-named-as-a-builtin": _evaluated("@dataclass\nclass A:\n    eval: int = 1"),
    "default-of-a-lambda": _evaluated("", "(lambda eval=eval: eval({write}))()"),
    "keyword-default-of-a-lambda": _evaluated("", "(lambda *, eval=eval: eval({write}))()"),
    "first-iterator": _evaluated("", "[eval({write}) for eval in (eval,)]"),
    "factory-of-a-field": _evaluated(
        "@dataclass\nclass A:\n    breakpoint: int = 1\n"
        "@dataclass\nclass B:\n    x: int = field(default_factory=breakpoint)\nC = B()",
        "1",
    ),
}

OBJECTS: Final = {
    "class-pattern": "match ().__class__:\n    case type(__base__=o): pass\n"
    "[c for c in o.__subclasses__() if c.__name__ == '_wrap_close'][0]"
    ".__init__.__globals__['open']('{folder}/new', 'w')",
    "match-args": "class A:\n    __match_args__ = ('__class__',)\nmatch A():\n    case A(c): pass\n"
    "c.__init_subclass__.__self__\nopen('{folder}/new', 'w')",
    "init-subclass": "class A:\n    def __init_subclass__(cls): open('{folder}/new', 'w')\nclass B(A): pass",
    "set-name": "class D:\n    def __set_name__(self, owner, name): open('{folder}/new', 'w')\nclass A:\n    d = D()",
    "class-getitem": "class A:\n    def __class_getitem__(cls, i): open('{folder}/new', 'w')\ndef f(x: A[1]): pass",
    "mro-entries": "class A:\n    def __mro_entries__(self, b):\n        open('{folder}/new', 'w')\n        return ()\n"
    "class B(A()): pass",
    "prepare": "class M(type):\n    @classmethod\n    def __prepare__(*a):\n        open('{folder}/new', 'w')\n"
    "        return {}\nclass A(metaclass=M): pass",
    "type-call": "type('A', (), {'__del__': lambda s: open('{folder}/new', 'w')})()",
    "type-of-a-type": "type('A', (type,), {'__call__': lambda *a: open('{folder}/new', 'w')})('B', (), {})()",
    "post-init": "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 1\n"
    "    def __post_init__(self): open('{folder}/new', 'w')\nA()",
    "default-factory": "from dataclasses import dataclass, field\n@dataclass\nclass A:\n"
    "    x: int = field(default_factory=lambda: open('{folder}/new', 'w'))\nA()",
    "walrus-in-a-default": "def f(x=(o := open)): pass\no('{folder}/new', 'w')",
    "evaluated-annotations": "from __future__ import annotations\nimport cuda.tile as ct\n@ct.kernel\n"
    "def g(x: open('{folder}/new', 'w')): pass",
    "annotation-of-a-name": "x: open('{folder}/new', 'w') = 1",
    "f-string-attribute": "x = f'{().__class__.__base__.__subclasses__()}'\nx = f\"{open('{folder}/new', 'w')}\"",
    "format-map": "class D(dict):\n    def __missing__(self, k): open('{folder}/new', 'w')\n'{a}'.format_map(D())",
    "generator-frame": "g = (i for i in ())\ng.gi_frame.f_builtins['open']('{folder}/new', 'w')",
    "coroutine-frame": "async def c(): pass\nk = c()\nk.cr_frame.f_builtins['open']('{folder}/new', 'w')",
    "closure-cell": "def f():\n    o = open\n    return lambda: o\n"
    "f().__closure__[0].cell_contents('{folder}/new', 'w')",
    "function-globals": "(lambda: 0).__globals__['__builtins__']['open']('{folder}/new', 'w')",
    "module-of-the-compiler": "import cuda.tile as ct\nct._execution.sys.modules['os'].system('touch {folder}/new')",
    "attribute-of-a-decorator": "import cuda.tile as ct\n@ct.kernel.__init__.__globals__['__builtins__']['exec']\n"
    "def f(): pass\nopen('{folder}/new', 'w')",
    "star-import": "from os import *\nsystem('touch {folder}/new')",
    "builtin-of-a-module": "import cuda.tile as ct\nct.__builtins__['open']('{folder}/new', 'w')",
    "print-to-an-object": "class A:\n    def write(self, t): open('{folder}/new', 'w')\nprint(1, file=A())",
    "sort-key": "sorted([1], key=lambda x: open('{folder}/new', 'w'))",
    "context-manager": "with open('{folder}/new', 'w') as x: pass",
    "deleter": "class A:\n    def __delitem__(self, k): open('{folder}/new', 'w')\ndel A()[0]",
    "operator": "class A:\n    def __add__(self, o): open('{folder}/new', 'w')\nx = A() + 1",
    "audit-hook": "import sys\nsys.addaudithook(lambda e, a: open('{folder}/new', 'w'))\nopen('{folder}/new', 'w')",
    "profiler": "import sys\nsys.setprofile(lambda *a: open('{folder}/new', 'w'))",
    "excepthook": "import sys\nsys.excepthook = lambda *a: open('{folder}/new', 'w')\n1 / 0",
}


def _hinted(hint: str, before: str = "") -> str:
    """A kernel whose hint evaluates to a text, which ``typing.get_type_hints`` evaluates in turn."""
    evil = "open('{folder}/new', 'w')"
    return (
        "import cuda.tile as ct\nfrom dataclasses import dataclass, field\n"
        "from typing import Annotated, Optional, Union\n"
        f'@dataclass\nclass A:\n    s: str = "{evil}"\n{before}\n@ct.kernel\ndef g(x: {hint}, out):\n'
        "    ct.store(out, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(128,)))\n"
    )


HINTS: Final = {
    "default-of-a-field": _hinted("A.s"),
    "default-of-a-field-of-an-object": _hinted("B.s", "B = A()"),
    "argument-of-a-dataclass": _hinted("B.s", "B = A(A.s)"),
    "text-by-another-name": _hinted("T", "T = A.s"),
    "text-in-an-expression": _hinted("T", "T = A.s if 1 else int"),
    "text-in-a-tuple": _hinted("T[0]", "T = (A.s, 1)"),
    "text-in-a-generic": _hinted("tuple[A.s, int]"),
    "text-in-a-list": _hinted("list[A.s]"),
    "text-in-a-constant": _hinted("ct.Constant[A.s]"),
    "text-in-a-union": _hinted("Union[int, A.s]"),
    "text-in-an-optional": _hinted("Optional[A.s]"),
    "text-annotated": _hinted("Annotated[A.s, 1]"),
    "text-of-a-call": _hinted("max(A.s, A.s)"),
    "text-of-a-string": _hinted("str", "@ct.kernel\ndef h(x: str(A.s)): pass"),
    "text-of-an-operator": _hinted("A.s + A.s"),
    "text-as-a-result": _hinted("int", "@ct.kernel\ndef h(x) -> A.s: pass"),
    "text-of-an-inner-function": _hinted(
        "int", "@ct.kernel\ndef h(x):\n    def inner(y: A.s): pass\n    ct.store(x, index=(0,), tile=inner(1))"
    ),
    "text-of-a-later-binding": "from __future__ import annotations\n" + _hinted("T", "T = int") + "T = A.s\n",
    "text-of-a-field-that-hides": _hinted("int", "T = int\n@dataclass\nclass B:\n    T: str = A.s\n    y: T = 1"),
    "text-of-a-field-of-hints": _hinted("int", "@dataclass\nclass B:\n    y: A.s = 1"),
    "text-in-another-slice": _hinted("(int, A.s)[1]"),
}
"""Annotations that are plain to see, and text all the same."""

BOMBS: Final = {
    "endless-import": "while True: pass",
    "endless-import-that-ignores-signals": "import signal\ntry:\n    signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
    "except BaseException: pass\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "sleeps": "import time\ntime.sleep(1000)",
    "memory-bomb": "x = bytearray(1 << 40)",
    "memory-bomb-in-steps": "x = []\nwhile True: x.append(bytearray(1 << 24))",
    "memory-bomb-swallowed": "x = []\nwhile True:\n    try: x.append(bytearray(1 << 26))\n    except MemoryError: pass",
    "recursion": "def f(): return f() + 1\nimport sys\nsys.setrecursionlimit(1 << 30)\nf()",
    "huge-integer": "x = 10 ** 10 ** 10",
    "huge-string": "x = 'a' * 10 ** 12",
    "huge-literal": "x = [" + "0," * 200_000 + "]",
    "many-kernels": "import cuda.tile as ct\nfor i in range(100000):\n    globals()[f'k{i}'] = ct.kernel(lambda: None)",
    "huge-output": "import os\nwhile True:\n    for fd in range(3, 64):\n        try: os.write(fd, b'x' * (1 << 20))\n"
    "        except OSError: pass",
    "huge-error": "raise ValueError('x' * (1 << 28))",
    "deep-nesting": "x = " + "(" * 150 + "1" + ")" * 150 + "\ny = " + "[" * 190 + "]" * 190,
    "deep-operators": "x = " + "not " * 800 + "1",
    "hexadecimal": "x = 0x" + "f" * 4000,
    "nested-tuples": "x = ((((1,) * 999,) * 999,) * 999,) * 999\ny = len(repr(x))",
    "folded-power": "x = 2 ** 10 ** 9 % 7",
    "folded-shift": "x = 1 << (1 << 36)",
    "deep-lambdas": "x = " + "lambda: " * 90 + "1",
    "huge-range": "x = list(range(1 << 40))",
    "regex": "import re\nre.match('(a*)*b', 'a' * 64)",
    "deep-attributes": "def f(x):\n    return x" + ".y" * 1000,
}

FORGERIES: Final = {
    "bytecode-that-is-none": _forge("b'nothing'"),
    "bytecode-cut-short": _forge(_MAGIC),
    "bytecode-of-zeros": _forge(_MAGIC + " + bytes(1 << 22)"),
    "bytecode-of-ones": _forge(_MAGIC + r" + b'\xff' * (1 << 16)"),
    "bytecode-too-large": _forge("bytes(1 << 27)"),
    "bytecode-huge-counts": _forge(_MAGIC + r" + b'\x0d\x04\x00\x00' + b'\x01' + b'\xff\xff\xff\xff\x0f' * 1000"),
    "answers-itself": "import os\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b'{\"items\": []}')\n"
    "    except OSError: pass\nos._exit(0)",
    "answers-nonsense": "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'[' * 100000)\n"
    "    except OSError: pass\nos._exit(0)",
    "answers-accepted": "import os\nfor fd in range(3, 64):\n    try:\n"
    '        os.write(fd, b\'{"items": [{"kernel": "k", "launch": "0", "verdict": "proved"}]}\')\n'
    "    except OSError: pass\nos._exit(0)",
    "answers-with-escapes": "import os\nfor fd in range(3, 64):\n    try:\n"
    '        os.write(fd, b\'{"reasons": [{"id": "x", "message": "\\\\u001b[2J"}]}\')\n'
    "    except OSError: pass\nos._exit(0)",
    "exits": "import os\nos._exit(0)",
    "exits-politely": "raise SystemExit(0)",
    "forged-name": "import cuda.tile as ct\n@ct.kernel\ndef g(x): pass\nglobals()['../../\\x1b[2J'] = g\n"
    "g._annotated_function.pyfunc.__qualname__ = '../../\\x1b[2J'",
    "forged-launches": "import cuda.tile as ct\n@ct.kernel\ndef g(x): pass\n"
    "g.__tileverify_launches__ = ('not', 'launches')",
    "forged-parameters": "import cuda.tile as ct\n@ct.kernel\ndef g(x): pass\ng._annotated_function.pysig = None",
    "replaces-the-prover": "import tileverify.pipeline as c\nc.check_unit = lambda *a: None\n"
    "import tileverify.gating.jobs.prove_job as p\np.prove_submission = lambda *a: None\nimport os\nos._exit(0)",
}

TERMINAL: Final = {
    "escapes-in-source": "# \x1b[2J\x1b]0;owned\x07",
    "escapes-in-a-string": "x = '\\x1b[2J'",
    "escapes-printed": "print('\\x1b[2J')",
    "escapes-in-an-error": "raise ValueError('\\x1b[2J\\x1b]0;owned\\x07')",
    "bidi": "x = 1 # \u202e } \u2066",
    "null-byte": "x = 1\x00",
    "byte-order-mark": "\ufeffx = 1",
    "tag-characters": "x = 1 # \U000e0065\U000e0076",
    "surrogate": "x = 1 # \udc80",
    "other-encoding": "# -*- coding: utf-7 -*-\n+AGkAbQBwAG8AcgB0 os",
}

_WRITES: Final = "open('{folder}/new', 'w')"


def _jitted(body: str, before: str = "") -> str:
    """A Triton kernel whose compilation runs ``body``."""
    lines = "".join(f"    {line}\n" for line in body.replace("{write}", _WRITES).split("\n"))
    return f"import triton\nimport triton.language as tl\n{before}\n@triton.jit\ndef g(x, n):\n{lines}"


def _tuned(arguments: str, before: str = "") -> str:
    """A Triton kernel with a decorator of these arguments."""
    return (
        f"import triton\nimport triton.language as tl\n{before}\n"
        f"@triton.autotune({arguments.replace('{write}', _WRITES)})\n"
        "@triton.jit\ndef g(x, B: tl.constexpr):\n    tl.store(x, B)\n"
    )


_CONFIG: Final = "configs=[triton.Config({'B': 64})], key=[]"
_SHELL: Final = ".get('inspect').sys.modules.get('os').system('touch {folder}/new')"

TRITON: Final = {
    "triton-driver": "from triton.runtime import driver\ndriver.active.get_current_device()",
    "triton-build": "from triton.runtime.build import compile_module_from_src\n"
    "compile_module_from_src('int x;', 'x', [], [], [])",
    "triton-cache": "from triton.runtime.cache import get_cache_manager\n"
    "get_cache_manager('0' * 64).put(b'x', 'new', binary=True)",
    "triton-compiler": "from triton.compiler import compile\nx = compile('{file}')",
    "triton-knobs": "import triton\ntriton.knobs.cache.dir = '{folder}'\ntriton.knobs.nvidia.ptxas.path",
    "triton-libtriton": "from triton._C.libtriton import ir\nx = ir.parse_mlir_module('{file}', ir.context())",
    "triton-testing": "import triton\nx = triton.testing.do_bench(lambda: open('{folder}/new', 'w'))",
    "triton-gluon": "from triton.experimental import gluon\nx = open('{file}')",
    "triton-interpreter": "from triton.runtime.interpreter import InterpretedFunction\n"
    "x = InterpretedFunction(open)('{folder}/new', 'w')",
    "triton-aggregate": "import triton\n@triton.aggregate\nclass A:\n    x: int\n"
    "    def __init__(self): open('{folder}/new', 'w')\nA()",
    "triton-core": "import triton.language as tl\nx = tl.core.inspect.sys.modules['os'].open('{file}', 0)",
    "kernel-of-open": "import triton\nx = triton.jit(open)('{folder}/new', 'w')",
    "kernel-runs-its-function": _jitted("g.fn({write})\ntl.store(x, n)"),
    "kernel-opens": _jitted("{write}\ntl.store(x, n)"),
    "kernel-gets-an-attribute": _jitted("getattr(tl, 'core').inspect.sys.modules.get('os').system('ls {folder}')"),
    "kernel-with-a-scope": _jitted(
        "h.get_capture_scope().get('__builtins__').get('open')('{folder}/new', 'w')", "@triton.jit\ndef h(x): pass"
    ),
    "kernel-with-the-library-s-scope": _jitted("tl.sum.get_capture_scope()" + _SHELL),
    "kernel-with-a-scope-by-name": _jitted("S()" + _SHELL, "S = tl.sum.get_capture_scope"),
    "kernel-with-a-parameter-s-scope": _jitted(
        "h(tl.sum)", "@triton.jit\ndef h(f):\n    f.get_capture_scope()" + _SHELL
    ),
    "kernel-with-globals": _jitted("g.fn.__globals__.get('__builtins__').get('open')('{folder}/new', 'w')"),
    "kernel-with-a-builtin-s-globals": _jitted("tl.load.__globals__" + _SHELL),
    "kernel-with-a-builder": _jitted("x.handle.get_context()\ntl.tensor(x.handle, x.type).handle.set_loc(x)"),
    "kernel-with-a-hidden-constant": _jitted("tl.constexpr(C).value({write})", "C = tl.constexpr(open)"),
    "kernel-with-a-library-by-path": _jitted(
        "tl.core.extern_elementwise('l', '{file}', [n], {(tl.int32,): ('f', tl.int32)}, True)\ntl.store(x, n)"
    ),
    "kernel-with-impure-assembly": _jitted(
        "tl.inline_asm_elementwise('st.global.u32 [0], $1;', '=r,r', [n], tl.int32, False, 1)\ntl.store(x, n)"
    ),
    "kernel-with-a-python-function": _jitted(
        "f()", "@triton.constexpr_function\ndef f():\n    open('{folder}/new', 'w')"
    ),
    "tuned-with-a-hook": _tuned("configs=[triton.Config({'B': 64}, pre_hook=lambda a: {write})], key=[]"),
    "tuned-with-a-hook-for-all": _tuned(_CONFIG + ", pre_hook={write}"),
    "tuned-and-pruned": _tuned(_CONFIG + ", prune_configs_by={'perf_model': {write}}"),
    "tuned-by-a-benchmark": _tuned(_CONFIG + ", do_bench={write}"),
    "tuned-into-a-file": _tuned(_CONFIG + ", cache_results=True"),
    "tuned-by-ir-from-a-file": _tuned("configs=[triton.Config({'B': 64}, ir_override='{file}')], key=[]"),
    "tuned-by-place": _tuned("[triton.Config({'B': 64})], [], {'early_config_prune': print}"),
    "tuned-by-a-table": _tuned("**{'configs': [triton.Config({'B': 64})], 'key': {write}}"),
    "tuned-by-what-rebinds": _tuned("configs=[triton.Config({'B': max('{folder}/new')}) for max in (open,)], key=[]"),
    "tuned-by-a-function": _tuned("configs=f(), key=[]", "def f():\n    return [open('{folder}/new', 'w')]"),
    "triton-heuristics": "import triton\nimport triton.language as tl\n"
    "@triton.heuristics({'B': lambda a: open('{folder}/new', 'w')})\n@triton.jit\ndef g(x, B: tl.constexpr):\n"
    "    tl.store(x, B)\n",
    "triton-repr": "import triton\n@triton.jit(repr=open)\ndef g(x): pass",
    "triton-metadata": "import triton\n@triton.jit(launch_metadata=open)\ndef g(x): pass",
    "kernel-in-a-string": "import triton\nimport triton.language as tl\n"
    "@triton.jit(do_not_specialize=['''\ndef g(x, B):\n    tl.core.inspect.sys.modules"
    '.get("os").system("touch {folder}/new")\n    """\'\'\'])\n'
    'def g(x, B: tl.constexpr):\n    tl.store(x, B)\n    # """\n',
    "kernel-behind-a-backslash": "import triton\nimport triton.language as tl\n@triton.jit(do_not_specialize=['\\\n"
    "def g(x, B): tl.core.inspect.sys.modules.get(\"os\").system(\"touch {folder}/new\")  # '])\n"
    "def g(x, B: tl.constexpr): tl.store(x, B)\n",
}  # fmt: skip
"""What reaches through Triton: its compiler runs names, attributes and calls of a kernel as Python does."""

PROGRAMS: Final = {
    **FILES, **NETWORK, **PROCESSES, **NATIVE, **TRICKS, **SCOPES, **OBJECTS, **HINTS, **BOMBS, **FORGERIES, **TERMINAL,
    **TRITON,
}  # fmt: skip

LIMITED: Final = {
    "doubled-tuples": "a0 = (1, 1)\n" + "".join(f"a{n} = a{n - 1} + a{n - 1}\n" for n in range(1, 60)),
    "repeated-by-name": "A = (1, 1)\nB = A * 1000000000000",
    "rounded": "x = round(7, -1000000000)",
    "repeated-in-a-kernel": _evaluated("A = (1, 1)", "len([i for i in A * 1000000000000])"),
    "exponential-static-eval": "import cuda.tile as ct\n@ct.kernel\ndef g(out):\n"
    "    n = ct.static_eval(sum(1 for i in range(10**5) for j in range(10**9)))\n"
    "    ct.store(out, index=(0,), tile=n)",
    "exponential-loop": "import cuda.tile as ct\n@ct.kernel\ndef g(x, out):\n"
    + "".join(f"{'    ' * n}for i{n} in ct.static_iter(range(64)):\n" for n in range(1, 6))
    + "    " * 6
    + "ct.store(out, index=(i1,), tile=ct.load(x, index=(i5,), shape=(128,)))",
    "giant-tile": "import cuda.tile as ct\n@ct.kernel\ndef g(out):\n"
    "    ct.store(out, index=(0,), tile=ct.full((1 << 40,), 0, ct.float32))",
    "triton-unrolled": _jitted("for i in tl.static_range(10**9):\n    tl.store(x + i, i)"),
    "triton-unrolled-by-five": _jitted(
        "".join(f"{'    ' * n}for i{n} in tl.static_range(64):\n" for n in range(5))
        + f"{'    ' * 5}tl.store(x + i0, i4)"
    ),
    "triton-power": _jitted("tl.store(x, tl.constexpr(3) ** 1000000000)"),
    "triton-recursion": _jitted("g(x, n + 1)"),
    "triton-giant-tensor": _jitted("tl.store(x + tl.arange(0, 1 << 40), n)"),
    "triton-assembly-that-stores": _jitted(
        "y = tl.inline_asm_elementwise('st.global.u32 [$1], $1;', '=r,r', [n], tl.int32, True, 1)\ntl.store(x, y)"
    ),
}
"""Nothing that the screen has a rule against, but too much of it: the limits of the sandbox stop these."""

ALONE: Final = frozenset(
    (
        "escapes-in-source", "escapes-in-a-string", "escapes-printed", "bidi", "tag-characters", "byte-order-mark",
        "deep-nesting", "deep-operators", "deep-lambdas", "hexadecimal", "factory-of-a-field",
        "huge-literal", "text-of-a-field-that-hides", "text-of-a-field-of-hints",
        "tuned-with-a-hook", "tuned-into-a-file", "tuned-by-ir-from-a-file", "tuned-by-place", "triton-heuristics",
        "triton-metadata",
    )
)  # fmt: skip
"""Nothing but the screen refuses these."""
