#!/usr/bin/env bash
# What the GitHub Action does: mark, report, compare. BENCHMARK and SOLUTIONS name the files; BASELINE and FAIL_UNDER are
# gates and may be empty. Where GITHUB_OUTPUT and GITHUB_STEP_SUMMARY are set, the run and the report go there.
set -uo pipefail
read -r -a solutions <<<"$SOLUTIONS"
markbook exam --benchmark "$BENCHMARK" --solutions "${solutions[@]}" --output markbook-runs || exit
run=$(ls -td markbook-runs/evaluation_* | head -n 1)
markbook report "$run" --format md --output markbook-report || exit
{
  echo "run=$run"
  echo "report=markbook-report/report.md"
} >>"${GITHUB_OUTPUT:-/dev/stdout}"
cat markbook-report/report.md >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
[ -z "$BASELINE$FAIL_UNDER" ] || markbook compare "$run" ${BASELINE:+--fail-if-worse "$BASELINE"} ${FAIL_UNDER:+--fail-under "$FAIL_UNDER"}
