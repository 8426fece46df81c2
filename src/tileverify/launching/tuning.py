"""The fastest of the variants that are proved.

    tuned = tileverify.tune(space, stream, grid_fn, kernel, args_fn, hints_fn, record="tuning.jsonl")
    tileverify.launch(stream, grid_fn(tuned.best), kernel, args_fn(tuned.best))

Takes what ``cuda.tile.tune.exhaustive_search`` takes.  A variant that is not proved for its arguments is neither
compiled for the GPU nor run, and one whose compiled code differs from its bytecode (TV503) is not run.  The others are
timed by events with the L2 cache swept before every launch; the best two then run in turns, as neighbours in time
differ less than runs minutes apart.  After every timed launch the memory that it writes is put back, so that each
begins with what the caller's arrays hold, and leaves them so.  ``record`` keeps every time with what it depends on, so
that a search that was cut off goes on where it was.

``equal`` asks of each variant, too, whether it is the same function as the first that is proved, over the real numbers;
one that is not is refused as if it were not proved.

``print(tuned)`` shows a line for each variant, with the bytes that it moves beside the least that it could.  They are
counted when somebody asks, so that tuning takes no longer.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeAlias, TypeVar

from ..backend.assembler import CodeDiffers
from ..backend.guard import LaunchRefused
from ..backend.ledger import WrittenBytes
from ..results.details import Traffic
from ..system.errors import TileVerifyError, UsageError
from .bundled import BundledKernel
from .launch_cache import Planned
from .launch_log import leaves
from .launch_types import AnyPlan, Arguments, GivenGrid, Stream
from .on_cpu import HostPlan, SavedHostMemory

if TYPE_CHECKING:
    from .launcher import Launcher

SHORT: Final = 7
"""Timed launches of each variant."""

LONG: Final = 31
"""Timed launches of each of the best two."""

T = TypeVar("T")

Called: TypeAlias = tuple[GivenGrid, object, Arguments]
"""Grid, kernel and arguments of a launch."""


class Saved(Protocol):
    """Memory as it was."""

    def restore(self, stream: Stream) -> None:
        """Put it back, behind all that ``stream`` was given."""


class Timer(Protocol):
    """What is asked of the driver."""

    def provenance(self, device: int) -> Mapping[str, str]:
        """Device, driver, and whatever else times depend on."""

    def saved(self, device: int, ranges: Sequence[tuple[int, int]], stream: Stream) -> Saved:
        """What these bytes hold, from the first one to the end of each range."""

    def microseconds(self, plan: Any, stream: Stream) -> float:
        """Of one launch, behind a sweep of the L2 cache."""


class HostTimer:
    """The interpreter's time, which says nothing about a GPU; programs that tune run with it all the same."""

    def provenance(self, device: int) -> Mapping[str, str]:
        return {"device": "reference interpreter"}

    def saved(self, device: int, ranges: Sequence[tuple[int, int]], stream: Stream) -> Saved:
        return SavedHostMemory(ranges)

    def microseconds(self, plan: AnyPlan, stream: Stream) -> float:
        start = time.perf_counter()
        plan.launch(stream)
        return 1e6 * (time.perf_counter() - start)


class Likeness(Protocol):
    """What a comparison of two kernels came to (`equality.answer_text`)."""

    @property
    def different(self) -> bool: ...

    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Trial(Generic[T]):
    """One variant: its median time, or why it did not run.  ``recorded``: the time is that of an earlier search.
    ``equality``: what its comparison with the first came to, where one was asked for.  ``count``: what it moves."""

    config: T
    microseconds: float | None = None
    refusal: str = ""
    recorded: bool = False
    equality: str = ""
    count: Callable[[], Traffic] | None = field(default=None, repr=False, compare=False)

    @property
    def traffic(self) -> Traffic | None:
        """The bytes that the launch moves, counted now; ``None`` for a variant that did not run."""
        return None if self.count is None else self.count()

    def __str__(self) -> str:
        """``64: 12.3 us, moves 1.03 times the least``."""
        if self.microseconds is None:
            return f"{self.config}: {self.refusal}"
        from ..reports.traffic_tables import ratio_words

        traffic = self.traffic
        moves = f", {ratio_words(traffic)}" if traffic is not None and not traffic.reason else ""
        return f"{self.config}: {self.microseconds:.4g} us{moves}"


