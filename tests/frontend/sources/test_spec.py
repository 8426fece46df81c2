"""Launch specs from TOML text a user could type: what they mean, and one clear error for every mistake."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tileverify.contract.as_terms import build_contract, contract_text
from tileverify.contract.expression_parser import parse_condition, parse_size
from tileverify.contract.launch import (
    Apply,
    ArrayArgument,
    ConstantArgument,
    KernelParameter,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    SameArray,
    ScalarArgument,
    TupleArgument,
)
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import RawLaunch, read_pyproject, read_spec_file, spec_path
from tileverify.contract.spec_text import spec_text
from tileverify.system.errors import SpecError, UsageError
from tileverify.verifier.certificate.launches import essence, launch_from_json, launch_to_json

MATMUL = ("a", "b", "c", "n", "tm")
PARAMETERS = {name: KernelParameter(name, constant=name == "tm") for name in MATMUL}
ARGS = 'args = { a = "f16[M, K]", b = "f16[K, N]", c = "f32[M, N]", n = "i32", tm = 128 }\n'


def read(tmp_path: Path, text: str, parameters: tuple[KernelParameter, ...] | None = None) -> LaunchSpec:
    path = tmp_path / "matmul.tileverify.toml"
    path.write_text(text)
    [raw] = read_spec_file(path)
    return build_launch(raw, str(raw.fields.get("name", "0")), parameters or tuple(PARAMETERS.values()))


def failure(tmp_path: Path, text: str, parameters: tuple[KernelParameter, ...] | None = None) -> SpecError:
    with pytest.raises(SpecError) as caught:
        read(tmp_path, text, parameters)
    assert caught.value.file == str(tmp_path / "matmul.tileverify.toml")
    return caught.value


def test_the_example_of_the_manual(tmp_path: Path) -> None:
    names = ("a", "c", "idx", "flat", "n", "m", "tm")
    parameters = tuple(KernelParameter(name, constant=name == "tm") for name in names)
    spec = read(
        tmp_path,
        """
[[launch]]
kernel   = "matmul"
name     = "gemm-f16"
grid     = ["cdiv(M, 128) * cdiv(N, 128)"]
requires = ["M >= 1", "K % 64 == 0"]
data     = ["injective(idx)", "range(idx, 0, N)"]
alias    = [["a", "c"]]
overlap  = [["c", "idx"]]

[launch.args]
a      = "f16[M, 2 * K]"
c      = "f16[M, N; strides=(ld, 1)]"
idx    = "i32[N]"
flat   = "f32[N; index=i64]"
n      = "i32"
m      = "i32 = M"
tm     = 128
""",
        parameters,
    )
    m, n = Name("M"), Name("N")
    assert spec.kernel == "matmul"
    assert spec.name == "gemm-f16"
    assert spec.arguments == (
        ArrayArgument("a", "f16", (m, Apply("*", (Number(2), Name("K"))))),
        ArrayArgument("c", "f16", (m, n), (Name("ld"), Number(1))),
        ArrayArgument("idx", "i32", (n,)),
        ArrayArgument("flat", "f32", (n,), index_bits=64),
        ScalarArgument("n", "i32"),
        ScalarArgument("m", "i32", m),
        ConstantArgument("tm", 128),
    )
    assert spec.grid == (parse_size("cdiv(M, 128) * cdiv(N, 128)"), Number(1), Number(1))
    assert spec.grid_text == ("cdiv(M, 128) * cdiv(N, 128)",)
    assert spec.requires == (parse_condition("M >= 1"), parse_condition("K % 64 == 0"))
    assert spec.requires_text == ("M >= 1", "K % 64 == 0")
    assert [(fact.kind, fact.array) for fact in spec.data] == [("injective", "idx"), ("range", "idx")]
    assert (spec.data[1].low, spec.data[1].high) == (Number(0), n)
    assert spec.alias == (frozenset({"a", "c"}),)
    assert spec.overlap == (frozenset({"c", "idx"}),)
    assert not spec.inferred
    assert 'matmul.tileverify.toml: launch "gemm-f16"' in spec.where
    assert [array.name for array in spec.arrays()] == ["a", "c", "idx", "flat"]


def test_no_grid_means_any_grid_and_missing_axes_are_one(tmp_path: Path) -> None:
    assert read(tmp_path, '[[launch]]\nkernel = "k"\n' + ARGS).grid is None
    spec = read(tmp_path, '[[launch]]\nkernel = "k"\ngrid = [4, "N"]\n' + ARGS)
    assert spec.grid == (Number(4), Name("N"), Number(1))
    assert spec.grid_text == ("4", "N")


def test_integer_constants_may_be_named_everywhere(tmp_path: Path) -> None:
    spec = read(
        tmp_path,
        """
