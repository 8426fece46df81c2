"""A kernel with more faults than are usually looked for can be taken on board by a baseline."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command_line import CommandLine

NAMES = [f"out{number}" for number in range(6)]
KERNEL = f"""\
import cuda.tile as ct


@ct.kernel
def many(x, {", ".join(NAMES)}):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(64,))
""" + "".join(f"    ct.store({name}, index=(i // 2,), tile=tile)\n" for name in NAMES)
SPEC = '[[launch]]\nkernel = "many"\ngrid = ["cdiv(N, 64)"]\n\n[launch.args]\n' + "".join(
    f'{name} = "f32[N]"\n' for name in ("x", *NAMES)
)


def findings(out: str) -> list[str]:
    (result,) = json.loads(out)["results"]
    assert result["verdict"] == "refuted"
    return [finding["sites"][0]["array"] for finding in result["findings"]]


def test_a_baseline_takes_any_number_of_findings(tileverify: CommandLine) -> None:
    Path("many.py").write_text(KERNEL)
    Path("many.tileverify.toml").write_text(SPEC)
    usual = tileverify("check", "many.py", "--format", "json")
    assert (usual.code, findings(usual.out)) == (1, NAMES[:4])
    assert json.loads(usual.out)["results"][0]["cut_short"] is True
    known = ("check", "many.py", "--baseline", "known.json", "--format", "json")
    written = tileverify(*known, "--update-baseline")
    assert (written.code, findings(written.out)) == (0, NAMES)
    assert "cut_short" not in json.loads(written.out)["results"][0]
    assert "baseline known.json: written with 6 findings" in written.err
    assert tileverify(*known).code == 0
    text = KERNEL.replace("index=(i // 2,), tile=tile", "index=(i // 2,), tile=tile + 1", 1)
    Path("many.py").write_text(text + "    ct.store(x, index=(i // 3,), tile=tile)\n")
    assert tileverify(*known).code == 1  # what is new fails, though it is the seventh
    Path("many.py").write_text(KERNEL.replace("i // 2", "i", 5))
    mended = tileverify(*known, "--update-baseline")
    assert (mended.code, findings(mended.out)) == (0, NAMES[5:])
    assert "5 findings gone and removed, 1 finding left" in mended.err
