# Steps with a title, and how long each took.
# shellcheck shell=bash

# A line for each step that has ended: seconds, title, result. A file, because steps run in shells of their own.
readonly steps=$work/steps.$$
: >"$steps"

# The status of the last attempt.
status=0

# attempt TITLE COMMAND…: prints the title, runs the command, prints how long it took, and sets `status`. It gives no
# status of its own: Bash goes on after errors in whatever runs in a condition.
attempt() {
  local title=$1 begin=$SECONDS result=
  shift
  printf '\n== %s\n' "$title"
  set +e
  (
    set -e
    "$@"
  )
  status=$?
  set -e
  ((status == 0)) || result=' FAILED'
  printf -- '-- %s: %d s%s\n' "$title" $((SECONDS - begin)) "$result"
  printf '%7d  %s%s\n' $((SECONDS - begin)) "$title" "$result" >>"$steps"
}

# step TITLE COMMAND…: the same, and a failure ends the script.
step() {
  attempt "$@"
  ((status == 0)) || exit "$status"
}

# The table of all steps, and the total.
table() {
  printf '\nseconds  step\n'
  cat "$steps"
  printf '%7d  in total\n' "$SECONDS"
  rm -f "$steps"
}
