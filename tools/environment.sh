#!/usr/bin/env bash
# Makes VENV a working environment for this checkout: tools/environment.sh VENV [EXTRA,...]
#
# Needs nothing but a Python >= 3.11 (the first of $PYTHON, python3, python3.14 ... python3.11 that qualifies).
# A finished environment is recognised by its stamp in a few milliseconds; a missing, half-made, moved or outdated
# one is made again.  Extras add up: asking for fewer than are installed changes nothing.  With LOCKED=1 the versions
# are those of requirements.lock.
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

# The stamp says where the environment was made, from what, and with which extras.
stamped() { [ ! -f "$stamp" ] || sed -n "$1p" "$stamp"; }
project_sum() { cksum <pyproject.toml; }

# A copied environment runs the original's code, so its place must be right if it is known.
is_usable() {
    [[ "$(stamped 1)" == "" || "$(stamped 1)" == "$PWD" ]] &&
        qualifies "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1
}

create() {
    local python
    python=$(find_python)
    say "creating $venv with $python"
    "$python" -m venv --clear "$venv"
}

install() {
    local target=.
    [ -z "$1" ] || target=".[$1]"
    say "installing tileverify${1:+ with $1}"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input ${LOCKED:+--constraint requirements.lock} \
        --editable "$target"
}

installed=$(stamped 3)
if [ -f "$stamp" ] && [ "$(stamped 1)" = "$PWD" ] && [ "$(stamped 2)" = "$(project_sum)" ] &&
    "$venv/bin/python" -c '' 2>/dev/null; then
    missing=
    for extra in ${extras//,/ }; do
        case ",$installed," in *",$extra,"*) ;; *) missing=$extra ;; esac
    done
    [ -n "$missing" ] || exit 0
fi

wanted=$(printf '%s\n' ${installed//,/ } ${extras//,/ } | sort -u | sed '/^$/d' | paste -sd, -)
if is_usable; then
    rm -f "$stamp"
    install "$wanted" || { say "repairing $venv"; create; install "$wanted"; }
else
    create
    install "$wanted"
fi
printf '%s\n%s\n%s\n' "$PWD" "$(project_sum)" "$wanted" >"$stamp"
