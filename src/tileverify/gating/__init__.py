"""The gate: untrusted kernel sources in, an answer out, nothing touched.

What is trusted: the Linux kernel (seccomp, Landlock, namespaces), this interpreter and the packages that it loads,
the caller's own launch spec and reference, and whatever `check` trusts.  What is not: the source, the launch specs that
came with it, the process that runs it and everything that this process says, bytecode included.

A submission passes, in this order,

1. the screen (`screen`), which admits nothing but kernels, helpers, constants and dataclasses;
2. a confined process that imports and compiles it (`compile_job`);
3. a second confined process that never ran it, which reads the bytecode as hostile and proves it (`prove_job`).

Both processes are forks of a worker that has loaded everything (`worker`, `preload`), confine themselves for good
before they look at the submission (`isolation`), and are counted in time, memory and output.

The answer speaks of the bytecode whose hash it names, and of the launches of its contract.  Code that passes the screen
is compiled as it stands; where the screen is off, bytecode and source may have nothing to do with each other.  So run
the bundle, which holds that very bytecode and checks the contract at each launch, not the source.
"""

from .gate import Submission, judge
from .gated import GatedKernel, GateOptions, GateResult, IsolationUnavailable, Limits, Reason, SandboxFailure
from .guides import guide
from .sandbox.sandbox import Sandbox
from .screen import screen

__all__ = [
    "GateOptions",
    "GateResult",
    "GatedKernel",
    "IsolationUnavailable",
    "Limits",
    "Reason",
    "Sandbox",
    "SandboxFailure",
    "Submission",
    "guide",
    "judge",
    "screen",
]
