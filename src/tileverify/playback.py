"""Saved witnesses, as files that `check --playback` wrote import them; see `reports.playback`."""

from __future__ import annotations

from .reports.playback import FaultNotSeen, Replayed, bytecode, count_on_device, no_device, replay, replay_report

__all__ = ["FaultNotSeen", "Replayed", "bytecode", "count_on_device", "no_device", "replay", "replay_report"]
