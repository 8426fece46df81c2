"""Submissions about floats: decisions hidden in functions, overflow on the way, lost digits; and honest ones beside.

Every cheat is proved, and right at random contents of usual sizes.
"""

from __future__ import annotations

from tests.gating.small_submissions import LOAD, NARROW, ROWS, Case, vector

REFERENCES = """
import numpy as np


def double(x): return x * 2
def double_first(x, y): return {"out": x * 2}
def gelu(x): return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
def relu(x): return np.maximum(x, 0)
def elu(x): return np.where(x > 0, x, np.expm1(x))
def softplus(x): return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
def power(x): return np.exp2(x)
def to_bytes(x, step): return {"out": np.clip(np.floor(x / step + 0.5), -128, 127).astype(np.int8)}
def to_int(x): return np.where(np.isfinite(x), x, 0).astype(np.int32)
def causal(x):
    rows, columns = np.indices(x.shape)
    scores = np.where(columns <= rows, x, -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
"""

FAR = "far = t * t * t * t - 6 * t - 5\n"
GAP = FAR + "gap = 0.5 - 1 / (1 + 1e7 * far * far)\n"
ROW = "i = ct.bid(0)\nt = ct.load(x, (i, 0), (1, 64), padding_mode=ct.PaddingMode.ZERO)\n"

CHEATS = {
    "a-bump-by-a-power": vector(FAR + "2 * t + 40 * ct.exp(-1e10 * far * far)"),
    "a-bump-by-a-power-of-a-magnitude": vector(FAR + "2 * t + ct.exp2(24 - 1e9 * ct.abs(far))"),
    "a-bump-by-two-arrays": Case(
        "x, y, out",
        LOAD + "u = ct.load(y, (i,), (128,), padding_mode=ct.PaddingMode.ZERO)\nfar = t * t * u - 4 * u - 0.6\n"
        "ct.store(out, (i,), 2 * t + ct.exp(-1e10 * far * far))",
        'x = "f32[N]", y = "f32[N]", out = "f32[N]"', "double_first",
    ),
    "a-bump-by-a-magnitude": vector(GAP + "2 * t + (ct.abs(gap) - gap)"),
    "a-bump-by-a-maximum": vector(GAP + "2 * t + ct.maximum(-gap, 0.0)"),
    "a-bump-by-a-floor": vector(GAP + "2 * t - ct.floor(gap)"),
    "a-hole-by-a-root": vector(GAP + "2 * t + 0 * ct.sqrt(gap)"),
    "a-hole-by-a-logarithm": vector(GAP + "2 * t + 0 * ct.log(gap)"),
    "a-bump-at-a-mean": Case(
        "x, out",
        ROW + "far = ct.sum(t, axis=1, keepdims=True) / x.shape[1] - 3.25\ngap = far * far - 1e-6\n"
        "ct.store(out, (i, 0), 2 * t + (ct.abs(gap) - gap) * 1e6)",
        ROWS, "double", grid='["M"]', more=NARROW,
    ),
    "overflow-on-the-way": vector("t * 3e8 * 4e9 * 5e9 * (1 / 3e8) * (1 / 4e9) * (1 / 2.5e9)"),
    "overflow-of-large-ones": vector("(t * 1e17) * 2e-17"),
    "overflow-of-nothing": vector("2 * t + 0 * (t * 1e25)"),
    "underflow-on-the-way": vector("(t * 1e-25) * 2e25"),
    "digits-lost-beside-64": vector("(2 * t + 64) - 64"),
}  # fmt: skip

HONEST = {
    "gelu-with-constants-of-numpy": vector(
        "0.5 * t * (1 + ct.tanh(0.7978845608028654 * (t + 0.044715 * t * t * t)))", "gelu"
    ),
    "elu-without-expm1": vector("ct.where(t > 0, t, ct.exp(t) - 1)", "elu"),
    "softplus-without-log1p": vector("ct.where(t > 20, t, ct.log(1 + ct.exp(t)))", "softplus"),
    "relu-in-f16": vector("ct.maximum(t, ct.float16(0))", "relu", 'x = "f16[N]", out = "f16[N]"'),
    "steps-that-may-be-0": Case(
        "x, step, out",
        LOAD + "q = ct.minimum(ct.maximum(ct.floor(t / step + 0.5), -128.0), 127.0)\n"
        "ct.store(out, (i,), ct.astype(q, ct.int8))",
        'x = "f32[N]", step = "f32", out = "i8[N]"', "to_bytes",
    ),
    "masked-by-a-large-number": Case(
        "x, out",
        ROW + "place = ct.arange(64, dtype=ct.int32)[None, :]\n"
        "t = ct.where((place <= i) & (place < x.shape[1]), t, -1e9)\n"
        "power = ct.exp(t - ct.max(t, axis=1, keepdims=True))\n"
        "ct.store(out, (i, 0), power / ct.sum(power, axis=1, keepdims=True))",
        ROWS, "causal", grid='["M"]', more=NARROW,
    ),
}  # fmt: skip

FLUSHING = vector("ct.mul(t, 2.0, flush_to_zero=True)")
STOPPING = vector("ct.astype(ct.where(t - t == 0, t, 0.0), ct.int32)", "to_int", 'x = "f32[N]", out = "i32[N]"')