[[launch]]
kernel = "k"
grid = ["cdiv(M, tm)"]
requires = ["M % tm == 0"]
args = { a = "f16[M, tm]", b = "f16[M, 2 * tm; strides=(tm, 1)]", c = "f32[M]", n = "i32 = tm", tm = 128 }
""",
    )
    assert spec.grid == (parse_size("cdiv(M, 128)"), Number(1), Number(1))
    assert spec.requires == (parse_condition("M % 128 == 0"),)
    assert spec.arguments[0] == ArrayArgument("a", "f16", (Name("M"), Number(128)))
    assert spec.arguments[1] == ArrayArgument("b", "f16", (Name("M"), parse_size("2 * 128")), (Number(128), Number(1)))
    assert spec.arguments[3] == ScalarArgument("n", "i32", Number(128))


def test_a_scalar_and_a_size_of_one_name_are_one_value(tmp_path: Path) -> None:
    spec = read(
        tmp_path,
        '[[launch]]\nkernel = "k"\nrequires = ["n >= 1", "grid.x <= n", "a.shape[0] == c.strides[0]"]\n'
        'args = { a = "f16[n]", b = "f16[grid.x]", c = "f32[n; strides=(s)]", n = "i32", tm = 1 }',
    )
    assert spec.arguments[0] == ArrayArgument("a", "f16", (Name("n"),))
    assert len(spec.requires) == 3


def test_numbers_for_parameters_that_are_no_constants_are_runtime_scalars(tmp_path: Path) -> None:
    parameters = (
        KernelParameter("count"),
        KernelParameter("eps"),
        KernelParameter("flag"),
        KernelParameter("wide", scalar_dtype="i64"),
    )
    spec = read(
        tmp_path,
        f'[[launch]]\nkernel = "k"\nargs = {{ count = 3, eps = 1e-5, flag = true, wide = {2**40} }}',
        parameters,
    )
    assert spec.arguments == (
        ScalarArgument("count", "i32", Number(3)),
        ScalarArgument("eps", "f32"),
        ScalarArgument("flag", "bool"),
        ScalarArgument("wide", "i64", Number(2**40)),
    )


def test_tuples_tables_lists_and_constants(tmp_path: Path) -> None:
    parameters = (
        KernelParameter("pair"),
        KernelParameter("params"),
        KernelParameter("xs"),
        KernelParameter("shape", constant=True),
        KernelParameter("dtype", constant=True),
        KernelParameter("bias"),
        KernelParameter("mode", constant=True),
    )
    spec = read(
        tmp_path,
        """