@dataclass(frozen=True, slots=True)
class Tuned(Generic[T]):
    """``best`` with its median time in the run-off; ``trials`` in the order of the search space."""

    best: T
    microseconds: float
    trials: tuple[Trial[T], ...]

    def __str__(self) -> str:
        """A line for each variant."""
        return "\n".join(map(str, self.trials))


@dataclass
class Tuner:
    """``plan(stream, grid, kernel, arguments)`` verifies, and gives what can be launched; ``likeness`` compares a
    launch with another one, the first; ``count`` gives what counts the bytes of a launch that was planned."""

    plan: Callable[[Stream, GivenGrid, object, Arguments], Planned]
    timer: Timer
    likeness: Callable[[Called, Called], Likeness] | None = None
    count: Callable[[Called], Callable[[], Traffic] | None] | None = None

    def tune(
        self,
        search_space: Iterable[T],
        stream: Stream,
        grid_fn: Callable[[T], GivenGrid],
        kernel: object,
        args_fn: Callable[[T], Arguments],
        hints_fn: Callable[[T], Mapping[str, object]] | None = None,
        *,
        record: str | Path | None = None,
        equal: bool | Callable[[T], tuple[GivenGrid, Arguments]] = False,
    ) -> Tuned[T]:
        """``equal``: compare the variants; a function gives grid and arguments of a smaller launch to do it at.

        Raises `UsageError` for an empty space, and `LaunchRefused` where no variant is proved.
        """
        known = _Record(Path(record)) if record is not None else _Record(None)
        compared = _Comparisons(self.likeness, equal) if equal is not False else None
        variants: dict[str, object] = {}
        trials: list[Trial[T]] = []
        ready: dict[int, _Ready] = {}
        for number, config in enumerate(search_space):
            variant = self._variant(variants, kernel, config, hints_fn)
            grid, arguments = grid_fn(config), tuple(args_fn(config))
            said = ""
            try:
                planned = self.plan(stream, grid, variant, arguments)
                if compared is not None:
                    said = compared.of(config, (grid, variant, arguments))
            except (LaunchRefused, CodeDiffers) as refused:
                trials.append(Trial(config, refusal=refused.message))
                continue
            provenance = self._timer(planned).provenance(planned.use.device)
            key = _key(config, planned, provenance)
            median = known.time(key)
            count = None if self.count is None else self.count((grid, variant, arguments))
            trials.append(Trial(config, median, recorded=median is not None, equality=said, count=count))
            if median is None:
                median = self._median([planned], stream, SHORT)[0]
                known.note(key, config, median, provenance)
                trials[-1] = Trial(config, median, equality=said, count=count)
            ready[number] = _Ready(median, planned, tuple(leaves(arguments)))
            if len(ready) > 2:
                del ready[max(ready, key=lambda each: (ready[each].microseconds, each))]
        if not trials:
            raise UsageError("the search space is empty")
        return self._run_off(trials, ready, stream)

    @staticmethod
    def _variant(
        variants: dict[str, object],
        kernel: object,
        config: T,
        hints_fn: Callable[[T], Mapping[str, object]] | None,
    ) -> object:
        """The kernel of a configuration; one with hints is made once for each set of them."""
        own: Any = kernel(config) if callable(kernel) and not hasattr(kernel, "_annotated_function") else kernel
        hints = dict(hints_fn(config)) if hints_fn is not None else {}
        if not hints:
            return own
        key = f"{id(own)} {sorted(hints.items())!r}"
        if key not in variants:
            variants[key] = own.replace_hints(**hints)
        return variants[key]

    def _median(self, plans: Sequence[Planned], stream: Stream, count: int) -> list[float]:
        """Of launches in turns, the first of each left out; in the interpreter, of one."""
        times: list[list[float]] = [[] for _ in plans]
        rounds = 1 if all(isinstance(each.plan, HostPlan) for each in plans) else count + 1
        saved = self._saved(plans, stream)
        for _ in range(rounds):
            for planned, own in zip(plans, times, strict=True):
                try:
                    own.append(self._timer(planned).microseconds(planned.plan, stream))
                finally:
                    for each in saved:
                        each.restore(stream)
        return [statistics.median(own[1:] or own) for own in times]

    def _saved(self, plans: Sequence[Planned], stream: Stream) -> list[Saved]:
        """Everything that one of the launches may write, as it is now; most variants write the same."""
        timers = {planned.use.device: self._timer(planned) for planned in plans}
        return [timer.saved(device, _written(plans, device), stream) for device, timer in timers.items()]

    def _timer(self, planned: Planned) -> Timer:
        return HostTimer() if isinstance(planned.plan, HostPlan) else self.timer

    def _run_off(self, trials: Sequence[Trial[T]], ready: Mapping[int, _Ready], stream: Stream) -> Tuned[T]:
        if not ready:
            raise LaunchRefused(f"no variant is proved; the first: {trials[0].refusal}")
        finalists = sorted(ready, key=lambda each: (ready[each].microseconds, each))
        medians = self._median([ready[number].planned for number in finalists], stream, LONG)
        best, number = min(zip(medians, finalists, strict=True))
        return Tuned(trials[number].config, best, tuple(trials))


