# What differs between forges: sourced by watch.sh and review.sh.
# PATCHQ_FORGE is github (by its command line gh) or gitlab (by its API, see gitlab.py); each reads its token from the
# environment.

forge=${PATCHQ_FORGE:-github}
mark='<!-- patchq -->'

gitlab() { python3 "$here/gitlab.py" "$@"; }

# request_for BRANCH: the number of the open request from it, empty if there is none
request_for() {
    case "$forge" in
        github) gh pr list --head "$1" --state open --json number --jq '.[0].number // empty' ;;
        gitlab) gitlab request_for "$1" ;;
    esac
}

# open_request BRANCH TARGET TITLE FILE
open_request() {
    case "$forge" in
        github) gh pr create --head "$1" --base "$2" --title "$3" --body-file "$4" ;;
        gitlab) gitlab open_request "$@" ;;
    esac
}

# update_request NUMBER TITLE FILE
update_request() {
    case "$forge" in
        github) gh pr edit "$1" --title "$2" --body-file "$3" ;;
        gitlab) gitlab update_request "$@" ;;
    esac
}

# comment NUMBER FILE: one comment, known by its first line, which the next run writes over
comment() {
    case "$forge" in
        github)
            local id
            id=$(gh api "repos/{owner}/{repo}/issues/$1/comments" --paginate \
                --jq ".[] | select(.body | startswith(\"$mark\")) | .id") || return
            id=${id%%[!0-9]*}
            if [ -n "$id" ]; then
                gh api --method PATCH "repos/{owner}/{repo}/issues/comments/$id" --field "body=@$2" --silent
            else
                gh pr comment "$1" --body-file "$2"
            fi
            ;;
        gitlab) gitlab comment "$@" ;;
    esac
}

# output NAME VALUE: for later steps
output() {
    if [ -n "${GITHUB_OUTPUT:-}" ]; then echo "$1=$2" >>"$GITHUB_OUTPUT"; fi
}

# findings COMMAND…: run it; exit code 1 (findings) is no failure here, and is remembered in $found.
# Not for a pipe: what is remembered there is lost.
found=0
findings() {
    local code=0
    "$@" || code=$?
    case "$code" in
        0) ;;
        1) found=1 ;;
        *) return "$code" ;;
    esac
}
