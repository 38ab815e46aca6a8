#!/usr/bin/env bash
# Runs the bundled test programs on this machine. Prints what failed and, last, a table; full logs go
# to the folder that the variable OUT names, by default logs/ beside this script.
#
#   run-tests.sh [--filter PATTERN] [--timeout SECONDS] [--sanitizer]
#
#   --filter PATTERN   only the tests that this GoogleTest filter selects
#   --timeout SECONDS  limit for each program (default 900)
#   --sanitizer        run the small GPU cases (*Sanitizer*) under each tool of compute-sanitizer
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
logs=${OUT:-$here/logs}
export RESIDENT_MATRICES=$here/matrices RESIDENT_COMMAND=$here/bin/resident
filter='*' limit=900 sanitizer=false

while (($# > 0)); do
  case $1 in
    --filter) filter=${2:?--filter needs a pattern} && shift ;;
    --timeout) limit=${2:?--timeout needs seconds} && shift ;;
    --sanitizer) sanitizer=true ;;
    *)
      sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
      exit 1
      ;;
  esac
  shift
done

table=()
failures=0 total_passed=0

# The number in a summary line of GoogleTest, such as "[  PASSED  ] 12 tests."; 0 without that line.
# The last one counts: a test may print such a line too.
count() { sed -n "s/^\[ *$1 *\] \([0-9]*\) tests\?[.,].*/\1/p" "$2" | tail -n 1 | grep . || echo 0; }

# run_tests NAME COMMAND...: one row of the table. A program of which no test passed has failed too,
# unless the user chose the tests.
run_tests() {
  local name=$1 log=$logs/$1.log status=0 result=passed start=$SECONDS passed
  shift
  timeout --kill-after=10 "$limit" "$@" --gtest_color=no </dev/null >"$log" 2>&1 || status=$?
  passed=$(count PASSED "$log")
  if ((status == 124 || status == 137)); then
    result="timed out"
  elif ((status != 0)); then
    result="failed ($status)"
  elif ((passed == 0)) && [[ $filter == '*' ]]; then
    result="nothing passed"
  fi
  total_passed=$((total_passed + passed))
  if [[ $result != passed ]]; then
    failures=$((failures + 1))
    printf -- '--- %s: %s; the end of %s ---\n' "$name" "$result" "$log"
    tail -n 40 "$log"
  fi
  table+=("$(printf '%-28s %-14s %7d %7d %8d %8d' "$name" "$result" "$passed" \
    "$(count FAILED "$log")" "$(count SKIPPED "$log")" $((SECONDS - start)))")
}

find_sanitizer() {
  local candidate
  for candidate in compute-sanitizer /usr/local/cuda/bin/compute-sanitizer \
    /usr/local/cuda*/compute-sanitizer/compute-sanitizer; do
    if command -v "$candidate"; then return; fi
  done
  echo "compute-sanitizer is not on this machine" >&2
  return 1
}

mkdir -p "$logs"
if [[ $sanitizer == true ]]; then
  checker=$(find_sanitizer)
  for tool in memcheck racecheck synccheck; do
    run_tests "$tool" "$checker" --tool "$tool" --error-exitcode 9 \
      "$here/bin/resident-tests" --gtest_filter='*Sanitizer*'
  done
else
  for program in "$here"/bin/resident*-tests; do
    run_tests "$(basename "$program")" "$program" --gtest_filter="$filter"
  done
fi

printf '\n%-28s %-14s %7s %7s %8s %8s\n' program result passed failed skipped seconds
printf '%s\n' "${table[@]}"
((failures == 0 && total_passed > 0))
