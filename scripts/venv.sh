# Sourced by the other scripts: makes .venv and installs merlinkit into it, once.
#
#   prepare EXTRAS    for example: prepare ""   or   prepare "[dev,plan]"
#
# A stamp in .venv remembers what was installed, so a second call takes no time. Set PYTHON to use
# another interpreter than python3.

prepare() {
    local extras="$1" python="${PYTHON:-python3}" stamp wanted
    if ! "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
        echo "merlinkit needs Python 3.11 to 3.14; '$python' is $("$python" --version 2>&1). Set PYTHON=/path/to/python." >&2
        exit 2
    fi
    wanted="$(cat pyproject.toml constraints.txt | cksum) $extras"
    stamp=".venv/.installed"
    if [ -f "$stamp" ] && grep -qxF "$wanted" "$stamp"; then
        return
    fi
    if [ ! -x .venv/bin/python ]; then
        echo "making .venv with $("$python" --version)"
        "$python" -m venv .venv
    fi
    echo "installing merlinkit$extras into .venv (the first time this takes a few minutes)"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --constraint constraints.txt --editable ".$extras"
    echo "$wanted" >>"$stamp"
}
