"""``check --watch``: check again what a change of a file may have changed.

Every round is a process of its own, so that nothing of an older version of a source is still loaded, and a crash is
no more than a round that failed.
"""
