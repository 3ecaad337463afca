#!/usr/bin/env bash
# Puts the report on the pull request NUMBER, or into the comment that this job of this workflow put there before. REPORT is
# the file. What begins with the job's hidden marker is its own: other workflows and jobs comment under the same name.
set -euo pipefail
marker="<!-- markbook: ${GITHUB_WORKFLOW//[^A-Za-z0-9_.]/-} ${GITHUB_JOB//[^A-Za-z0-9_.]/-} -->"
{ printf '%s\n' "$marker" && cat "$REPORT"; } >markbook-report/comment.md
comments="repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments"
# Anyone may write the marker; a bot's comment is not a reader's.
own=$(gh api --paginate "$comments" --jq '.[] | select(.user.type == "Bot") | "\(.id) \(.body | split("\n")[0] | rtrimstr("\r"))"')
id=$(while read -r number line; do [ "$line" != "$marker" ] || echo "$number"; done <<<"$own" | tail -n 1)
if [ -n "$id" ]; then
  gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F body=@markbook-report/comment.md
else
  gh api --silent --method POST "$comments" -F body=@markbook-report/comment.md
fi
