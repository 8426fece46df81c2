"""Hand-made modules that reach every op, for every version that has it."""

from __future__ import annotations

from collections.abc import Callable

from tileverify.frontend.bytecode.builder import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    BodyBuilder,
    ModuleBuilder,
    constant,
    pointer,
    scalar,
    tile,
)
from tileverify.frontend.bytecode.location import Location
from tileverify.frontend.bytecode.model import (
    Bounded,
    DivBy,
    FloatAttribute,
    GatherScatterViewType,
    IntegerAttribute,
    Module,
    PartitionViewType,
    SameElements,
    StridedViewType,
    TensorViewType,
    Value,
)

from ...tiles import Parts

Version = tuple[int, int]
ZERO_F32 = FloatAttribute(F32, 0)
UNARY_FLOAT = ("absf", "ceil", "cos", "cosh", "exp", "floor", "log", "log2", "negf", "sin", "sinh", "tan", "tanh")
FLUSHING_UNARY = ("exp2", "rsqrt", "sqrt")
BINARY_FLOAT = ("fpowf", "remf")
FLUSHING_BINARY = ("addf", "divf", "maxf", "minf", "mulf", "subf")
BINARY_INTEGER = ("addi", "andi", "maxi", "mini", "mulhii", "muli", "ori", "remi", "shli", "shri", "subi", "xori")


def float_ops(version: Version) -> Module:
    module = ModuleBuilder(version)
    with module.entry("floats", [tile(F32)]) as f:
        x = f.constant(tile(F32, 8), 0x3F800000)
        h = f.constant(tile(F16, 4, 2), *range(8))
        for name in UNARY_FLOAT:
            x = f.op(name, s=x)
        for name in FLUSHING_UNARY:
            x = f.op(name, s=x)
            x = f.op(name, s=x, flags=["ftz"])
        for name in BINARY_FLOAT:
            f.op(name, lhs=h, rhs=h)
        for name in FLUSHING_BINARY:
            f.op(name, lhs=x, rhs=x, flags=["ftz"])
            f.op(name, lhs=x, rhs=x)
        for rounding in ("zero", "negative_inf", "positive_inf"):
            f.op("addf", lhs=x, rhs=x, rnd=rounding)
        f.op("divf", lhs=x, rhs=x, rnd="approx")
        f.op("divf", lhs=x, rhs=x, rnd="full", flags=["ftz"])
        f.op("sqrt", s=x, rnd="approx")
        f.op("maxf", lhs=x, rhs=x, flags=["nan"])
        f.op("fma", lhs=x, rhs=x, acc=x, flags=["ftz"], rnd="zero")
        f.op("fma", lhs=x, rhs=x, acc=x)
        for predicate in ("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than"):
            f.op("cmpf", lhs=x, rhs=x, pred=predicate, fcmp="ordered")
        f.op("cmpf", lhs=x, rhs=x, pred="greater_than_or_equal", fcmp="unordered")
        if version >= (13, 2):
            f.op("atan2", lhs=x, rhs=x)
            f.op("tanh", s=x, rnd="approx")
        if version >= (13, 3):
            f.op("exp", s=x, rnd="approx")
        if version >= (13, 4):
            f.op("fpowi", lhs=x, rhs=f.constant(tile(I32, 8), -2))
        f.op("return")
    return module.build()


def integer_ops(version: Version) -> Module:
    module = ModuleBuilder(version)
    with module.entry("integers", [tile(I32), tile(I64)]) as f:
        n, _ = f.parameters
        for name in BINARY_INTEGER:
            f.op(name, lhs=n, rhs=n)
        for overflow in ("nsw", "nuw", "nw"):
            f.op("addi", lhs=n, rhs=n, ovf=overflow)
            f.op("shli", lhs=n, rhs=n, ovf=overflow)
        for name in ("maxi", "mini", "remi", "shri"):
            f.op(name, lhs=n, rhs=n, sgn="signed")
        for rounding in ("zero", "negative_inf", "positive_inf"):
            f.op("divi", lhs=n, rhs=n, sgn="signed", rnd=rounding)
        f.op("divi", lhs=n, rhs=n, sgn="unsigned", rnd="positive_inf")
        f.op("absi", s=n)
        f.op("negi", s=n)
        if version >= (13, 2):
            f.op("negi", s=n, ovf="nsw")
        f.op("cmpi", lhs=n, rhs=n, pred="less_than", sgn="signed")
        f.op("cmpi", lhs=n, rhs=n, pred="not_equal", sgn="unsigned")
        f.op("return")
    return module.build()


