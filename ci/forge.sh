# What differs between forges: sourced by watch.sh and review.sh.
# PATCHQ_FORGE is github (its command line gh) or gitlab (glab); each reads its token from the environment.

forge=${PATCHQ_FORGE:-github}

# request_for BRANCH: the number of the open request from it, empty if there is none
request_for() {
    case "$forge" in
        github) gh pr list --head "$1" --state open --json number --jq '.[0].number // empty' ;;
        gitlab) glab mr list --source-branch "$1" --output json | sed -n 's/.*"iid": *\([0-9]*\).*/\1/p' | head -1 ;;
    esac
}

# open_request BRANCH TARGET TITLE FILE
open_request() {
    case "$forge" in
        github) gh pr create --head "$1" --base "$2" --title "$3" --body-file "$4" ;;
        gitlab) glab mr create --source-branch "$1" --target-branch "$2" --title "$3" --description "$(cat "$4")" --yes ;;
    esac
}

# update_request NUMBER TITLE FILE
update_request() {
    case "$forge" in
        github) gh pr edit "$1" --title "$2" --body-file "$3" ;;
        gitlab) glab mr update "$1" --title "$2" --description "$(cat "$3")" ;;
    esac
}

# comment NUMBER FILE: one comment, written over at the next run
comment() {
    case "$forge" in
        github) gh pr comment "$1" --body-file "$2" --edit-last --create-if-none ;;
        gitlab) glab mr note "$1" --message "$(cat "$2")" --unique ;;
    esac
}

# output NAME VALUE: for later steps
output() {
    if [ -n "${GITHUB_OUTPUT:-}" ]; then echo "$1=$2" >>"$GITHUB_OUTPUT"; fi
}

# findings COMMAND…: run it; exit code 1 (findings) is no failure here, and is remembered in $found
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
