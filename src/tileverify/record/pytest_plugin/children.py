"""Launches in processes that tests start: forks leave verdicts, all others what a recording is made of."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...results import Verdict
from ..recorded import Gpu
from ..recorded_command import RecordOptions, recording_environment
from .judged import Judged

if TYPE_CHECKING:
    from ..recorded import LaunchFailure
    from ..recording import Recording

_VERDICTS: Final = "verdicts"
_EVERYTHING: Final = RecordOptions(specialisations=10**9, launches=10**9, repeats=True)


class Children:
    """``folder`` is this process's own; ``gpu``: what launches do in child processes.

    The environment makes every Python that is started from here write down its launches.
    """

    def __init__(self, folder: Path, gpu: Gpu) -> None:
        self._folder = folder = folder.resolve()
        self._journals = folder / "journals"
        self._verdicts = folder / _VERDICTS
        for each in (self._journals, self._verdicts, folder / "startup"):
            each.mkdir()
        new = recording_environment(self._journals, folder / "startup", gpu, _EVERYTHING)
        self._recording: Recording | None = None
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
            found += [Judged.of(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
            path.unlink()
        return found + self._recorded()

    def _recorded(self) -> list[Judged]:
        if not any(path.stat().st_size for path in self._journals.glob("*.jsonl")):
            return []
        from ...pipeline import CheckOptions, check_paths
        from ...pipeline.verdict_cache import default_folder
        from ..recording import Recording
        from .judged import judged

        if self._recording is None:
            self._recording = Recording()
        told = len(self._recording.failures)
        made = self._recording.read_journals(self._journals, _EVERYTHING.launches)
        lost = [_unseen(each) for each in self._recording.failures[told:] if each["outcome"] == "failed"]
        if not made:
            return lost
        since = Recording(bytecode=self._recording.bytecode)
        for stem, launch in made:
            known = self._recording.specialisations[stem]
            since.specialisations.setdefault(stem, {**known, "launches": []})["launches"].append(launch)
        folder = self._folder / "made"
        folder.mkdir()
        try:
            since.write(folder, {})
            report = check_paths([str(folder)], options=CheckOptions(cache=default_folder()))
        finally:
            shutil.rmtree(folder)
        names = {f"{folder / entry['bytecode']}": entry["kernel"] for entry in since.specialisations.values()}
        results = [
            replace(each, kernel=names.get(str(Path(each.file).resolve()), each.kernel)) for each in report.results
        ]
        seconds = [sum((r.time_ms.decode, r.time_ms.execute, r.time_ms.prove)) / 1000 for r in results]
        return lost + [judged(each, new=True, seconds=spent) for each, spent in zip(results, seconds, strict=True)]


def _unseen(failure: LaunchFailure) -> Judged:
    """A launch that was made and could not be written down."""
    sentence = f"'{failure['kernel']}' was not verified: {failure['type']}: {failure['message']}"
    return Judged(str(failure["kernel"]), Verdict.ERROR.value, sentence, sentence, True, 0.0)
