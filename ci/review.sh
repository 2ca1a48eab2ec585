#!/usr/bin/env bash
# Report on a request: lint, verify, the report as a comment. Fails on findings.
# Run in the workspace. See docs/how-to/ci.md for the environment.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/forge.sh"
page=${PATCHQ_PAGE:-$(mktemp -d)/lifecycle.html}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
longest=65000 # characters of a comment

# add TITLE FILE: what a command said, folded, below the report
add() {
    cat "$2"
    { echo; echo "<details><summary>$1</summary>"; echo; sed 's/^/    /' "$2"; echo; echo '</details>'; } >"$work/part"
    if [ $(($(wc -m <"$work/report.md") + $(wc -m <"$work/part"))) -gt "$longest" ]; then
        printf '\n%s: too long for a comment; it is in the log of the job.\n' "$1" >"$work/part"
    fi
    cat "$work/part" >>"$work/report.md"
}

findings patchq lint >"$work/lint"
echo "$mark" >"$work/report.md"
findings patchq fetch
patchq status --json >"$work/status"
if python3 - "$work/status" <<'END'; then
import json, sys
status = json.load(open(sys.argv[1], encoding="utf-8"))
tags = [series["tag"] for series in status["series"]]
sys.exit(not tags or tags[-1] == status["bases"][-1])
END
    set -- --format markdown -o "$work/onto-the-next"
    if [ -n "${PATCHQ_FAIL_ON:-}" ]; then set -- "$@" --fail-on "$PATCHQ_FAIL_ON"; fi
    findings patchq report "$@"
    cat "$work/onto-the-next" >>"$work/report.md"
else
    echo "There is no base after the newest series to report on." >>"$work/report.md"
fi
add lint "$work/lint"
if [ "${PATCHQ_VERIFY:-true}" = true ]; then
    set -- verify
    if [ "${PATCHQ_TRUST:-false}" = true ]; then set -- "$@" --trust-upstream; fi
    findings patchq "$@" >"$work/verify"
    add verify "$work/verify"
fi
findings patchq report --all --format html -o "$page"
output page "$page"

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$work/report.md" >>"$GITHUB_STEP_SUMMARY"; fi
if [ -z "${PATCHQ_REQUEST:-}" ]; then
    cat "$work/report.md"
elif ! comment "$PATCHQ_REQUEST" "$work/report.md"; then
    # a request from a fork has a token that may only read
    echo "the report could not be written as a comment; it is:" >&2
    cat "$work/report.md"
fi
exit "$found"
