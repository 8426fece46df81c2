"""The command ``gate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..system.errors import NoKernelFound, UsageError
from .shell import emit, talk

if TYPE_CHECKING:
    from ..gating import GateResult
    from ..gating.runs.workers import CandidateFile, OnStdin, Workers

_EXIT_CODES = """\b
Exit codes:
  0  every kernel is accepted: proved, and nothing else speaks against it
  1  something is not accepted
  2  bad usage, or untrusted code cannot be isolated on this machine
  4  there is no submission
"""


def _show_guide(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is None or context.resilient_parsing:
        return
    from ..gating.guides import guide

    emit(guide(value))
    context.exit()


@click.command(epilog=_EXIT_CODES)
@click.argument("target", default="-", metavar="[-|FILE|FOLDER]")
@click.option(
    "--spec", type=click.Path(path_type=Path), help="Launches that you vouch for; each of them must be proved."
)
@click.option("--trust-specs", is_flag=True, help="Vouch for the NAME.tileverify.toml beside each NAME.py.")
@click.option(
    "--bundle", type=click.Path(path_type=Path), metavar="DIR", help="Write a bundle of each accepted kernel."
)
@click.option(
    "--reference", metavar="FILE.py::FUNCTION", help="What a proved kernel must compute, on small inputs (NumPy)."
)
@click.option(
    "--no-exact",
    "exact",
    flag_value=False,
    default=True,
    help="Compare with --reference on floats alone; else what is not decided on exact numbers is refused.",
)
@click.option(
    "--complete",
    is_flag=True,
    help="What a proved kernel writes it must write in full, on small inputs; tell where it is proved for all.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, (1 << 48) - 1),
    help="Of the inputs for --reference and --complete; without it they are secret until the result tells it.",
)
@click.option("--deny-requires", is_flag=True, help="Prove under the contract alone, add no clause to it.")
@click.option(
    "--allow-undetermined",
    is_flag=True,
    help="Accept kernels whose results depend on what the specification leaves open (TV403), "
    "or may depend on the order of their blocks.",
)
@click.option(
    "--allow-idle",
    is_flag=True,
    help="With --reference, accept kernels that compute what changes nothing at any input that was tried.",
)
@click.option(
    "--allow-requires",
    is_flag=True,
    help="Without --spec, accept what is proved for a part of the inferred launches alone.",
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "bubblewrap", "landlock"]),
    default="auto",
    show_default=True,
    help="What stands around untrusted code, besides seccomp and resource limits.",
)
@click.option("--no-hints", "hints", flag_value=False, default=True, help="Look for no repairs of what is refuted.")
@click.option("-j", "--jobs", type=click.IntRange(1), help="Workers for a folder; as many as processors by default.")
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Where the workers for a folder run: processes here, or actors on a Ray cluster.",
)
@click.option("--ray-address", metavar="ADDRESS", help="The cluster's; also RAY_ADDRESS, or a cluster that runs here.")
@click.option(
    "--results",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Answers go into FILE.sqlite or FILE.parquet instead of stdout; a run that was ended goes on from there.",
)
@click.option(
    "--guide",
    type=click.Choice(["triton", "cutile"]),
    is_eager=True,
    expose_value=False,
    callback=_show_guide,
    help="Print how to write kernels that are proved, for a model's prompt, and exit.",
)
@click.pass_context
def gate(
    context: click.Context,
    target: str,
    spec: Path | None,
    trust_specs: bool,
    bundle: Path | None,
    reference: str | None,
    exact: bool,
    complete: bool,
    seed: int | None,
    deny_requires: bool,
    allow_undetermined: bool,
    allow_idle: bool,
    allow_requires: bool,
    isolation: str,
    hints: bool,
    jobs: int | None,
    engine: str,
    ray_address: str | None,
    results: Path | None,
) -> None:
    """Judge untrusted kernels: one line of JSON for each, accepted only if it is proved.

    A submission is Python source (stdin, a file, or every .py file under a folder).  It is screened, then compiled and
    proved in a sandbox without files, network or processes.  Run what was accepted from its bundle: the verdict speaks
    of the bytecode, not of what the source might do elsewhere.
    """
    if spec is not None and trust_specs:
        raise UsageError("--spec and --trust-specs exclude each other")
    if ray_address is not None and engine != "ray":
        raise UsageError("--ray-address needs --engine ray")
    from ..contract.spec_files import launches_of_text
    from ..gating import GateOptions
    from ..gating.runs.gate_run import GatePlan, open_table, stream, tabulate
    from ..gating.runs.workers import read_text

    for option, path in (("--bundle", bundle), ("--results", results)):
        _refuse_inside(option, path, target)
    text = None if spec is None else read_text(spec, "--spec")
    if spec is not None and text is not None:
        # The caller's own mistake is told at once, and not as a fault of every submission.
        launches_of_text(text, spec)
    found = _candidates(target, relative=results is not None)
    if bundle is not None:
        _make(bundle)
    options = GateOptions(
        text,
        deny_requires,
        bundle is not None,
        isolation=isolation,
        hints=hints,
        reference=reference,
        exact=exact,
        complete=complete,
        allow_undetermined=allow_undetermined,
        allow_idle=allow_idle,
        allow_requires=allow_requires,
        seed=seed,
    )

    def workers(most: int) -> Workers:
        return _workers(engine, jobs, ray_address, isolation, most)

    def keep(candidate: CandidateFile | OnStdin, result: GateResult) -> None:
        try:
            if bundle is not None:
                result.write_bundles(bundle, candidate.folder)
        except OSError as error:
            raise UsageError(f"--bundle: cannot write: {error.strerror or error}") from None

    plan = GatePlan(found, options, trust_specs, workers, keep)
    counts = stream(plan, emit) if results is None else tabulate(plan, open_table(results, options, trust_specs))
    talk(f"{counts.accepted} of {counts.kernels} accepted")
    context.exit(0 if counts.accepted == counts.kernels else 1)


def _candidates(target: str, relative: bool) -> tuple[CandidateFile | OnStdin, ...]:
    """``relative``: names start at the folder, not here, so that a run can be continued from anywhere."""
    from ..gating.runs.workers import OnStdin, candidates
    from ..system.printable import display_path

    if target == "-":
        if sys.stdin.isatty():
            talk("reading a submission from standard input, to its end (Ctrl-D)")
        return (OnStdin(),)
    path = Path(target)
    if not path.is_file() and not path.is_dir():
        if path.exists():
            raise UsageError(f"'{target}' is neither a file nor a folder; read it as standard input: gate - < {target}")
        raise UsageError(f"there is no file or folder '{target}'")
    base = path if path.is_dir() else path.parent
    found = candidates(path, lambda file: file.relative_to(base).as_posix() if relative else display_path(file))
    if not found:
        raise NoKernelFound("there is no submission", target)
    return found


def _workers(engine: str, jobs: int | None, ray_address: str | None, isolation: str, most: int) -> Workers:
    """Those of the engine, no more than ``most``."""
    if engine == "ray":
        from ..gating.runs.workers import RayWorkers

        return RayWorkers(min(jobs or most, most), isolation, ray_address)
    if most == 1:
        from ..gating.runs.workers import ThisProcess

        return ThisProcess(isolation)
    from ..gating.runs.workers import LocalWorkers
    from ..system.parallel import usable_processors

    return LocalWorkers(min(jobs or usable_processors(), most), isolation)


def _refuse_inside(option: str, path: Path | None, target: str) -> None:
    """Whoever made the folder of submissions may have put a link, or answers of his own, in that place."""
    if path is not None and Path(target).is_dir() and path.resolve().is_relative_to(Path(target).resolve()):
        raise UsageError(f"{option}: '{path}' lies among the submissions, which nobody trusts; name another place")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--bundle: cannot make the folder '{folder}': {error.strerror or error}") from None
