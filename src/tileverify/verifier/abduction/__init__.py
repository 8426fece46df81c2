"""What may be wrong without harm, because what it finds is proved again: clauses, facts, wider contracts."""

from __future__ import annotations