def conversions(version: Version) -> Module:
    module = ModuleBuilder(version)
    with module.entry("conversions", [tile(I32), tile(F32), tile(pointer(F32))]) as f:
        n, x, p = f.parameters
        f.op("exti", s=n, sgn="signed", results=[tile(I64)])
        wide = f.op("exti", s=n, sgn="unsigned", results=[tile(I64)])
        f.op("trunci", s=n, results=[tile(I8)])
        f.op("trunci", s=n, ovf="nw", results=[tile(I16)])
        f.op("ftof", s=x, results=[tile(F16)])
        f.op("ftof", s=x, results=[tile(F64)])
        f.op("ftof", s=x, results=[tile(scalar("tf32"))], rnd="zero")
        f.op("ftoi", s=x, sgn="signed", results=[tile(I32)])
        f.op("itof", s=n, sgn="unsigned", results=[tile(BF16)])
        f.op("itof", s=n, sgn="signed", results=[tile(F64)])
        f.op("bitcast", s=x, results=[tile(I32)])
        f.op("ptr_to_int", s=p, results=[tile(I64)])
        f.op("int_to_ptr", s=wide, results=[tile(pointer(F32))])
        f.op("ptr_to_ptr", s=p, results=[tile(pointer(I8))])
        if version >= (13, 4):
            f.op("ftoi", s=x, sgn="unsigned", flags=["sat"], results=[tile(I8)])
            f.op("ftof", s=x, rnd="nearest_away", results=[tile(scalar("tf32"))])
        f.op("return")
    return module.build()


def tiles(version: Version) -> Module:
    module = ModuleBuilder(version)
    with module.entry("tiles", [tile(I32), tile(pointer(F32))]) as f:
        n, p = f.parameters
        counter = f.op("iota", results=[tile(I32, 8)])
        column = f.op("reshape", s=counter, results=[tile(I32, 8, 1)])
        matrix = f.op("broadcast", s=column, results=[tile(I32, 8, 4)])
        f.op("permute", s=matrix, perm=(1, 0), results=[tile(I32, 4, 8)])
        f.op("cat", lhs=counter, rhs=counter, dim=0, results=[tile(I32, 16)])
        part = f.op("extract", s=matrix, index=[n, n], results=[tile(I32, 2, 2)])
        condition = f.op("cmpi", lhs=matrix, rhs=matrix, pred="equal", sgn="signed")
        f.op("select", c=condition, t=matrix, f=matrix)
        f.op("assume", s=n, pred=DivBy(16))
        f.op("assume", s=matrix, pred=DivBy(4, 2, 1))
        f.op("assume", s=p, pred=DivBy(16))
        for bounds in (Bounded(0, None), Bounded(None, 7), Bounded(-5, 1 << 20), Bounded(None, None)):
            f.op("assume", s=n, pred=bounds)
        f.op("assume", s=matrix, pred=SameElements((2, 4)))
        f.op("assert", c=condition, msg='not "equal"\n')
        if version >= (13, 3):
            packed = f.op("pack", s=counter, results=[tile(I8, 32)])
            f.op("unpack", s=packed, results=[tile(scalar("f4E2M1FN"), 64)])
        if version >= (13, 4):
            f.op("insert", s=part, dest=matrix, index=[n, n])
        f.op("return")
    return module.build()


