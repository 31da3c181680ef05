// Which sentences tell how something stands, as agents write them, and which tell what lasts. A lasting one taken for a state would be put away.

import { expect, test } from 'vitest';
import { tellsState } from '../../src/rules/states.ts';

const STATES = `
A schema document was asked for; the first plan was turned down and it was still open.
The draft PR 24 with the retry logic is open.
Branch \`fix/retries\` is local only; nothing was pushed yet.
PR #31 is ready for review.
Two commits sit on \`feat/cache\`, unpushed.
The work on the parser is half done; tests for arrays are missing.
CI is red on main because of the flaky login test.
Left on branch \`feat/cache\`: three commits, tests pass, PR not opened.
The migration has not been run on staging.
Pull request #88 was opened and awaits Mira's review.
v2.3.0 is tagged but the GitHub release has not been published.
The refactor of \`auth.ts\` is in progress on \`wip/auth\`.
PR #12 was merged; #13 still needs a rebase.
Nothing is committed; changes are in the working tree.
The dependency upgrade is blocked by issue #402.
Remaining: update the docs and the changelog.
Next step: wire the new endpoint into the client.
The fix was pushed to \`fix/login\`, CI has not finished.
PR 77 has requested changes from sam.
Tests for the exporter are failing (3 of 40).
The branch is 4 commits ahead of origin.
The draft of the RFC is at docs/rfc-7.md, not yet shared.
Deployment to production is pending approval.
Issue #55 remains open: the crash on empty input.
The server upgrade is scheduled but not started.
All work was committed as 3f2a1bc on \`feat/search\`; no PR exists.
We are waiting for the vendor's answer on the licence.
\`feat/x\` needs a rebase onto main before the merge.
Local main is behind origin/main by 6 commits.
The spike is unfinished.
The benchmark is still running.
Session ended with the lint errors unfixed.
Verified: unit tests pass; e2e were not run.
PR #90 was closed without merging.
The issue was filed as #120.
Der Branch ist noch nicht gepusht.
The new workflow file is untracked.
At the moment the queue is paused.
Review feedback on #64 is addressed except for the naming.
There are uncommitted changes in \`src/cli.ts\`.
The session's work is on \`claude/fix-42\`, PR #43 (draft), CI green.`;
const LASTING = `
Always wait for CI before a merge.
Draft PRs are opened first; they become ready after the self-review.
PRs wait for two approvals here.
\`main\` is protected; push to a branch and open a PR.
A failing build blocks the deploy.
The queue retries a job three times before it is failing for good.
Pending migrations run at start-up.
A job that is pending longer than an hour is killed.
The status \`in review\` means that the ticket waits for QA.
Unreleased changes go under \`## Unreleased\` in CHANGELOG.md.
Each fix needs a regression test.
The worker waits for Redis before it starts.
\`wait-for-it.sh\` waits for the database in CI.
The e2e tests need Docker.
Open PRs older than 30 days are closed by a bot.
The button is red where the form is invalid.
The circuit breaker is open after five failures.
The CLI prints \`pending\` for a job that has not started.
A deploy is blocked by a red smoke test.
Changes in \`schema.sql\` need a migration.
\`status: wip\` in a title keeps the bot from reviewing.
The tests were slow because each opened a database; now they share one.
Issue #402 explains why the pool must stay at ten.
PR #88 introduced the retry; it must stay for the flaky proxy.
Not pushed artefacts are rebuilt by CI.`;
const linesOf = (text: string) => text.trim().split('\n');

test.each(linesOf(STATES))('%s', (text) => expect(tellsState(text)).toBe(true));

test.each(linesOf(LASTING))('%s', (text) => expect(tellsState(text)).toBe(false));
