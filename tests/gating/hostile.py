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
    "exponential-static-eval": "import cuda.tile as ct\n@ct.kernel\ndef g(out):\n"
    "    n = ct.static_eval(sum(1 for i in range(10**5) for j in range(10**9)))\n"
    "    ct.store(out, index=(0,), tile=n)",
    "exponential-loop": "import cuda.tile as ct\n@ct.kernel\ndef g(x, out):\n"
    + "".join(f"{'    ' * n}for i{n} in ct.static_iter(range(64)):\n" for n in range(1, 6))
    + "    " * 6
    + "ct.store(out, index=(i1,), tile=ct.load(x, index=(i5,), shape=(128,)))",
    "giant-tile": "import cuda.tile as ct\n@ct.kernel\ndef g(out):\n"
    "    ct.store(out, index=(0,), tile=ct.full((1 << 40,), 0, ct.float32))",
    "deep-nesting": "x = " + "(" * 150 + "1" + ")" * 150 + "\ny = " + "[" * 190 + "]" * 190,
    "deep-operators": "x = " + "not " * 800 + "1",
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
    "replaces-the-prover": "import tileverify.check as c\nc.check_unit = lambda *a: None\n"
    "import tileverify.gating.prove_job as p\np.prove_submission = lambda *a: None\nimport os\nos._exit(0)",
}

TERMINAL: Final = {
    "escapes-in-source": "# \x1b[2J\x1b]0;owned\x07",
    "escapes-in-a-string": "x = '\\x1b[2J'",
    "escapes-printed": "print('\\x1b[2J')",
    "escapes-in-an-error": "raise ValueError('\\x1b[2J\\x1b]0;owned\\x07')",
    "bidi": "x = 1 # \u202e } \u2066",
    "null-byte": "x = 1\x00",
    "other-encoding": "# -*- coding: utf-7 -*-\n+AGkAbQBwAG8AcgB0 os",
}

PROGRAMS: Final = {
    **FILES, **NETWORK, **PROCESSES, **NATIVE, **TRICKS, **BOMBS, **FORGERIES, **TERMINAL,
}  # fmt: skip

ALONE: Final = frozenset(
    ("escapes-in-source", "escapes-in-a-string", "escapes-printed", "bidi", "deep-nesting", "deep-operators")
)
"""Nothing but the screen refuses these."""
