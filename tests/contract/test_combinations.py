"""``each`` in a launch spec: one table for many launches."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.contract.spec_files import RawLaunch, launches_of_text
from tileverify.system.errors import SpecError

SOFTMAX = """
[[launch]]
kernel = "softmax"
each = { T = ["f16", "f32"], TILE = [16, 32] }
grid = ["M"]
requires = ["N <= {TILE}"]
args = { x = "{T}[M, N]", out = "{T}[M, N]", pair = ["{T}[N]", "i32 = {TILE} * 2"], TILE = "{TILE}" }
"""
KERNEL = """
import cuda.tile as ct

@ct.kernel
def double(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (TILE,)) * 2)
"""


def launches(text: str) -> tuple[RawLaunch, ...]:
    return launches_of_text(text, Path("k.tileverify.toml"))


def test_every_combination_is_a_launch_with_its_values() -> None:
    found = launches(SOFTMAX)
    assert [raw.fields["name"] for raw in found] == ["f16-16", "f16-32", "f32-16", "f32-32"]
    assert found[1].fields == {
        "kernel": "softmax",
        "name": "f16-32",
        "grid": ["M"],
        "requires": ["N <= 32"],
        "args": {"x": "f16[M, N]", "out": "f16[M, N]", "pair": ["f16[N]", "i32 = 32 * 2"], "TILE": 32},
    }
    assert {raw.line for raw in found} == {2}


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ('kernel = "k"\nname = "rows"', ["k rows-1-a", "k rows-1-b", "k rows-2-a", "k rows-2-b"]),
        ('kernel = "k"\nname = "{B} of {A}"', ["k a of 1", "k b of 1", "k a of 2", "k b of 2"]),
        ('kernel = "k_{B}"\nname = "n"', ["k_a n-1", "k_b n-1", "k_a n-2", "k_b n-2"]),
        ('kernel = "k{A}_{B}"', ["k1_a None", "k1_b None", "k2_a None", "k2_b None"]),
    ],
)
def test_names_tell_launches_apart(written: str, names: list[str]) -> None:
    text = f'[[launch]]\n{written}\neach = {{ A = [1, 2], B = ["a", "b"] }}\nargs = {{ n = "{{A}}", s = "{{B}}" }}\n'
    assert [f"{raw.kernel} {raw.fields.get('name')}" for raw in launches(text)] == names


@pytest.mark.parametrize(
    ("each", "told"),
    [
        ("3", 'launch 1 ("k"), each: must be a table of names with lists of values'),
        ("{}", "must be a table of names"),
        ('{ T = "f16" }', "'T' must be a list of values"),
        ("{ T = [] }", "'T' must be a list of values"),
        ('{ T = [["f16"]] }', "the values of 'T' must be texts or numbers"),
        ('{ T = ["1", 1] }', "'T' has a value twice"),
        ('{ "a b" = ["x"] }', "'a b' is no name"),
        ('{ T = ["f16"], U = [1] }', "'{U}' stands nowhere in the launch"),
        ('{ t = ["f16"] }', "'{t}' stands nowhere in the launch"),
        ('{ T = ["a::b"] }', "name: a launch name is a non-empty string without '::'"),
        (f"{{ T = [{', '.join(map(str, range(1001)))}] }}", "makes more than 1000 launches"),
    ],
)
def test_mistakes_are_named(each: str, told: str) -> None:
    with pytest.raises(SpecError) as caught:
        launches(f'[[launch]]\nkernel = "k"\neach = {each}\nargs = {{ x = "{{T}}[N]" }}\n')
    assert told in caught.value.message
    assert caught.value.line == (1 if told.startswith("name:") else 3)  # no key `name` is written there


def test_a_place_without_values_is_named() -> None:
    with pytest.raises(SpecError, match=r"there is no 'TILES'; did you mean 'TILE'. for '.TILES.'"):
        launches('[[launch]]\nkernel = "k"\neach = { TILE = [1] }\nargs = { n = "{TILES}", m = "{TILE}" }\n')


def test_without_each_braces_mean_what_they_always_meant() -> None:
    (raw,) = launches('[[launch]]\nkernel = "k"\nargs = { s = "{T}" }\n')
    assert raw.fields["args"] == {"s": "{T}"}


def test_the_command_knows_each_launch_by_its_name(tileverify: CommandLine) -> None:
    Path("kernels.py").write_text(KERNEL, encoding="utf-8")
    Path("kernels.tileverify.toml").write_text(
        '[[launch]]\nkernel = "double"\neach = { T = ["f16", "f32"], TILE = [64, 128] }\n'
        'grid = ["cdiv(N, {TILE})"]\nargs = { x = "{T}[N]", out = "{T}[N]", TILE = "{TILE}" }\n',
        encoding="utf-8",
    )
    checked = tileverify("check", "kernels.py")
    assert checked.code == 0
    assert "4 proved, 0 refuted" in checked.out
    assert "double [f32-64]" in checked.out
    assert "1 proved, 0 refuted" in tileverify("check", "kernels.py::double::f32-128").out


def test_decorators_and_check_take_it(tmp_path: Path) -> None:
    import tileverify

    path = tmp_path / "decorated.py"
    fields = (
        'each={"TILE": [64, 128]}, args={"x": "f32[N]", "out": "f32[N]", "TILE": "{TILE}"}, grid=["cdiv(N, {TILE})"]'
    )
    head, body = KERNEL.split("@ct.kernel")
    path.write_text(f"{head}import tileverify\n\n@tileverify.launch({fields})\n@ct.kernel{body}", encoding="utf-8")
    assert [result.launch for result in tileverify.check(path, cache=False).results] == ["64", "128"]
