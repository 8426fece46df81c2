#!/usr/bin/env bash
# Makes VENV a working environment for this checkout: tools/environment.sh VENV [EXTRA,...]
#
# Needs nothing but a Python >= 3.11 (the first of $PYTHON, python3, python3.14 ... python3.11 that qualifies).
# A finished environment is recognised by its stamp in a few milliseconds; a missing, half-made, moved or outdated
# one is made again.  Extras add up: asking for fewer than are installed changes nothing.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=$1
extras=${2:-}
stamp=$venv/.tileverify

say() { printf '%s\n' "$*" >&2; }

qualifies() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null && qualifies "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    say "error: no Python >= 3.11 with the modules venv and ensurepip; install one or set PYTHON=/path/to/python3"
    exit 2
}

# What the environment must have been made from.  The path is part of it: a copied environment runs the original's code.
fingerprint() { { pwd; cat pyproject.toml; } | cksum; }

is_usable() { qualifies "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; }

create() {
    say "creating $venv with $1"
    "$1" -m venv --clear "$venv"
}

install() {
    local target=.
    [ -z "$1" ] || target=".[$1]"
    say "installing tileverify${1:+ with $1}"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --editable "$target"
}

installed=
if [ -f "$stamp" ] && [ "$(sed -n 1p "$stamp")" = "$(fingerprint)" ] && "$venv/bin/python" -c '' 2>/dev/null; then
    installed=$(sed -n 2p "$stamp")
    missing=
    for extra in ${extras//,/ }; do
        case ",$installed," in *",$extra,"*) ;; *) missing=$extra ;; esac
    done
    [ -n "$missing" ] || exit 0
fi

wanted=$(printf '%s\n' ${installed//,/ } ${extras//,/ } | sort -u | paste -sd, -)
rm -f "$stamp"
if is_usable; then
    install "$wanted" || { say "repairing $venv"; create "$(find_python)"; install "$wanted"; }
else
    create "$(find_python)"
    install "$wanted"
fi
printf '%s\n%s\n' "$(fingerprint)" "$wanted" >"$stamp"