[[launch]]
kernel = "k"
requires = ["pair[1] >= 1", "pair[0].shape[0] == params.w.shape[0]", "L >= shape[1]"]
overlap = [["xs", "pair[0]"]]
[launch.args]
pair = ["f32[N]", "i32"]
params = { w = "f16[M]", eps = "f32" }
xs = { list = "f32[R, C; strides=(s, 1)]", length = "L" }
shape = [4, 8]
dtype = "ct.float16"
bias = "None"
mode = "i32"
""",
        parameters,
    )
    assert spec.arguments == (
        TupleArgument("pair", (ArrayArgument("pair[0]", "f32", (Name("N"),)), ScalarArgument("pair[1]", "i32"))),
        TupleArgument(
            "params",
            (ArrayArgument("params.w", "f16", (Name("M"),)), ScalarArgument("params.eps", "f32")),
            ("w", "eps"),
        ),
        ListArgument("xs", ArrayArgument("xs", "f32", (Name("R"), Name("C")), (Name("s"), Number(1))), Name("L")),
        ConstantArgument("shape", (4, 8)),
        ConstantArgument("dtype", "ct.float16"),
        ConstantArgument("bias", None),
        ConstantArgument("mode", "i32"),
    )
    assert spec.requires[2] == parse_condition("L >= 8")


def test_the_same_array_twice_overlaps_without_being_said_so(tmp_path: Path) -> None:
    text = '[[launch]]\nkernel = "k"\nrequires = ["a is b"]\n'
    args = 'args = { a = "f16[M]", b = "f16[N]", c = "f32[M]", n = "i32", tm = 1 }\n'
    spec = read(tmp_path, text + args)
    assert spec.requires == (SameArray("a", "b"),)
    assert spec.overlap == (frozenset({"a", "b"}),)
    assert spec.alias == ()
    spec = read(tmp_path, text + 'alias = [["a", "b", "c"]]\n' + args)
    assert spec.overlap == ()


def test_defaults_fill_missing_arguments(tmp_path: Path) -> None:
    parameters = (
        KernelParameter("x"),
        KernelParameter("tile", constant=True, has_default=True, default=64),
        KernelParameter("n", has_default=True, default=7),
    )
    spec = read(tmp_path, '[[launch]]\nkernel = "k"\nargs = { x = "f32[N]" }', parameters)
    assert spec.arguments[1:] == (ConstantArgument("tile", 64), ScalarArgument("n", "i32", Number(7)))


def test_annotations_of_the_kernel(tmp_path: Path) -> None:
    parameters = (KernelParameter("x", index_bits=64), KernelParameter("n", scalar_dtype="i64"))
    spec = read(tmp_path, '[[launch]]\nkernel = "k"\nargs = { x = "f32[N]", n = "i64" }', parameters)
    assert spec.arguments[0] == ArrayArgument("x", "f32", (Name("N"),), index_bits=64)
    error = failure(tmp_path, '[[launch]]\nkernel = "k"\nargs = { x = "f32[N]", n = "i32" }', parameters)
    assert "args.n: the kernel annotates i64, the spec says i32" in error.message


def test_bytecode_takes_its_arguments_in_the_order_of_the_spec(tmp_path: Path) -> None:
    path = tmp_path / "matmul.tileverify.toml"
    path.write_text('[[launch]]\nkernel = "k"\nargs = { z = "f32[N]", a = "i32" }')
    [raw] = read_spec_file(path)
    assert [argument.name for argument in build_launch(raw, "0", None).arguments] == ["z", "a"]
    path.write_text('[[launch]]\nkernel = "k"\nargs = { z = "f32[N]", tm = 128 }')
    [raw] = read_spec_file(path)
    with pytest.raises(SpecError, match="bytecode has no constants"):
        build_launch(raw, "0", None)


SPEC = '[[launch]]\nkernel = "k"\n'
LIST = '{ list = "f16[r]", length = "L" }'
LISTS = f'args = {{ a = {LIST}, b = {LIST}, c = "f32[M, N]", n = "i32", tm = 128 }}\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[[launch]]\nname = "x"\n', 'launch "x", kernel: the name of the kernel function is missing'),
        ("[[launch]]\nkernel = 3\n", 'kernel: must be the name of the kernel function, as in kernel = "scale"'),
        (SPEC + 'requries = ["M >= 1"]\n' + ARGS, "unknown key 'requries'; did you mean 'requires'?"),
        (SPEC + 'name = ""\n' + ARGS, "name: a launch name is a non-empty string without '::'"),
        (SPEC + 'name = "a::b"\n' + ARGS, "name: a launch name is a non-empty string without '::'"),
        ("[launch]\nkernel = 'k'\n", "write [[launch]] with two brackets"),
        ("[[lunch]]\nkernel = 'k'\n", "unknown key 'lunch'; did you mean 'launch'?"),
        ("launch = [1]\n", "must be tables"),
        ("[[launch]]\nkernel = \n", "not valid TOML"),
        # -- args
        (SPEC, "args: missing 'a', 'b', 'c', 'n', 'tm'; 'k' has the parameters a, b, c, n, tm"),
        (SPEC + "args = 3\n", "args: must be a table with one entry for each parameter"),
        (SPEC + ARGS.replace("tm = 128", "tn = 128"), "args: missing 'tm'; 'tn' is no parameter; did you mean 'tm'?"),
        (SPEC + ARGS.replace("tm = 128", "tm = 128, z = 1"), "args: 'z' is no parameter"),
        (SPEC + ARGS.replace("f16[M, K]", "f17[M, K]"), "args.a: unknown element type 'f17'; did you mean 'f16'?"),
        (SPEC + ARGS.replace("[M, K]", "[M, K / 2]"), "args.a: 'K / 2' at column 1: '/' is not exact"),
        (SPEC + ARGS.replace("[M, K]", "[M, tm - 200]"), "args.a: the size -72 is negative"),
        (SPEC + ARGS.replace("[M, K]", "[M, b]"), "args.a: 'b' is an array, not an integer; write b.shape[0]"),
        (SPEC + ARGS.replace("[M, K]", "[M, b.shape[2]]"), "args.a: 'b.shape[2]': 'b' has rank 2"),
        (SPEC + ARGS.replace('"i32"', '"i32 = MM"'), "args.n: unknown name 'MM'; did you mean 'M'?"),
        (SPEC + ARGS.replace('"i32"', '"f32 = M"'), "args.n: 'f32 = M': only an integer or bool"),
        (SPEC + ARGS.replace('"i32"', "2147483648"), "args.n: 2147483648 does not fit i32"),
        (SPEC + ARGS.replace('"i32"', "1979-05-27"), "args.n: a date describes no argument"),
        (SPEC + ARGS.replace('"i32"', '{ list = "f32[N]" }'), "args.n: the length of a list is missing"),
        (SPEC + ARGS.replace('"i32"', '{ list = "f32", length = 3 }'), "args.n: 'f32': the elements of a list"),
        (SPEC + ARGS.replace('"i32"', "{ list = 3, length = 3 }"), "args.n: a list is described as"),
        (SPEC + ARGS.replace('"i32"', '{ list = "f32[N]", size = 3 }'), "args.n: unknown key 'size'"),
        (SPEC + ARGS.replace('"i32"', '{ list = "f32[b.shape[0]]", length = 3 }'), "each element's own"),
        (SPEC + ARGS.replace('"i32"', '["f32[N]", "f99"]'), "args.n: unknown element type 'f99'"),
        # -- grid
        (SPEC + "grid = []\n" + ARGS, "grid: has 0 axes; a grid has 1 to 3"),
        (SPEC + "grid = [1, 1, 1, 1]\n" + ARGS, "grid: has 4 axes; a grid has 1 to 3"),
        (SPEC + 'grid = "M"\n' + ARGS, "grid: must be a list of 1 to 3 expressions or integers"),
        (SPEC + "grid = [1.5]\n" + ARGS, "grid: must be a list of 1 to 3 expressions or integers"),
        (SPEC + "grid = [4, 0]\n" + ARGS, "grid[1]: 0 blocks; an axis has 1 to 16777215"),
        (SPEC + "grid = [16777216]\n" + ARGS, "grid[0]: 16777216 blocks"),
        (SPEC + 'grid = ["grid.x"]\n' + ARGS, "grid[0]: 'grid.x' cannot describe the grid itself"),
        (SPEC + 'grid = ["cdiv(m, 128)"]\n' + ARGS, "grid[0]: unknown name 'm'"),
        (SPEC + 'grid = ["M >= 1"]\n' + ARGS, "grid[0]: 'M >= 1' at column 1: a condition stands where"),
        # -- requires
        (SPEC + 'requires = "M >= 1"\n' + ARGS, "requires: must be a list of strings"),
        (SPEC + 'requires = ["M >= 1", "Q >= 1"]\n' + ARGS, "requires[1]: unknown name 'Q'"),
        (SPEC + 'requires = ["M"]\n' + ARGS, "requires[0]: 'M' is a number; a fact is a condition such as"),
        (SPEC + 'requires = ["tm == 64"]\n' + ARGS, "requires[0]: 'tm == 64' never holds"),
        (
            SPEC + 'requires = ["a.address % 3 == 0"]\n' + ARGS,
            "requires[0]: of an address only its alignment can be said",
        ),
        (SPEC + 'requires = ["q.address % 16 == 0"]\n' + ARGS, "requires[0]: unknown name 'q.address'"),
        (SPEC + 'grid = ["a.address"]\n' + ARGS, "grid[0]: 'a.address': addresses have a place in 'requires' alone"),
        (SPEC + 'requires = ["a == 3"]\n' + ARGS, "requires[0]: 'a' is an array, not an integer"),
        (SPEC + 'requires = ["z.shape[0] == 3"]\n' + ARGS, "'z' is not an array argument of this launch"),
        (SPEC + 'requires = ["a is z"]\n' + ARGS, "requires[0]: 'z' is not an array argument of this launch"),
        (SPEC + 'requires = ["a is c"]\n' + ARGS, "'a' and 'c' differ in type or rank and cannot be one array"),
        # -- data
        (SPEC + 'data = ["injective(a)"]\n' + ARGS, "data[0]: 'a' holds f16; facts about data speak of integer"),
        (SPEC + 'data = ["injective(z)"]\n' + ARGS, "data[0]: 'z' is not an array argument of this launch"),
        (SPEC + 'data = ["unique(a)"]\n' + ARGS, "data[0]: 'unique(a)' at column 1: there is no fact 'unique'"),
        # -- what is said of every array of a list
        (SPEC + 'requires = ["a.shape[1] >= 1"]\n' + LISTS, "requires[0]: 'a.shape[1]': 'a' has rank 1"),
        (SPEC + 'requires = ["a.shape[0] <= b.shape[0]"]\n' + LISTS, "the arrays of one list, not of both 'a' and 'b'"),
        (SPEC + 'requires = ["a.address >= 16"]\n' + LISTS, "of an address only its alignment can be said"),
        (SPEC + 'requires = ["L == 1 or a.address % 16 == 0"]\n' + LISTS, "of an address only its alignment can be"),
        (
            SPEC + 'grid = ["a.shape[0]"]\n' + LISTS,
            "each array of 'a' has its own; only 'requires' and 'data' name it",
        ),
        # -- alias, overlap
        (SPEC + 'alias = ["a", "b"]\n' + ARGS, 'alias: must be a list of groups, as in alias = [["x", "out"]]'),
        (SPEC + 'alias = [["a"]]\n' + ARGS, "alias[0]: a group names two or more different arguments, each once"),
        (SPEC + 'alias = [["a", "a"]]\n' + ARGS, "alias[0]: a group names two or more different arguments"),
        (SPEC + "overlap = [[]]\n" + ARGS, "overlap[0]: a group names two or more different arguments"),
        (SPEC + 'overlap = [["a", "n"]]\n' + ARGS, "overlap[0]: 'n' is not an array or list argument"),
        (SPEC + 'overlap = [["a", 3]]\n' + ARGS, "overlap[0]: '3' is not an array or list argument"),
    ],
)
def test_one_clear_error_for_every_mistake(tmp_path: Path, text: str, problem: str) -> None:
    assert problem in failure(tmp_path, text).message


def test_contradicting_sizes_of_one_array(tmp_path: Path) -> None:
    args = 'args = { a = "f16[4]", b = "f16[8]", c = "f32[M]", n = "i32", tm = 1 }\n'
    assert "differ in size 0: 4 and 8" in failure(tmp_path, SPEC + 'requires = ["a is b"]\n' + args).message


def test_errors_name_file_line_and_launch(tmp_path: Path) -> None:
    text = "# two launches\n" + SPEC + ARGS + '\n[[ launch ]]\nkernel = "k"\ngrid = []\n' + ARGS
    path = tmp_path / "matmul.tileverify.toml"
    path.write_text(text)
    first, second = read_spec_file(path)
    assert first.line == 2
    with pytest.raises(SpecError) as caught:
        build_launch(second, "1", tuple(PARAMETERS.values()))
    assert str(caught.value) == f'{path}:8:1: launch 2 ("k"), grid: has 0 axes; a grid has 1 to 3'


def test_toml_errors_carry_their_line(tmp_path: Path) -> None:
    error = failure(tmp_path, '[[launch]]\nkernel = "k\n')
    assert (error.line, error.message) == (2, "not valid TOML: Illegal character '\\n'")


def test_a_missing_spec_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no spec file"):
        read_spec_file(tmp_path / "none.toml")


def test_pyproject_is_the_nearest_one(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[[tool.tileverify.launch]]\nkernel = "outer"\n')
    assert [raw.kernel for raw in read_pyproject(inner)] == ["outer"]
    (tmp_path / "a" / "pyproject.toml").write_text(
        '[project]\nname = "x"\n\n[[tool.tileverify.launch]]\nkernel = "inner"\n'
    )
    [raw] = read_pyproject(inner)
    assert (raw.kernel, raw.line, raw.shared) == ("inner", 4, True)
    (tmp_path / "a" / "pyproject.toml").write_text("[tool]\ntileverify = 3\n")
    with pytest.raises(SpecError, match=r"\[tool.tileverify\] must be a table"):
        read_pyproject(inner)


def test_spec_files_stand_beside_their_source() -> None:
    assert spec_path(Path("a/matmul.py")) == Path("a/matmul.tileverify.toml")
    assert spec_path(Path("k.1a2b.tileirbc")) == Path("k.1a2b.tileverify.toml")


@pytest.mark.parametrize(
    "fields",
    [
        'args = { n = "i32 = n" }',
        'args = { n = "i32 = 2 * n + k - n", k = "i32" }',
        'args = { n = "i32 = k + 1", k = "i32 = n - 1" }',
        'args = { x = "f32[x.shape[0]]" }',
        'args = { x = "f32[y.shape[0]]", y = "f32[x.shape[0] + 1]" }',
        'grid = ["n"]\nargs = { n = "i32 = grid.x" }',
    ],
)
def test_a_name_that_is_described_by_itself(fields: str) -> None:
    """It has no value, and putting in what it stands for never ends."""
    with pytest.raises(SpecError, match="is described by itself"):
        build_launch(RawLaunch(tomllib.loads(f'kernel = "k"\n{fields}\n'), "k.tileverify.toml", 1, 0), "0", None)


# ------------------------------------------------------------------------------------------- complete and empty
def test_complete_and_empty_name_arrays(tmp_path: Path) -> None:
    head = '[[launch]]\nkernel = "matmul"\ngrid = ["M"]\n'
    spec = read(tmp_path, f'{head}complete = ["c"]\nempty = ["c", "b"]\n{ARGS}')
    assert (spec.complete, spec.empty) == (("c",), ("c", "b"))
    again = read(tmp_path, spec_text(spec, "0", ()))
    assert (again.complete, again.empty) == (spec.complete, spec.empty)
    assert launch_from_json(launch_to_json(spec)).empty == spec.empty
    assert essence(spec) != essence(replace(spec, empty=()))
    assert build_contract(spec).empty == {"c", "b"}
    assert {"every element of c has to be written", "b holds nothing when the launch begins"} <= {*contract_text(spec)}


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ('complete = ["d"]', "complete[0]: 'd' is not an array argument of this launch"),
        ('empty = ["n"]', "empty[0]: 'n' is not an array argument of this launch"),
        ('empty = ["c", "c"]', "empty[1]: 'c' stands there twice"),
        ('complete = "c"', "complete: must be a list of strings"),
        ('empty = ["idx"]\ndata = ["range(idx, 0, 4)"]', "empty[0]: 'idx' is empty, but data says what it holds"),
        ('empty = ["c"]\noverlap = [["a", "c"]]', "empty[0]: 'c' may overlap 'a', which is not empty"),
        ('empty = ["c"]\nrequires = ["c is e"]', "empty[0]: 'c' may overlap 'e', which is not empty"),
        ('empty = ["xs"]', "empty[0]: 'xs' is a list; only arrays can be empty"),
        ('emtpy = ["c"]', "unknown key 'emtpy'; did you mean 'empty'?"),
    ],
)
def test_mistakes_in_complete_and_empty(field: str, problem: str, tmp_path: Path) -> None:
    args = 'a = "f32[N]", c = "f32[N]", e = "f32[N]", idx = "i32[N]", n = "i32"'
    args += ', xs = { list = "f32[K]", length = "L" }'
    parameters = tuple(map(KernelParameter, ("a", "c", "e", "idx", "n", "xs")))
    error = failure(tmp_path, f'[[launch]]\nkernel = "k"\n{field}\nargs = {{ {args} }}\n', parameters)
    assert problem in error.message
    assert "\n" not in error.message


def test_arrays_that_may_overlap_an_empty_one_are_listed_too(tmp_path: Path) -> None:
    text = '[[launch]]\nkernel = "matmul"\nempty = ["a", "c"]\noverlap = [["a", "c"]]\n'
    assert read(tmp_path, text + ARGS).empty == ("a", "c")


def test_a_certificate_names_only_arrays_as_empty(tmp_path: Path) -> None:
    spec = read(tmp_path, f'[[launch]]\nkernel = "matmul"\nempty = ["c"]\n{ARGS}')
    for wrong in (["d"], ["n"], "c", [["c"]]):
        with pytest.raises(SpecError):
            launch_from_json({**launch_to_json(spec), "empty": wrong})
