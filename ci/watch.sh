#!/usr/bin/env bash
# Find upstream's newest tag; lock it, rebase the series, open or update one request with the result.
# Run in the workspace. See docs/how-to/ci.md for the environment.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/forge.sh"
page=${PATCHQ_PAGE:-$(mktemp -d)/lifecycle.html}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

findings patchq outdated >"$work/tags"
tag=$(tail -n 1 "$work/tags")
output tag "$tag"
if [ -z "$tag" ]; then
    echo "upstream has no new tag"
    exit 0
fi

branch="patchq/$tag"
git checkout -q -B "$branch"
patchq lock "$tag"
findings patchq rebase --onto "$tag" --keep-going
findings patchq next "$tag" --markdown >"$work/body.md"
patchq fetch
findings patchq report --all --format html -o "$page"
output page "$page"

git add upstream.lock series
git -c user.name="${PATCHQ_NAME:-patchq}" -c user.email="${PATCHQ_EMAIL:-patchq@localhost}" \
    commit -q -m "Rebase the series onto $tag"
git push -q --force origin "$branch"
title="Rebase the series onto $tag"
request=$(request_for "$branch")
if [ -n "$request" ]; then
    update_request "$request" "$title" "$work/body.md"
else
    open_request "$branch" "${PATCHQ_TARGET_BRANCH:-main}" "$title" "$work/body.md"
fi
