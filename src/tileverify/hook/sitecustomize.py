"""Start-up file of a recorded Python: loads the hook, then whatever ``sitecustomize`` it stands in front of.

``record`` copies it into a folder of its own at the head of ``PYTHONPATH``.
"""

import importlib
import importlib.util
import os
import sys


def _start() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    folder = os.environ.get("TILEVERIFY_RECORD_HOOK")
    if folder and os.environ.get("TILEVERIFY_RECORD_OUT"):
        name = "_tileverify_record_hook"
        spec = importlib.util.spec_from_file_location(
            name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        hook = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        sys.modules[name] = hook
        spec.loader.exec_module(hook)  # type: ignore[union-attr]
        hook.install()
    own = sys.modules.pop("sitecustomize")
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = own


_start()
