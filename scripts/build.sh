#!/usr/bin/env bash
# Build wheel and sdist twice and compare: the same source gives the same bytes.
set -euo pipefail
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
rm -rf dist && python -m build --outdir dist .
again=$(mktemp -d)
python -m build --outdir "$again" .
for file in dist/*; do cmp "$file" "$again/$(basename "$file")"; done
echo "built twice, byte for byte the same:" dist/*
