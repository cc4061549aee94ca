#!/usr/bin/env bash
# Measures a pull request against its base with `prony ab`, writes one comment, and exits with the status of `prony ab`.
#
#   PRONY_BASE          the revision to compare with
#   PRONY_SERVER        the server, if the folder has several
#   PRONY_FOLDER        the project's folder [.]
#   PRONY_ARGUMENTS     more arguments of `prony ab`, separated by spaces
#   PRONY_COMMENT       true writes the comment [true]
#   PRONY_PULL_REQUEST  the number of the pull request; without it there is no comment
#   GITHUB_REPOSITORY, GITHUB_TOKEN, GITHUB_API_URL    where the comment goes
#   GITHUB_OUTPUT, GITHUB_STEP_SUMMARY                 files for the status and for the summary
set -euo pipefail

readonly base=${PRONY_BASE:?names the revision to compare with}
readonly server=${PRONY_SERVER:-}
readonly folder=${PRONY_FOLDER:-.}
# Builds and servers of the pull request must not inherit the token.
readonly token=${GITHUB_TOKEN:-}
unset GITHUB_TOKEN
readonly api=${GITHUB_API_URL:-https://api.github.com}
readonly repository=${GITHUB_REPOSITORY:-}
readonly pull_request=${PRONY_PULL_REQUEST:-}
# It is invisible, and finds the comment of an earlier push. Each server and folder has a comment of its own.
marker="<!-- prony ab: ${server//--/-} ${folder//--/-} -->"
readonly marker
# GitHub takes 65,536 characters.
readonly most_characters=60000

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A shallow checkout lacks the base.
fetch_base() {
  if git rev-parse --quiet --verify "$base^{commit}" >/dev/null; then return; fi
  git fetch --quiet --depth 1 origin "$base" || return 1
  git rev-parse --quiet --verify "$base^{commit}" >/dev/null || git rev-parse --quiet --verify FETCH_HEAD >/dev/null
}

# The base as a revision that this clone knows.
base_revision() {
  git rev-parse --quiet --verify "$base^{commit}" || git rev-parse --verify FETCH_HEAD
}

# compare: runs `prony ab` and gives its exit status.
compare() {
  local arguments=() more=()
  read -r -a more <<<"${PRONY_ARGUMENTS:-}"
  if [[ $base == -* ]] || ! fetch_base; then
    echo "error: the base \`$base\` is not a revision that can be fetched" | tee "$work/log" >&2
    return 2
  fi
  arguments=(ab "$(base_revision)" HEAD)
  if [[ -n $server ]]; then arguments+=(--server "$server"); fi
  arguments+=(--markdown "$work/comparison.md" ${more[@]+"${more[@]}"})
  local status=0
  # The log goes to the job and, for the comment, to a file; with pipefail the status is that of Prony.
  { prony "${arguments[@]}" 2>&1 >&3 | tee "$work/log" >&2; } 3>&1 || status=$?
  return $status
}

# title STATUS
title() {
  case $1 in
    0) echo 'nothing is worse' ;;
    1) echo 'something is worse, or the change does not build or sends wrong responses' ;;
    2) echo 'the two cannot be compared' ;;
    3) echo 'nothing is worse, but something is inconclusive, not comparable or missing' ;;
    *) echo "stopped with status $1" ;;
  esac
}

# comment STATUS: the comment's text.
comment() {
  local status=$1
  echo "$marker"
  if [[ -s $work/comparison.md ]]; then
    head -c "$most_characters" "$work/comparison.md"
    if (($(wc -c <"$work/comparison.md") > most_characters)); then
      printf '\n\n…the rest is in the log of the job.\n'
    fi
  else
    # Four spaces make it code, whatever it contains.
    printf '### Prony: %s\n\n' "$(title "$status")"
    tail -n 20 "$work/log" 2>/dev/null | sed 's/^/    /'
  fi
}

# api_call METHOD PATH [FILE]: the response of GitHub's API. The token is not on the command line, which others can read.
api_call() {
  local data=()
  if [[ -n ${3:-} ]]; then data=(--data-binary "@$3"); fi
  curl -fsS --retry 3 --max-time 60 -X "$1" -H @- \
    -H 'Accept: application/vnd.github+json' -H 'Content-Type: application/json' \
    ${data[@]+"${data[@]}"} "$api/repos/$repository/$2" <<<"Authorization: Bearer $token"
}

# earlier_comment: the id of the comment with the marker, if there is one.
earlier_comment() {
  local page=1 found
  while ((page <= 30)); do
    api_call GET "issues/$pull_request/comments?per_page=100&page=$page" >"$work/page.json" || return 1
    found=$(python3 "$(dirname "${BASH_SOURCE[0]}")/comments.py" find "$marker" <"$work/page.json") || return 1
    case $found in
      more) page=$((page + 1)) ;;
      *)
        echo "$found"
        return
        ;;
    esac
  done
}

post() {
  local id
  python3 "$(dirname "${BASH_SOURCE[0]}")/comments.py" body <"$work/comment.md" >"$work/comment.json" || return 1
  id=$(earlier_comment) || return 1
  if [[ -n $id ]]; then
    api_call PATCH "issues/comments/$id" "$work/comment.json" >/dev/null
  else
    api_call POST "issues/$pull_request/comments" "$work/comment.json" >/dev/null
  fi
}

cd "$folder"
status=0
compare || status=$?
comment "$status" >"$work/comment.md"
if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then cat "$work/comment.md" >>"$GITHUB_STEP_SUMMARY"; fi
if [[ -n ${GITHUB_OUTPUT:-} ]]; then echo "status=$status" >>"$GITHUB_OUTPUT"; fi
if [[ ${PRONY_COMMENT:-true} == true && -n $pull_request && -n $repository ]]; then
  # A pull request from a fork has no right to write; the verdict stands without the comment.
  post || echo 'warning: the comment could not be written; does the token have "pull-requests: write"?' >&2
fi
echo "prony ab: $(title "$status") (exit status $status)"
exit "$status"
