#!/usr/bin/env bash
# What the GitHub Action does: mark, report, compare. BENCHMARK and SOLUTIONS name the files; BASELINE and FAIL_UNDER are
# gates and may be empty. Where GITHUB_OUTPUT and GITHUB_STEP_SUMMARY are set, the run and the report go there.
set -uo pipefail
read -r -a solutions <<<"$SOLUTIONS"
# A baseline that cannot be read is said before anything is marked.
[ -z "$BASELINE" ] || markbook report "$BASELINE" --format json --output "$(mktemp -d)" >/dev/null || exit
markbook exam --benchmark "$BENCHMARK" --solutions "${solutions[@]}" --output markbook-runs || exit
run=$(ls -td markbook-runs/evaluation_* | head -n 1)
markbook report "$run" --format md --output markbook-report || exit
report=markbook-report/report.md
# A comment and a summary have no place for pictures beside them; each chart's table stands there too.
sed -i '/^!\[.*\](.*\.png)$/d' "$report"
[ -z "$BASELINE" ] || markbook compare "$run" "$BASELINE" --format md >>"$report" || exit
{
  echo "run=$run"
  echo "report=$report"
} >>"${GITHUB_OUTPUT:-/dev/stdout}"
cat "$report" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
[ -z "$BASELINE$FAIL_UNDER" ] || markbook compare "$run" ${BASELINE:+--fail-if-worse "$BASELINE"} ${FAIL_UNDER:+--fail-under "$FAIL_UNDER"}
