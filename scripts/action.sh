#!/usr/bin/env bash
# What the GitHub Action does: evaluate, report, compare. BENCHMARK and SOLUTIONS name the files; BASELINE and FAIL_UNDER are
# gates and may be empty. Where GITHUB_OUTPUT and GITHUB_STEP_SUMMARY are set, the run and the report go there.
set -uo pipefail
read -r -d '' -a solutions <<<"$SOLUTIONS" # also of several lines
# A baseline that cannot be read is said before anything is marked.
[ -z "$BASELINE" ] || markbook report "$BASELINE" --format json --output "$(mktemp -d)" >/dev/null || exit
markbook exam --benchmark "$BENCHMARK" --solutions "${solutions[@]}" --output markbook-runs || exit
run=$(ls -td markbook-runs/evaluation_* | head -n 1)
markbook report "$run" --format md --output markbook-report || exit
report=markbook-report/report.md
# A comment and a summary have no place for pictures beside them; each chart's table stands there too.
sed -i '/^!\[.*\](.*\.png)$/d' "$report"
[ -z "$BASELINE" ] || markbook compare "$BASELINE" "$run" --format md --html markbook-report/comparison.html >>"$report" || exit
# GitHub refuses a comment of more than 65,536 characters.
[ "$(wc -c <"$report")" -le 60000 ] || { truncate -s 60000 "$report" && printf '\n\nThe rest is left out: a comment holds no more.\n' >>"$report"; }
# The pages with charts go along as an artefact, and the comment says where it is.
cp "$run/report.html" markbook-report/report.html || exit
[ -z "${GITHUB_RUN_ID:-}" ] || printf '\nCharts, and the answers to each sample: artefact `markbook-report` of [this run](%s/%s/actions/runs/%s).\n' \
  "$GITHUB_SERVER_URL" "$GITHUB_REPOSITORY" "$GITHUB_RUN_ID" >>"$report"
{
  echo "run=$run"
  echo "report=$report"
} >>"${GITHUB_OUTPUT:-/dev/stdout}"
cat "$report" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
[ -z "$BASELINE$FAIL_UNDER" ] || markbook compare "$run" ${BASELINE:+--fail-if-worse "$BASELINE"} ${FAIL_UNDER:+--fail-under "$FAIL_UNDER"}
