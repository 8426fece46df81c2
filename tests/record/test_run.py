"""Whole runs: what is kept of a program, what is said when there is nothing to keep, and what is left on disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tileverify.frontend.sources.discover import SourceFailure, discover
from tileverify.record.recorded_command import RecordOptions, record
from tileverify.system.errors import NoKernelFound, UsageError

from .conftest import PRELUDE, Run

ONE_LAUNCH = """
x = np.zeros(64, np.float32)
ct.launch(STREAM, (4,), scale, (x, np.zeros_like(x), 3, 16))
"""


def test_each_specialisation_has_bytecode_specs_and_an_index_entry(run: Run) -> None:
    recorded = run("""
        for n in (64, 61, 64, 128):
            x = np.zeros(n, np.float32)
            ct.launch(STREAM, (ct.cdiv(n, 16),), scale, (x, np.zeros_like(x), 3, 16))
    """)
    summary = recorded.summary
    assert (summary.exit_code, summary.kernels, summary.specialisations, summary.launches) == (0, 1, 2, 3)
    divisible, odd = recorded.specialisations
    assert [launch["grid"] for launch in divisible["launches"]] == [[4, 1, 1], [8, 1, 1]]
    assert divisible["signature"][0]["shape_divisible_by"] == [16]
    assert odd["signature"][0]["shape_divisible_by"] == [1]
    assert divisible["source"]["name"] == "scale"
    assert divisible["source"]["file"].endswith("program.py")
    assert divisible["source"]["line"] == 7  # the decorator's line in the prelude
    for entry in (divisible, odd):
        assert (recorded.folder / entry["bytecode"]).read_bytes().startswith(b"\x7fTileIR\x00")
        assert entry["symbol"].startswith("scale_K")


def test_the_recording_can_be_checked_as_bytecode_and_as_source(run: Run) -> None:
    recorded = run("""
        @ct.kernel
        def copy(pair, n, kind: ct.Constant):
            tile = ct.load(pair[0], (ct.bid(0),), (16,))
            ct.store(pair[1], (ct.bid(0),), tile * n)
        if __name__ == "__main__":
            x = np.zeros((8, 48), np.float32)
            row = x[3]
            ct.launch(STREAM, (3,), copy, ((row, x[4]), 7, True))
            ct.launch(STREAM, (1,), scale, (x[:, 0], x[4], 2, 8))
            ct.launch(STREAM, (3,), scale, (row, row, 2.5, 16))
    """)
    assert recorded.summary.failures == ()
    units = list(discover([str(recorded.folder)]))
    assert [unit for unit in units if isinstance(unit, SourceFailure)] == []
    assert len(units) == 3
    program = Path(recorded.specialisations[0]["source"]["file"])
    specs = recorded.folder / recorded.specialisations[0]["source_spec"]
    units = list(discover([str(program)], spec_file=specs))
    assert [unit.error for unit in units if isinstance(unit, SourceFailure)] == []
    assert len(units) == 3


def test_a_failing_command_keeps_its_launches_and_its_exit_code(run: Run) -> None:
    recorded = run(ONE_LAUNCH + "raise SystemExit(7)")
    assert recorded.summary.exit_code == 7
    assert recorded.summary.launches == 1
    assert recorded.index["runs"][0]["exit_code"] == 7


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals")
def test_a_killed_command_keeps_what_it_wrote(run: Run) -> None:
    recorded = run(ONE_LAUNCH + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert recorded.summary.exit_code == 128 + signal.SIGKILL
    assert recorded.summary.launches == 1


def test_what_a_command_leaves_running_may_go_on_writing(run: Run) -> None:
    writing = "import os, sys, time\nend = time.monotonic() + 3\nwhile time.monotonic() < end:\n"
    writing += "    os.makedirs(sys.argv[1], exist_ok=True)\n    open(f'{sys.argv[1]}/{time.monotonic_ns()}', 'w')"
    recorded = run(
        ONE_LAUNCH
        + "import os, subprocess, sys, time\nfolder = os.environ['TILECPP_CACHE_DIR']\n"
        + f"subprocess.Popen([sys.executable, '-S', '-c', {writing!r}, folder])\n"
        + "while not os.path.isdir(folder) or len(os.listdir(folder)) < 1000:\n    time.sleep(0.01)\n"
    )
    assert (recorded.summary.exit_code, recorded.summary.launches) == (0, 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_recorder_that_is_told_to_end_writes_what_it_has(tmp_path: Path, number: signal.Signals) -> None:
    program, output = tmp_path / "program.py", tmp_path / "out"
    wait = "import os, pathlib, time\npathlib.Path('child').write_text(str(os.getpid()))\ntime.sleep(600)\n"
    program.write_text(f"{PRELUDE}{ONE_LAUNCH}{wait}")
    command = [sys.executable, "-m", "tileverify", "record", "--no-gpu", "-o", str(output)]
    with subprocess.Popen([*command, "--", sys.executable, str(program)], cwd=tmp_path) as recorder:
        while not (tmp_path / "child").exists():
            assert recorder.poll() is None
            time.sleep(0.05)
        recorder.send_signal(number)
    assert recorder.returncode == 2
    index = json.loads((output / "index.json").read_text())
    assert len(index["specialisations"]) == 1
    assert index["runs"][0]["exit_code"] == 128 + number
    assert sorted(path.name for path in tmp_path.iterdir()) == ["child", "out", "program.py"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)


def test_child_processes_are_recorded_too(run: Run) -> None:
    recorded = run("""
        import os, subprocess, sys
        x = np.zeros(64, np.float32)
        if len(sys.argv) == 1:
            subprocess.run([sys.executable, __file__, "child"], check=True)
            if os.fork() == 0:
                ct.launch(STREAM, (2,), scale, (x, np.zeros_like(x), 3, 32))
                os._exit(0)
            os.wait()
        ct.launch(STREAM, (4,), scale, (x, np.zeros_like(x), 3, 16))
    """)
    assert sorted(entry["signature"][3]["value"] for entry in recorded.specialisations) == [16, 32]
    assert recorded.summary.launches == 2


def test_a_fork_launches_what_its_parent_launched_before(run: Run) -> None:
    recorded = run("""
        import os
        def launch(n):
            x = np.zeros(n, np.float32)
            ct.launch(STREAM, (ct.cdiv(n, 16),), scale, (x, np.zeros_like(x), 3, 16))
        launch(64)
        if os.fork() == 0:
            launch(64)
            launch(128)
            os._exit(0)
        os.wait()
        launch(256)
    """)
    (entry,) = recorded.specialisations
    assert sorted(launch["grid"][0] for launch in entry["launches"]) == [4, 8, 16]


def test_limits_are_kept_and_reported(run: Run) -> None:
    recorded = run(
        """
        for tile in (4, 8, 16):
            for n in (16, 32, 48, 64):
                x = np.zeros(n, np.float32)
                ct.launch(STREAM, (ct.cdiv(n, tile),), scale, (x, np.zeros_like(x), 3, tile))
        """,
        specialisations=2,
        launches=3,
    )
    assert [len(entry["launches"]) for entry in recorded.specialisations] == [3, 3]
    assert recorded.summary.left_out == 1


def test_append_extends_and_without_it_the_recording_is_replaced(run: Run) -> None:
    run(ONE_LAUNCH)
    other = ONE_LAUNCH.replace("16", "32").replace("64", "96")
    assert run(other, append=True).summary.specialisations == 2
    again = run(other, append=True)
    assert (again.summary.specialisations, again.summary.launches) == (2, 2)
    assert len(again.index["runs"]) == 3
    assert run(ONE_LAUNCH).summary.specialisations == 1
    assert {path.suffix for path in again.folder.iterdir() if path.is_file()} == {".json", ".toml", ".tileirbc"}
    assert len(list(again.folder.glob("*.tileirbc"))) == 1


def test_nothing_else_is_left_on_disk(run: Run, tmp_path: Path) -> None:
    run(ONE_LAUNCH)
    run(ONE_LAUNCH)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == ["out", "program.py"]


def test_a_program_without_launches_changes_nothing(run: Run, tmp_path: Path) -> None:
    before = run(ONE_LAUNCH).index
    with pytest.raises(NoKernelFound, match=r"launched no kernel of Tile IR"):
        run("")
    with pytest.raises(NoKernelFound, match=r"launched no kernel of Tile IR"):
        run("", append=True)
    assert Path(tmp_path / "out" / "index.json").exists()
    assert before["specialisations"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "program.py"]


def test_a_command_without_cuda_tile_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoKernelFound, match=r"exit code 3 and imported neither cuda\.tile"):
        record([sys.executable, "-c", "raise SystemExit(3)"], output=tmp_path / "out", no_gpu=True)
    assert list(tmp_path.iterdir()) == []


def test_launches_that_cannot_be_recorded_say_why(run: Run) -> None:
    with pytest.raises(NoKernelFound, match=r"none of its launches .*; the first failed with .* power of two$"):
        run("""
            x = np.zeros(64, np.float32)
            try:
                ct.launch(STREAM, (4,), scale, (x, np.zeros_like(x), 3, 15))
            except ct.TileError:
                pass
        """)


@pytest.mark.parametrize(
    ("command", "message"),
    [([], "no command"), (["no-such-program-here"], "no such program"), (["/"], "cannot run '/'")],
)
def test_a_command_that_cannot_start(tmp_path: Path, command: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        record(command, output=tmp_path / "out", no_gpu=True)
    assert list(tmp_path.iterdir()) == []


def test_a_script_without_python_gets_a_hint(tmp_path: Path) -> None:
    script = tmp_path / "prog.py"
    script.write_text("")
    with pytest.raises(UsageError, match="write python in front of it"):
        record([str(script)], output=tmp_path / "out", no_gpu=True)


def test_a_folder_of_other_things_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="no recording"):
        record([sys.executable, "-c", ""], output=tmp_path, no_gpu=True)
    with pytest.raises(UsageError, match="is a file"):
        record([sys.executable, "-c", ""], output=tmp_path / "notes.txt", no_gpu=True)
    (tmp_path / "index.json").write_text('{"schema": "other"}')
    with pytest.raises(UsageError, match="not a recording"):
        record([sys.executable, "-c", ""], output=tmp_path, no_gpu=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_the_program_keeps_its_own_start_up_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os\nos.environ['SEEN'] = 'yes'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code = "import os, sys; assert os.environ['SEEN'] == 'yes'; assert 'startup' not in ''.join(sys.path)"
    with pytest.raises(NoKernelFound, match="exit code 0"):
        record([sys.executable, "-c", code], output=tmp_path / "out", no_gpu=True)


def test_the_program_sees_no_trace_of_tileverify(tmp_path: Path) -> None:
    code = "import sys; assert not {'tileverify', 'numpy', 'torch'} & {name.split('.')[0] for name in sys.modules}"
    with pytest.raises(NoKernelFound, match="exit code 0"):
        record([sys.executable, "-c", code], output=tmp_path / "out", no_gpu=True)


def test_pytest_launches_carry_their_test(tmp_path: Path) -> None:
    from .conftest import PRELUDE

    test = tmp_path / "test_kernel.py"
    indented = ONE_LAUNCH.strip().replace("\n", "\n    ")
    test.write_text(f"{PRELUDE}\n\ndef test_scale():\n    {indented}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    record(command, output=tmp_path / "out", no_gpu=True, options=RecordOptions())
    (spec,) = (tmp_path / "out").glob("scale.*.toml")
    assert "# recorded in " in spec.read_text()
    assert "test_scale (call)" in spec.read_text()


def test_the_device_is_the_one_asked_for(run: Run) -> None:
    recorded = run(
        "from cuda.tile._cext import get_compute_capability\nassert get_compute_capability() == (9, 0)\n" + ONE_LAUNCH,
        capability=(9, 0),
        bytecode_version="13.3",
    )
    assert recorded.summary.exit_code == 0
    (entry,) = recorded.specialisations
    assert (entry["architecture"], entry["bytecode_version"]) == ("sm_90", "13.3")


def test_output_below_missing_folders(tmp_path: Path) -> None:
    assert os.listdir(tmp_path) == []
    with pytest.raises(NoKernelFound):
        record([sys.executable, "-c", ""], output=tmp_path / "a" / "b", no_gpu=True)
