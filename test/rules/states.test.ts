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
The build currently fails with a type error in \`src/api.ts\`.
The fix was pushed to \`fix/login\`, CI has not finished.
Only the first of four phases is implemented.
Step 3 of the plan is next.
The release is on hold until the audit.
Changes are stashed on \`main\`.
PR 77 has requested changes from sam.
The ticket ABC-12 is in "In Progress".
Tests for the exporter are failing (3 of 40).
The branch is 4 commits ahead of origin.
The draft of the RFC is at docs/rfc-7.md, not yet shared.
Deployment to production is pending approval.
Issue #55 remains open: the crash on empty input.
The server upgrade is scheduled but not started.
All work was committed as 3f2a1bc on \`feat/search\`; no PR exists.
A PR has not been created for \`feat/search\`.
The comment on issue 19 was posted; the maintainer has not answered.
We are waiting for the vendor's answer on the licence.
\`feat/x\` needs a rebase onto main before the merge.
Local main is behind origin/main by 6 commits.
The spike is unfinished.
The benchmark is still running.
Session ended with the lint errors unfixed.
Verified: unit tests pass; e2e were not run.
The PR's checks are green, merge is up to the user.
PR #90 was closed without merging.
Version 1.4.0 was published to npm.
The hotfix was merged into \`release/1.4\`.
The plugin was installed and enabled in the user's settings.
The issue was filed as #120.
Der Branch ist noch nicht gepusht.
Die PR wartet auf Freigabe.
The new workflow file is untracked.
The feature flag is off in production for now.
The TODO list in \`PLAN.md\` has five open items.
At the moment the queue is paused.
Review feedback on #64 is addressed except for the naming.
The rollout is at 10 percent.
There are uncommitted changes in \`src/cli.ts\`.
The worktree \`../orchard-fix\` was left in place.
The session's work is on \`claude/fix-42\`, PR #43 (draft), CI green.
The branch \`old-api\` was deleted after the merge.
The rename is complete in \`src\`, \`docs\` still say the old name.
Half of the endpoints have been migrated.`;
const LASTING = `
Nothing is merged until QA signs.
Always wait for CI before a merge.
Draft PRs are opened first; they become ready after the self-review.
PRs wait for two approvals here.
A release is tagged from \`main\`, never from a branch.
Run \`pnpm test\` in \`services/api\`; from the top it fails with 'No projects matched the filters'.
The login test is flaky because of the clock.
CI checks formatting with prettier, which eslint alone does not.
\`main\` is protected; push to a branch and open a PR.
The API listens on port 8080.
A failing build blocks the deploy.
Never push without asking.
The queue retries a job three times before it is failing for good.
Commit messages follow Conventional Commits.
The user reviews every diff before it is committed.
PR titles name the ticket.
Pending migrations run at start-up.
A job that is pending longer than an hour is killed.
The status \`in review\` means that the ticket waits for QA.
Use \`git push --force-with-lease\` on own branches.
The staging database is reset every Monday.
\`make check\` is what CI runs.
The parser must accept trailing commas since clients send them.
Unreleased changes go under \`## Unreleased\` in CHANGELOG.md.
The code owner of billing is Mira.
A branch is named \`feat/<ticket>\`.
Each fix needs a regression test.
The worker waits for Redis before it starts.
\`wait-for-it.sh\` waits for the database in CI.
The e2e tests need Docker.
Open PRs older than 30 days are closed by a bot.
The button is red where the form is invalid.
The circuit breaker is open after five failures.
Squash merges only.
The CLI prints \`pending\` for a job that has not started.
Releases are published by the workflow \`release.yml\` when a tag is pushed.
The token is read from the environment.
Version bumps change \`package.json\` and \`INSTALL.md\`.
Merged branches are deleted by the user.
The user wants PRs as drafts.
\`git stash\` is never used here.
The docs are built with mkdocs.
Reviewers are assigned by CODEOWNERS.
In \`services/api\` the linter fails without \`NODE_ENV=test\`.
The rate limit is 100 requests a minute.
A deploy is blocked by a red smoke test.
The cache is cleared on each deploy.
Sessions of the shop moved to Redis; the old table stays until the audit.
Changes in \`schema.sql\` need a migration.
The issue template asks for a version.
\`status: wip\` in a title keeps the bot from reviewing.
An unfinished upload is removed after a day.
The exporter was replaced by the new writer since it lost rows.
The old API is kept for the mobile app.
The tests were slow because each opened a database; now they share one.
The user decided against GraphQL.
The PR was turned down since the maintainers want no new dependency.
Issue #402 explains why the pool must stay at ten.
PR #88 introduced the retry; it must stay for the flaky proxy.
Not pushed artefacts are rebuilt by CI.`;
const linesOf = (text: string) => text.trim().split('\n');

test('of 61 states 41 are known by their words, and of what lasts none is taken for one', () => {
  expect(linesOf(STATES).filter((text) => !tellsState(text)).length).toBeLessThanOrEqual(20);
  expect(linesOf(LASTING).filter(tellsState)).toEqual([]);
});