def _written(plans: Iterable[Planned], device: int) -> tuple[tuple[int, int], ...]:
    """The bytes that launches on a device may write, each in one range."""
    found = WrittenBytes()
    for planned in plans:
        for access in planned.use.accesses:
            if access.write and planned.use.device == device:
                found.add(access)
    return found.ranges


@dataclass(frozen=True, slots=True)
class _Ready:
    """One of the best two so far; ``kept``: the arrays that its plan knows by address, among what it was given."""

    microseconds: float
    planned: Planned
    kept: tuple[object, ...]


@dataclass
class _Comparisons(Generic[T]):
    """Of each variant with the first."""

    likeness: Callable[[Called, Called], Likeness] | None
    at: bool | Callable[[T], tuple[GivenGrid, Arguments]]
    first: tuple[T, Called] | None = None

    def of(self, config: T, called: Called) -> str:
        """What to say of the variant; raises `LaunchRefused` for one that is different."""
        if callable(self.at):
            grid, arguments = self.at(config)
            called = (grid, called[1], tuple(arguments))
        if self.first is None:
            self.first = config, called
            return "the one that others are compared with"
        assert self.likeness is not None
        found = self.likeness(called, self.first[1])
        if found.different:
            raise LaunchRefused(f"it is not the same function as {self.first[0]!r}: {found.text}")
        return found.text


def on_device(
    plan: Callable[[Stream, GivenGrid, object, Arguments], Planned],
    likeness: Callable[[Called, Called], Likeness] | None = None,
    count: Callable[[Called], Callable[[], Traffic] | None] | None = None,
) -> Tuner:
    """The tuner of `tileverify.tune`, which times variants on the GPU's own clock."""
    from ..backend.gpu.loaded import CudaTimer

    return Tuner(plan, CudaTimer(), likeness, count)


def _key(config: object, planned: Planned, provenance: Mapping[str, str]) -> str:
    """All that a time depends on, as far as it is known: machine code, launch, sizes, machine."""
    spans = [access.end - access.start for access in planned.use.accesses]
    launch = (config, planned.plan.grid, spans, sorted(provenance.items()))
    return hashlib.sha256(repr(launch).encode() + b"\0" + planned.plan.code).hexdigest()


class _Record:
    """One JSON object a line; a line that was cut off counts as absent."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._times: dict[str, float] = {}
        self._cut_off = False
        if file is not None and file.is_file():
            text = file.read_text(encoding="utf-8")
            self._cut_off = bool(text) and not text.endswith("\n")
            for line in text.splitlines():
                try:
                    entry = json.loads(line)
                    self._times[entry["key"]] = float(entry["microseconds"])
                except (ValueError, KeyError, TypeError):
                    continue

    def time(self, key: str) -> float | None:
        return self._times.get(key)

    def note(self, key: str, config: object, time: float, provenance: Mapping[str, str]) -> None:
        self._times[key] = time
        if self._file is None:
            return
        entry = {"key": key, "config": repr(config), "microseconds": time, **provenance}
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write("\n" * self._cut_off + json.dumps(entry) + "\n")
            self._cut_off = False
        except OSError as error:
            raise TileVerifyError(f"cannot write the record '{self._file}': {error.strerror or error}") from None


# ---------------------------------------------------------------------------------------------------------------- moved
# The bytes that a launch of a program moves, counted from the kernel as it is compiled for it.


def counting(launcher: Launcher, called: Called) -> Callable[[], Traffic] | None:
    """What counts when it is called, and once; ``None`` for a kernel of a bundle or a grid that is left open.

    It keeps the kernel and the sizes, not the arrays.
    """
    grid, kernel, arguments = called
    if grid is None or isinstance(kernel, BundledKernel):
        return None
    unit = launcher.unit_of(grid, kernel, arguments)

    @cache
    def count() -> Traffic:
        from ..pipeline.unit_summary import unit_traffic

        return unit_traffic(unit, {}, numbers_only=True)

    return count