def constants(version: Version) -> Module:
    """Splats and element lists of every element type."""
    module = ModuleBuilder(version)
    with module.entry("constants", []) as f:
        for element in (I8, I16, I32, I64):
            for value in (0, 1, -1, 7, 1 << (element.bits - 1), (1 << (element.bits - 1)) - 1):
                f.constant(tile(element), value)
            f.constant(tile(element, 4), -3)
            f.constant(tile(element, 2, 2), 0, -1, 2, 3)
        for bits in (0, 1):
            f.constant(tile(I1), bits)
            f.constant(tile(I1, 16), bits)
        f.constant(tile(I1, 4), 1, 0, 0, 1)
        f.constant(tile(I1, 4), 1, 0, 0, 0)
        f.constant(tile(I1, 8), 1, 0, 0, 0, 0, 0, 0, 0)
        f.constant(tile(I1, 8), 1, 1, 1, 1, 1, 1, 1, 1)
        f.constant(tile(I1, 16), *(1, 0) * 8)
        for name in ("f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2"):
            element = scalar(name)
            mantissa = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52, "tf32": 10, "f8E4M3FN": 3, "f8E5M2": 2}[name]
            bias = ((1 << (element.bits - 2 - mantissa)) - 1) << mantissa
            for bits in (0, bias, bias | 1, bias + (3 << (mantissa - 1)), 1 << (element.bits - 1), bias // 2, 1):
                f.constant(tile(element), bits)
            exponent = ((1 << (element.bits - 1)) - 1) ^ ((1 << mantissa) - 1)
            for bits in (exponent, exponent | 1 << (mantissa - 1), exponent | 1 << (element.bits - 1), exponent - 1):
                f.constant(tile(element), bits)
            f.constant(tile(element, 2), 0, bias)
            f.constant(tile(element, 4), bias | 1)
        if version >= (13, 2):
            f.constant(tile(scalar("f8E8M0FNU")), 127)
            f.constant(tile(scalar("f8E8M0FNU"), 2), 126, 130)
        if version >= (13, 3):
            for name in ("f4E2M1FN",):
                f.constant(tile(scalar(name), 2), 3)
                f.constant(tile(scalar(name), 4), 9)
                f.constant(tile(scalar(name), 4), 1, 2, 3, 4)
        f.op("return")
    return module.build()


def control(version: Version) -> Module:
    module = ModuleBuilder(version)
    with module.entry("control", [tile(I32), tile(I1)]) as f:
        n, c = f.parameters
        zero, one = f.constant(tile(I32), 0), f.constant(tile(I32), 1)
        x = f.constant(tile(F32, 4), 0)
        with f.for_(zero, n, one, [x, zero]) as counted:
            i, carried, total = counted.arguments
            with f.if_(c) as early:
                with early.then():
                    f.op("continue", args=[carried, i])
                with early.otherwise():
                    f.op("yield")
            f.op("continue", args=[carried, f.op("addi", lhs=i, rhs=total)])
        with f.for_(zero, n, one) as empty:
            f.op("continue")
        if version >= (13, 2):
            with f.for_(zero, n, one, unsigned=True):
                f.op("continue")
        with f.loop([zero, x], results=[tile(I32)]) as endless:
            v, _ = endless.arguments
            less = f.op("cmpi", lhs=v, rhs=n, pred="less_than", sgn="signed")
            with f.if_(less) as leaving, leaving.then():
                f.op("break", args=[v])
            f.op("continue", args=[f.op("addi", lhs=v, rhs=one), x])
        with f.loop() as bare:
            if version >= (13, 4):
                with f.if_(c) as returning, returning.then():
                    f.op("return")
            f.op("break")
        with f.if_(c, [tile(I32), tile(F32, 4)]) as both:
            with both.then():
                f.op("yield", args=[n, x])
            with both.otherwise():
                f.op("yield", args=[zero, counted.results[0]])
        with f.if_(c) as nested:
            with nested.then():
                with f.if_(c) as inner, inner.then():
                    f.op("yield")
                f.op("yield")
            with nested.otherwise():
                f.op("yield")
        assert not empty.results
        assert not bare.results
        f.op("addi", lhs=both.results[0], rhs=endless.results[0])
        with f.if_(c) as leaving, leaving.then():
            f.op("return")
        f.op("return")
    return module.build()


def reductions(version: Version) -> Module:
    module = ModuleBuilder(version)
    with module.entry("reductions", []) as f:
        x = f.constant(tile(F32, 4, 8), 0)
        k = f.constant(tile(I32, 4, 8), 0)
        with f.reduce([x], 1, [FloatAttribute(F32, 0xFF800000)]) as one:
            f.op("yield", args=[f.op("maxf", lhs=one.arguments[0], rhs=one.arguments[1])])
        with f.reduce([x, k], 0, [ZERO_F32, IntegerAttribute(I32, -1)]) as two:
            a, b, i, j = two.arguments
            smaller = f.op("cmpf", lhs=a, rhs=b, pred="less_than", fcmp="ordered")
            f.op("yield", args=[f.op("select", c=smaller, t=a, f=b), f.op("select", c=smaller, t=i, f=j)])
        with f.scan([k], 1, [IntegerAttribute(I32, 0)], reverse=True) as running:
            f.op("yield", args=[f.op("addi", lhs=running.arguments[0], rhs=running.arguments[1])])
        h = f.constant(tile(F16, 8), 0)
        with f.scan([h], 0, [FloatAttribute(F16, 0xBC00)]) as other:
            f.op("yield", args=[f.op("mulf", lhs=other.arguments[0], rhs=other.arguments[1])])
        d = f.constant(tile(F64, 8), 0)
        with f.reduce([d], 0, [FloatAttribute(F64, 0xFFF0000000000000)]) as wide:
            f.op("yield", args=[f.op("maxf", lhs=wide.arguments[0], rhs=wide.arguments[1])])
        b = f.constant(tile(I1, 8), 1)
        with f.reduce([b], 0, [IntegerAttribute(I1, 1)]) as every:
            f.op("yield", args=[f.op("andi", lhs=every.arguments[0], rhs=every.arguments[1])])
        f.op("return")
    return module.build()


def matrices(version: Version) -> Module:
    module = ModuleBuilder(version)
    with module.entry("matrices", []) as f:
        a, b = f.constant(tile(F16, 16, 32), 0), f.constant(tile(F16, 32, 16), 0)
        acc = f.constant(tile(F32, 16, 16), 0)
        f.op("mmaf", lhs=a, rhs=b, acc=acc)
        ab, bb = f.constant(tile(F16, 2, 16, 32), 0), f.constant(tile(F16, 2, 32, 16), 0)
        f.op("mmaf", lhs=ab, rhs=bb, acc=f.constant(tile(F32, 2, 16, 16), 0))
        ai, bi = f.constant(tile(I8, 16, 32), 0), f.constant(tile(I8, 32, 16), 0)
        f.op("mmai", lhs=ai, rhs=bi, acc=f.constant(tile(I32, 16, 16), 0), sl="signed", sr="unsigned")
        if version >= (13, 3):
            f8 = scalar("f8E4M3FN")
            a8, b8 = f.constant(tile(f8, 16, 128), 0), f.constant(tile(f8, 128, 16), 0)
            f.op("mmaf", lhs=a8, rhs=b8, acc=acc, flags=["fast_acc"])
            scale = scalar("f8E8M0FNU")
            ls, rs = f.constant(tile(scale, 16, 4), 0), f.constant(tile(scale, 4, 16), 0)
            f.op("mmaf_scaled", lhs=a8, rhs=b8, acc=acc, ls=ls, rs=rs)
        f.op("return")
    return module.build()


def pointers(version: Version) -> Module:
    module = ModuleBuilder(version)
    module.add_global("table", constant(tile(I32, 4), 1, 2, 3, 4), 16)
    if version >= (13, 3):
        module.add_global("hidden", constant(tile(F32, 2), 0), private=True, constant=True)
    with module.entry("pointers", [tile(pointer(F32)), tile(pointer(I32)), tile(I32)]) as f:
        base, counters, n = f.parameters
        f.op("get_global", name="table", results=[tile(pointer(I32))])
        lanes = f.op("iota", results=[tile(I32, 4)])
        row = f.op("broadcast", s=f.op("reshape", s=base, results=[tile(pointer(F32), 1)]), results=[
            tile(pointer(F32), 4)
        ])  # fmt: skip
        p = f.op("offset", ptr=row, off=lanes)
        mask = f.op("cmpi", lhs=lanes, rhs=lanes, pred="less_than", sgn="signed")
        pad = f.constant(tile(F32, 4), 0x7FC00000)
        token = f.op("make_token")
        f.op("load_ptr_tko", ptr=p)
        f.op("load_ptr_tko", ptr=p, mask=mask)
        f.op("load_ptr_tko", ptr=p, pad=pad)
        x, seen = f.op("load_ptr_tko", ptr=p, mask=mask, pad=pad, token=token, ord="acquire", scope="device")
        f.op("load_ptr_tko", ptr=p, hints={"sm_100": {"latency": IntegerAttribute(I32, 3)}})
        joined = f.op("join_tokens", tokens=[token, seen])
        f.op("store_ptr_tko", ptr=p, val=x)
        f.op("store_ptr_tko", ptr=p, val=x, mask=mask, token=joined, ord="release", scope="sys")
        f.op("store_ptr_tko", ptr=p, val=x, token=token, ord="relaxed", scope="tl_blk", hints={"sm_90": {}})
        for mode in ("and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg"):
            f.op("atomic_rmw_tko", ptr=counters, arg=n, mode=mode, ord="relaxed", scope="device")
        f.op("atomic_rmw_tko", ptr=p, arg=x, mask=mask, token=token, mode="addf", ord="acq_rel", scope="sys")
        f.op("atomic_cas_tko", ptr=counters, cmp=n, val=n, ord="acquire", scope="device")
        f.op("atomic_cas_tko", ptr=p, cmp=x, val=x, mask=mask, token=token, ord="release", scope="tl_blk")
        if version >= (13, 2):
            f.op("print_tko", str="%d %f\n", args=[n, x], token=token)
        f.op("print_tko", str="hello")
        if version >= (13, 3):
            f.op("alloca", num_elem=64, align=16, results=[tile(pointer(F32))])
            f.op("alloca", num_elem=1, align=4, flags=["global"], results=[tile(pointer(I8))])
        if version >= (13, 4):
            f.op("gdc_wait_tko")
            f.op("gdc_wait_tko", token=token)
            f.op("gdc_launch_dependents_tko")
            f.op("gdc_launch_dependents_tko", token=token)
            f.op("memory_fence_alias_tko", s=token)
        f.op("get_tile_block_id")
        f.op("get_num_tile_blocks")
        f.op("return")
    return module.build()


def views(version: Version) -> Module:
    module = ModuleBuilder(version)
    dynamic = TensorViewType(F32, (None, None), (None, 1))
    fixed = TensorViewType(F32, (64, None), (128, 1))
    with module.entry("views", [tile(pointer(F32)), tile(I32), tile(I64)]) as f:
        base, n, m = f.parameters
        tensor = f.op("make_tensor_view", base=base, shape=[n, n], strides=[n], results=[dynamic])
        other = f.op("make_tensor_view", base=base, shape=[m], results=[fixed])
        f.op("assume", s=tensor, pred=DivBy(16))
        f.op("get_tensor_shape", src=tensor, results=[tile(I32)] * 2)
        flat = TensorViewType(F32, (None,), (1,))
        f.op("make_tensor_view", base=base, shape=[n], results=[flat])
        for padding in (None, "zero", "neg_zero", "nan", "pos_inf", "neg_inf"):
            f.op("make_partition_view", s=tensor, results=[PartitionViewType((4, 8), dynamic, (0, 1), padding)])
        f.op("make_partition_view", s=other, results=[PartitionViewType((4, 8), fixed, (1, 0))])
        view = f.op("make_partition_view", s=tensor, results=[PartitionViewType((4, 8), dynamic, (0, 1), "zero")])
        f.op("get_index_space_shape", src=view, results=[tile(I32)] * 2)
        _accesses(f, view, [n, n], version)
        if version >= (13, 3):
            sparse = GatherScatterViewType((4, 8), dynamic, 0, "zero")
            gather = f.op("make_gather_scatter_view", s=tensor, results=[sparse])
            rows = f.op("iota", results=[tile(I32, 4)])
            x, token = f.op("load_view_tko", view=gather, index=[rows, n])
            f.op("store_view_tko", tile=x, view=gather, index=[rows, n], token=token)
            overlapping = StridedViewType((4, 8), (2, 3), dynamic, (1, 0))
            strided = f.op("make_strided_view", s=tensor, results=[overlapping])
            f.op("get_index_space_shape", src=strided, results=[tile(I64)] * 2)
            f.op("load_view_tko", view=strided, index=[n, n])
            padded = StridedViewType((4, 8), (2, 3), dynamic, (0, 1), "nan")
            f.op("make_strided_view", s=tensor, results=[padded])
            plain = f.op("make_partition_view", s=tensor, results=[PartitionViewType((4, 8), dynamic, (0, 1))])
            f.op("atomic_red_view_tko", view=plain, index=[n, n], value=x, mode="addf", ord="relaxed", scope="device")
            f.op(
                "atomic_red_view_tko",
                view=plain, index=[n, n], value=x, token=token, mode="addf", ord="relaxed", scope="tl_blk",
            )  # fmt: skip
        f.op("return")
    return module.build()


def _accesses(f: BodyBuilder, view: Value, index: list[Value], version: Version) -> None:
    x, token = f.op("load_view_tko", view=view, index=index)
    f.op("load_view_tko", view=view, index=index, token=token, ord="relaxed", scope="device")
    f.op("store_view_tko", tile=x, view=view, index=index, token=token)
    hints = {"sm_90": {"allow_tma": False, "latency": IntegerAttribute(I32, 4)}, "sm_100": {}}
    f.op("store_view_tko", tile=x, view=view, index=index, ord="release", scope="sys", hints=hints)
    if version >= (13, 4):
        f.op("load_view_tko", view=view, index=index, inbounds=(True, False))
        f.op("store_view_tko", tile=x, view=view, index=index, token=token, inbounds=(True, True))


def multimem(version: Version) -> Module:
    """Multicast views exist from 13.5 on."""
    module = ModuleBuilder(version)
    tensor_type = TensorViewType(F32, (None, None), (None, 1), "multicast")
    with module.entry("multimem", [tile(pointer(F32, "multicast")), tile(I32)]) as f:
        base, n = f.parameters
        tensor = f.op("make_tensor_view", base=base, shape=[n, n], strides=[n], results=[tensor_type])
        view = f.op("make_partition_view", s=tensor, results=[PartitionViewType((4, 8), tensor_type, (0, 1))])
        relaxed: Parts = {"ord": "relaxed", "scope": "sys"}
        x, token = f.op("multimem_load_reduce_view_tko", view=view, index=[n, n], red="add", **relaxed)
        f.op("multimem_load_reduce_view_tko", view=view, index=[n, n], red="add", token=token, inbounds=(True, False))
        f.op("multimem_reduce_view_tko", view=view, tile=x, index=[n, n], red="add", **relaxed)
        f.op("multimem_reduce_view_tko", view=view, tile=x, index=[n, n], red="add", token=token, **relaxed)
        f.op("multimem_store_view_tko", view=view, tile=x, index=[n, n], token=token)
        f.op("multimem_store_view_tko", view=view, tile=x, index=[n, n], ord="release", scope="sys")
        f.op("return")
    return module.build()


def foreign(version: Version) -> Module:
    """Functions that Tile IR has no op for."""
    module = ModuleBuilder(version)
    with module.entry("foreign", [tile(F32), tile(I32)]) as f:
        x, n = f.parameters
        lanes = f.constant(tile(F32, 8), 0x3F800000)
        f.op("opaque", args=[x], callee="__nv_erff", results=[tile(F32)])
        f.op("opaque", args=[lanes, n], callee="__nv_ldexpf", results=[tile(F32, 8)])
        f.op("opaque", args=[], callee='asm mov.u32 $0, %ctaid.x; // "x"', results=[tile(I32)])
        f.op("return")
    return module.build()


def headers(version: Version) -> Module:
    """Several entries, hints, a producer and locations with a call site."""
    module = ModuleBuilder(version, producer="tests" if version >= (13, 3) else None)
    here = Location("/src/kernel.py", 10, 4, "first")
    hints = {"sm_100": {"num_cta_in_cga": IntegerAttribute(I32, 2), "occupancy": IntegerAttribute(I32, 4)}}
    with module.entry("first", [tile(I32)], hints=hints, location=here) as f:
        (n,) = f.parameters
        f.location = Location("/src/library.py", 3, 8, "helper", caller=Location("/src/kernel.py", 12, 0, "first"))
        f.op("addi", lhs=n, rhs=n)
        f.location = None
        f.op("return")
    with module.entry("second", []) as f:
        f.op("return")
    return module.build()


SAMPLES: dict[str, tuple[Callable[[Version], Module], Version]] = {
    "floats": (float_ops, (13, 1)),
    "integers": (integer_ops, (13, 1)),
    "conversions": (conversions, (13, 1)),
    "tiles": (tiles, (13, 1)),
    "constants": (constants, (13, 1)),
    "control": (control, (13, 1)),
    "reductions": (reductions, (13, 1)),
    "matrices": (matrices, (13, 1)),
    "pointers": (pointers, (13, 1)),
    "views": (views, (13, 1)),
    "headers": (headers, (13, 1)),
    "foreign": (foreign, (13, 1)),
    "multimem": (multimem, (13, 5)),
}
VERSIONS = tuple((13, minor) for minor in range(1, 6))


def samples() -> list[tuple[str, Version]]:
    """Every (sample, version) that exists."""
    return [(name, version) for name, (_, since) in SAMPLES.items() for version in VERSIONS if version >= since]


def sample(name: str, version: Version) -> Module:
    return SAMPLES[name][0](version)
