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
user=${PATCHQ_NAME:-patchq}
mail=${PATCHQ_EMAIL:-patchq@localhost}
pushed=$(git ls-remote origin "refs/heads/$branch" | cut -f 1)
if [ -n "$pushed" ]; then
    git fetch -q --depth 1 origin "$pushed"
    if [ "$(git show -s --format=%ce "$pushed")" != "$mail" ]; then
        echo "$branch has commits of others; it is left as it is"
        exit 0
    fi
fi
git checkout -q -B "$branch"
patchq lock "$tag"
findings patchq rebase --onto "$tag" --keep-going
findings patchq next "$tag" --markdown >"$work/body.md"
patchq fetch
findings patchq report --all --format html -o "$page"
output page "$page"

git add upstream.lock series
GIT_AUTHOR_NAME=$user GIT_AUTHOR_EMAIL=$mail GIT_COMMITTER_NAME=$user GIT_COMMITTER_EMAIL=$mail \
    git commit -q -m "Rebase the series onto $tag"
if [ -z "$pushed" ] || ! git diff --quiet "$pushed" HEAD; then
    git push -q --force-with-lease="$branch:$pushed" origin "$branch"
fi
title="Rebase the series onto $tag"
request=$(request_for "$branch")
if [ -n "$request" ]; then
    update_request "$request" "$title" "$work/body.md"
else
    open_request "$branch" "${PATCHQ_TARGET_BRANCH:-main}" "$title" "$work/body.md"
fi
