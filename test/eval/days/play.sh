#!/usr/bin/env bash
# Eight days of one repository in one memory: three real sessions (shared/transcripts, not in the project), then 4 to 8
# here. Each day is extracted, dreamed over and recalled; a reader answers the requests by hand through the bridge.
# Usage: play.sh OUT (a new directory). Requests: OUT/bridge/inbox/N.json; answers: OUT/bridge/outbox/N.json, within five
# minutes each, else the client asks again. OUT/finished stands when all is done; expected.md says what should be known.
set -eu
here=$(cd "$(dirname "$0")" && pwd); root=$(cd "$here/../../.." && pwd); shared=$(cd "$root/../shared" && pwd)
mkdir -p "$1"; out=$(cd "$1" && pwd)
export PATH="$root/node_modules/.bin:$PATH"
node "$shared/tools/model-bridge.mjs" "$out/bridge" > "$out/url" & bridge=$!
trap 'kill $bridge' EXIT
until [ -s "$out/url" ]; do sleep 0.2; done
mkdir -p "$out/home" "$out/memory"
echo '{"wallMs":14400000,"jobWallMs":14400000,"requestMs":7200000,"dayTokens":500000000,"jobTokens":500000000}' > "$out/home/config.json"
export HOME="$out/home" NOCTURNE_HOME="$out/home" CLAUDE_CONFIG_DIR="$out/home" NOCTURNE_ZONE=UTC NOCTURNE_QUEUE_URL=
export NOCTURNE_MEMORY_DIR="$out/memory" ANTHROPIC_BASE_URL="$(cat "$out/url")" ANTHROPIC_API_KEY=none
unset REDIS_URL
nocturne() { node "$root/src/cli/nocturne.js" "$@"; }
real="$shared/transcripts/claude-code/entireio+git-sync"
n=0
while read -r day file; do
  n=$((n + 1)); next=$(date -u -d "$day + 1 day" +%F)
  NOCTURNE_NOW=${day}T22:30:00Z nocturne learn "$file" --json > "$out/extract-$n.json" 2> "$out/extract-$n.err" || true
  NOCTURNE_NOW=${day}T22:40:00Z nocturne next > "$out/recall-evening-$n.txt" 2>&1 || true
  NOCTURNE_NOW=${next}T03:30:00Z nocturne dream --json > "$out/dream-$n.json" 2> "$out/dream-$n.err" || true
  NOCTURNE_NOW=${next}T08:00:00Z nocturne next > "$out/recall-morning-$n.txt" 2>&1 || true
  cp -r "$out/memory" "$out/memory-after-$n"
done << END
2026-04-30 $real/88db7fea-797f-49be-9036-c762ae804ce0.jsonl
2026-06-18 $real/76731dd6-65de-4d92-be87-716b3e380099.jsonl
2026-06-19 $real/4f8f5e9b-9f90-4c22-88b9-988c55f45833.jsonl
2026-06-22 $here/4.jsonl
2026-06-23 $here/5.jsonl
2026-06-24 $here/6.jsonl
2026-06-25 $here/7.jsonl
2026-06-26 $here/8.jsonl
END
touch "$out/finished"
