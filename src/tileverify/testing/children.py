"""Launches in processes that tests start: forks leave verdicts, all others what a recording is made of."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Final

from ..record.run import RecordOptions, recording_environment
from .verdicts import Judged

_VERDICTS: Final = "verdicts"


class Children:
    """``folder`` is this process's own; ``gpu`` as in `recording_environment`.

    The environment makes every Python that is started from here write down its launches.
    """

    def __init__(self, folder: Path, gpu: str) -> None:
        self._folder = folder = folder.resolve()
        self._journals = folder / "journals"
        self._verdicts = folder / _VERDICTS
        for each in (self._journals, self._verdicts, folder / "startup"):
            each.mkdir()
        new = recording_environment(self._journals, folder / "startup", gpu, RecordOptions())
        self._before = {name: os.environ.get(name) for name in new}
        os.environ.update(new)

    def close(self) -> None:
        """Put the environment back as it was."""
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def leave(self, launch: Judged) -> None:
        """Called in a fork: write down what it launched."""
        with open(self._verdicts / f"{os.getpid()}.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(launch.data()) + "\n")

    def launches(self) -> list[Judged]:
        """What child processes launched since the last time, verified."""
        found = []
        for path in sorted(self._verdicts.iterdir()):
            found += [Judged(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
            path.unlink()
        if any(path.stat().st_size for path in self._journals.glob("*.jsonl")):
            found += self._recorded()
        return found

    def _recorded(self) -> list[Judged]:
        from ..cache import default_folder
        from ..check import CheckOptions, check_paths
        from ..record.recording import Recording
        from .verdicts import judged

        recording = Recording()
        recording.read_journals(self._journals, RecordOptions().launches)
        for path in self._journals.glob("*.jsonl"):
            path.write_text("")  # a child that lives on goes on behind its end
        if not recording.specialisations:
            return []
        made = self._folder / "made"
        made.mkdir()
        try:
            recording.write(made, {})
            report = check_paths([str(made)], options=CheckOptions(cache=default_folder()))
        finally:
            shutil.rmtree(made)
        names = {f"{made / entry['bytecode']}": entry["kernel"] for entry in recording.specialisations.values()}
        results = [
            replace(each, kernel=names.get(str(Path(each.file).resolve()), each.kernel)) for each in report.results
        ]
        seconds = [sum((r.time_ms.decode, r.time_ms.execute, r.time_ms.prove)) / 1000 for r in results]
        return [judged(each, new=True, seconds=spent) for each, spent in zip(results, seconds, strict=True)]
