# Sourced by the other scripts: makes .venv and installs merlinkit into it, once.
#
#   prepare EXTRAS    for example: prepare ""   or   prepare "[dev,plan]"
#
# A stamp in .venv remembers for each EXTRAS what was installed, so a second call takes no time. Set
# PYTHON to use another interpreter than python3; an existing .venv keeps the one it was made with.

prepare() {
    local extras="$1" python="${PYTHON:-python3}" stamp=".venv/.installed" ours wanted others
    if [ ! -x .venv/bin/python ]; then
        if ! "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
            echo "merlinkit needs Python 3.11 to 3.14; '$python' is $("$python" --version 2>&1). Set PYTHON=/path/to/python." >&2
            exit 2
        fi
        echo "making .venv with $("$python" --version)"
        "$python" -m venv .venv
    fi
    ours="$(_minor_version .venv/bin/python)"
    if [ -n "${PYTHON:-}" ] && [ "$ours" != "$(_minor_version "$PYTHON")" ]; then
        echo "note: .venv has Python $ours, PYTHON=$PYTHON is $(_minor_version "$PYTHON"); remove .venv to change it" >&2
    fi
    # One line for each EXTRAS. All lines of an older state go when that state is left, since
    # installing for one EXTRAS changes packages that another shares.
    wanted="$(cat pyproject.toml constraints.txt | cksum | tr ' ' '-') $(.venv/bin/python -c 'import platform; print(platform.python_version())')"
    if [ -f "$stamp" ] && grep -qxF "$wanted $extras" "$stamp"; then
        return
    fi
    echo "installing merlinkit$extras into .venv (the first time this takes a few minutes)"
    others="$([ -f "$stamp" ] && grep -F "$wanted " "$stamp" | grep -vxF "$wanted $extras" || true)"
    # Killed while it installs, nothing counts as installed.
    rm -f "$stamp"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --constraint constraints.txt --editable ".$extras"
    { [ -z "$others" ] || echo "$others"; echo "$wanted $extras"; } >"$stamp"
}

_minor_version() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo "unknown"
}
