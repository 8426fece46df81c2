"""Gate runs: folders of candidates, spread over workers, with a table of answers that survives a killed run.

`candidates` lists a folder, `workers` gives each worker of an engine (local processes, Ray) one submission at a time,
`gate_run` puts the answers in order or into a table (SQLite, Parquet).
Nothing here sees what a submission does: each is judged by `gating.judge`, in a sandbox of the worker's own.
"""
