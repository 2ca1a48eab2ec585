#!/usr/bin/env bash
# Report on a request: lint, verify, the report as a comment. Fails on findings.
# Run in the workspace. See docs/how-to/ci.md for the environment.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/forge.sh"
page=${PATCHQ_PAGE:-$(mktemp -d)/lifecycle.html}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

findings patchq lint | tee "$work/lint"
findings patchq fetch
set -- --format markdown -o "$work/report.md"
if [ -n "${PATCHQ_FAIL_ON:-}" ]; then set -- "$@" --fail-on "$PATCHQ_FAIL_ON"; fi
findings patchq report "$@" || echo "There is no base after the newest series to report on." >"$work/report.md"
if [ "${PATCHQ_VERIFY:-true}" = true ]; then
    set -- verify
    if [ "${PATCHQ_TRUST:-false}" = true ]; then set -- "$@" --trust-upstream; fi
    findings patchq "$@" >"$work/verify"
    { echo; echo '<details><summary>verify</summary>'; echo; sed 's/^/    /' "$work/verify"; echo '</details>'; } >>"$work/report.md"
fi
findings patchq report --all --format html -o "$page"
output page "$page"
if [ -n "${PATCHQ_REQUEST:-}" ]; then comment "$PATCHQ_REQUEST" "$work/report.md"; else cat "$work/report.md"; fi
exit "$found"
