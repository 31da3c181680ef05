// What an agent found out is kept where its calls show it, by kind; the calls are kept with it. Each session is one that a model
// proposed something of.

import { expect, test } from 'vitest';
import { stands } from '../../src/rules/carried.ts';
import { harmsOf } from '../../src/rules/commands.ts';
import { actOf, endOf, wayOf } from '../../src/rules/lessons.ts';
import { expectJudged, type LessonCase, lessonCases, proposed } from '../support/lessons.ts';

const SEARCH = `$ grep -rn "Invoice mail" src → nothing
@$ Grep {"pattern": "invoiceMail"} → No files found`;
const WHY = 'esbuild drops the decorators, which is why build.mjs runs tsc before it';
const REASON = 'build.mjs runs tsc before esbuild, since esbuild drops the decorators.';

test.each(
  lessonCases(`
a way is kept too where another program does the same with the same words
! python scripts/seed.py --all → python: command not found on PATH
$ python3 scripts/seed.py --all → ok
+ way On this machine: \`python3 scripts/seed.py --all\` seeds; plain python: command not found. ‖ r1 command not found ‖ m2 python3 scripts/seed.py --all
! DEBUG=1 python scripts/seed.py --all → python: command not found on PATH
$ python3 scripts/seed.py --all → ok
+ way \`python3 scripts/seed.py --all\` seeds; plain python: command not found. ‖ r1 command not found ‖ m2 python3 scripts/seed.py --all
= On this machine: 

a way that memory told needs no failure again: the call that works is run
$ cd services/api && pnpm test → 12 passed
again 3
+ way In \`services/api\`: \`pnpm test\`. ‖ m1 cd services/api && pnpm test
! cd services/api && pnpm test → 12 passed
again 3
- the same
= needs the words

of several calls that are quoted the one counts that a way tells of, and of its error all that is quoted
! cd src && go mod tidy && gofmt -l ./color → Exit code 1\\ncd: src: No such file
$ pwd && go mod tidy && gofmt -l ./color → /d/posh/src
$ cd /d/posh/src && gofmt -l ./color && go vet ./color → ok
+ way Below \`src\`: \`cd src && go mod tidy\` fails with 'cd: src: No such file' (exit code 1); \`cd /d/posh/src && gofmt -l ./color\` works. ‖ r1 cd: src: No such file ‖ m2 pwd && go mod tidy && gofmt -l ./color ‖ m3 cd /d/posh/src && gofmt -l ./color && go vet ./color ‖ r1 Exit code 1
+ way Below \`src\`: \`cd src && go mod tidy\` fails with 'cd: src: No such file' (exit code 1); \`cd /d/posh/src && gofmt -l ./color\` works. ‖ r1 cd: src: No such file ‖ m2 pwd && go mod tidy && gofmt -l ./color
- way Below \`src\`: \`cd src && go mod tidy\` fails with 'cd: src: No such file'; \`cd /d/posh/src && gofmt -w ./color\` works. ‖ r1 cd: src: No such file ‖ m2 pwd && go mod tidy && gofmt -l ./color
= stands in neither of the two calls

of a directory that was not there the way is a later call that moved elsewhere and ran, whatever hides its end
! cd src && go mod tidy → Exit code 1\\ncd: src: No such file or directory
$ cd /d/posh && git status | head -3 → clean
+ way A relative \`cd src\` fails the second time ('cd: src: No such file or directory'): use \`cd /d/posh\`. ‖ r1 cd: src: No such file or directory ‖ m2 cd /d/posh && git status | head -3
! cd src && go mod tidy → Exit code 1\\ngo.mod is not tidy
$ cd /d/posh && git status | head -3 → clean
- way A relative \`cd src\` fails (go.mod is not tidy): use \`cd /d/posh\`. ‖ r1 go.mod is not tidy ‖ m2 cd /d/posh && git status | head -3
= needs a later call

all that is wrong with one is told at once, each value and each quote of it by itself
! pnpm test → Exit code 1\\nNo projects matched the filters in /repo
$ cd services/api && pnpm test → 12 passed
- way From \`/opt/api/x\`: \`rm -rf /srv/data\`, then \`pnpm test --all\`; 'No projects matched the filters', see #77. ‖ r1 No projects matched the filters ‖ m2 cd services/api && pnpm test ‖ m2 cd api
= evidence[2].quote: these words do not stand in m2
= text: each of "/opt/api/x", "rm -rf /srv/data", "pnpm test --all", "#77" stands in none of the messages
= text: holds a command that deletes something

a way to another program is one where the error says that the first is missing, and is soon after
! zsh scripts/lint.zsh → bash: line 1: zsh: command not found
$ bash scripts/lint.sh → clean
+ way On this machine: no zsh (command not found); \`bash scripts/lint.sh\` lints. ‖ r1 zsh: command not found ‖ m2 bash scripts/lint.sh
! zsh scripts/lint.zsh → zsh: parse error near line 3
$ bash scripts/lint.sh → clean
- way On this machine: no zsh (command not found); \`bash scripts/lint.sh\` lints. ‖ r1 zsh: parse error near line 3 ‖ m2 bash scripts/lint.sh
= of another program only soon after
! zsh scripts/lint.zsh → bash: line 1: zsh: command not found
${'$ date → Sat\n'.repeat(11)}$ bash scripts/lint.sh → clean
- way On this machine: no zsh (command not found); \`bash scripts/lint.sh\` lints. ‖ r1 zsh: command not found ‖ m13 bash scripts/lint.sh
= of another program only soon after

a way to another program is one too where a subcommand or a flag is unknown
! entire explain --checkpoint abc → Error: unknown flag: --checkpoint
$ entire checkpoint show abc → shown
+ way \`entire checkpoint show abc\` shows one; explain has an unknown flag: --checkpoint. ‖ r1 unknown flag: --checkpoint ‖ m2 entire checkpoint show abc

a way to another program leads among the tools of one server, and from one input to the next
@! mcp__browser__screenshot {"tab": 1} → screenshot timed waiting: the pane is not displayed
@$ mcp__browser__page_text {"most": 10} → Title: Home
+ way \`screenshot\` fails while the pane is not displayed: \`page_text\` works. ‖ r1 the pane is not displayed ‖ m2 call mcp__browser__page_text
@! mcp__browser__screenshot {"tab": 1} → screenshot timed waiting: the pane is not displayed
@$ mcp__other__page_text {"most": 10} → Title: Home
- way \`screenshot\` fails while the pane is not displayed: \`page_text\` works. ‖ r1 the pane is not displayed ‖ m2 call mcp__other__page_text
= of another program only soon after
@! mcp__browser__script {"text": "const b = 1; b"} → SyntaxError: 'b' has already been declared
@$ mcp__browser__script {"text": "(() => { const b = 1; return b })()"} → 1
+ way \`script\` keeps const of earlier calls ('b' has already been declared): wrap it, \`(() => {\`. ‖ r1 has already been declared ‖ m2 (() => { const b = 1; return b })()

what the agent's program blocks has failed, a word of its subject is no claim, a script's words are no command
! sleep 180; gh pr checks 5 → <tool_use_error>Blocked: sleep 180 followed by: gh pr checks</tool_use_error>
$ gh pr checks 5 --watch → all checks were successful
+ way Blocked: sleep 180 followed by gh; \`gh pr checks 5 --watch\` waits. ‖ r1 Blocked: sleep 180 followed by: gh pr checks ‖ m2 gh pr checks 5 --watch
$ git push origin feat/complete → To github
. Branch feat/complete holds the complete rewrite; the docs are open.
+ outcome Branch \`feat/complete\` holds the complete rewrite; the docs are open. ‖ m2 holds the complete rewrite; the docs are open ‖ m1 git push origin feat/complete
@! script {"text": "const b = 2"} → Identifier 'b' has already been declared
. A second const b fails.
@$ script {"text": "(() => { const b = 1; return b })()"} → 1
+ way \`script\`: a second \`const b\` fails ('b' has already been declared), \`(() => {\` works. ‖ r1 Identifier 'b' has already been declared ‖ m3 (() => { const b = 1; return b })() ‖ m2 A second const b fails

a place is kept that took three calls, and not one that one look tells or that was known before
${SEARCH}
$ rg -l invoice packages → packages/letters/templates/invoice_mail.hbs
+ place The invoice mail is made of \`packages/letters/templates/invoice_mail.hbs\`. ‖ r3 packages/letters/templates/invoice_mail.hbs
$ ls packages/letters/templates/invoice_mail.hbs → there
$ grep -rn "Invoice mail" src → nothing
@$ Grep {"pattern": "invoiceMail"} → No files found
$ rg -l invoice packages → packages/letters/templates/invoice_mail.hbs
- place The invoice mail is made of \`packages/letters/templates/invoice_mail.hbs\`. ‖ r4 packages/letters/templates/invoice_mail.hbs
= One look tells this
${SEARCH}
$ rg -l invoice packages → packages/letters/templates/invoice_mail.hbs
. It is packages/letters/templates/invoice_mail.hbs.
+ place The invoice mail is made of \`packages/letters/templates/invoice_mail.hbs\`. ‖ m4 It is packages/letters/templates/invoice_mail.hbs

one look is enough for what a line of memory is over by
$ git log --oneline -3 → 30c566f feat: export (#24)
told PR #24 (export) is a draft on branch export.
changes PR #24 (export) is a draft on branch export.
+ place Export (#24) is on main by now. ‖ r1 feat: export (#24)
told - PR #24 (export) is a draft on branch export. (pulls.md; found by the agent, 2026-11-01)
changes PR #24 (export) is a draft on branch export.
+ place Export (#24) is on main by now. ‖ r1 feat: export (#24)
told - PR #24 (export) is a draft on branch export. (pulls.md; found by the agent, 2026-11-01)
changes export
- place Export (#24) is on main by now. ‖ r1 feat: export (#24)
= One look tells this
told PR #24 (export) is a draft on branch export.
changes The mill runs on water.
- place Export (#24) is on main by now. ‖ r1 feat: export (#24)
= One look tells this
- place Export (#24) is on main by now. ‖ r1 feat: export (#24)
= by what a line of memory is over

a place in a home is found by its home or by \`~\`
${SEARCH}
$ find ~ -name tap → /Users/kim/work/tap/Formula
+ place On this machine: the tap is the checkout \`~/work/tap\`. ‖ r3 /Users/kim/work/tap/Formula
- place On this machine: the tap is the checkout \`~/play/tap\`. ‖ r3 /Users/kim/work/tap/Formula

of what stands in several places the one that was found last tells how long that took
$ cat package.json → "version": "0.3.0"
$ grep -n version *.json → package.json: "0.3.0"\\nmanifest.json: "0.3.0"
$ rg --hidden 0.3.0 → package.json\\nmanifest.json\\n.plugin/plugin.json
+ place The version stands in \`package.json\`, \`manifest.json\` and \`.plugin/plugin.json\`. ‖ r3 package.json\\nmanifest.json\\n.plugin/plugin.json
- place The version stands in \`package.json\` and \`manifest.json\`. ‖ r3 package.json\\nmanifest.json
= One look tells this

places that were each worked on belong together
@$ Edit {"file_path": "package.json"} → updated
@$ Edit {"file_path": "manifest.json"} → updated
@$ Edit {"file_path": ".plugin/plugin.json"} → updated
$ grep -rn version package.json manifest.json .plugin → package.json:3\\nmanifest.json:4\\n.plugin/plugin.json:3
+ place The version stands in \`package.json\`, \`manifest.json\` and \`.plugin/plugin.json\`. ‖ r4 package.json:3\\nmanifest.json:4\\n.plugin/plugin.json:3

what an issue or a page reports is a place where the text names it
$ gh issue view 3 --comments → I copied it to ~/.cursor/plugins/local and Cursor did not load it
+ place Issue #3: the reporter copied it to \`~/.cursor/plugins/local\`, Cursor did not load it. ‖ r1 I copied it to ~/.cursor/plugins/local and Cursor did not load it
$ curl https://acme.dev/plugins → Plugins load from ~/Acme/plugins
. A link in the checkout is never read, since only ~/Acme/plugins loads.
$ node link.mjs ~/Acme/plugins → linked
+ reason A link in the checkout is never read: only \`~/Acme/plugins\` loads. ‖ m2 A link in the checkout is never read, since only ~/Acme/plugins loads ‖ r1 Plugins load from ~/Acme/plugins
$ acme plugins → Plugins load from ~/Acme/plugins
. A link in the checkout is never read, since only ~/Acme/plugins loads.
$ node link.mjs ~/Acme/plugins → linked
+ the same
= On this machine: 
$ acme plugins → Plugins load from ~/.acme/plugins
. A link in the checkout is never read, since only ~/.acme/plugins loads.
$ node link.mjs ~/.acme/plugins → linked
+ reason A link in the checkout is never read: only \`~/.acme/plugins\` loads. ‖ m2 A link in the checkout is never read, since only ~/.acme/plugins loads ‖ r1 Plugins load from ~/.acme/plugins
$ acme plugins → Plugins load from ~/Acme/plugins
. A link in the checkout is never read, since only ~/Acme/plugins loads.
$ node link.mjs ~/Acme/plugins → linked
+ reason A link in the checkout is never read: only the plugins of Acme load. ‖ m2 A link in the checkout is never read, since only ~/Acme/plugins loads ‖ r1 Plugins load from ~/Acme/plugins
$ cat issue-3.txt → I copied it to ~/.cursor/plugins/local and Cursor did not load it
- place Issue #3: the reporter copied it to \`~/.cursor/plugins/local\`, Cursor did not load it. ‖ r1 I copied it to ~/.cursor/plugins/local and Cursor did not load it

what sums up needs fewer words of its quotes where all that it names stands in them
${SEARCH}
$ rg -l invoice packages → packages/letters/templates/invoice_mail.hbs
+ place For a mail about payment due, change \`packages/letters/templates/invoice_mail.hbs\`. ‖ r3 packages/letters/templates/invoice_mail.hbs
- place For mail about payment due dates to customers, change \`packages/letters/templates/invoice_mail.hbs\`, never \`index.ts\`. ‖ r3 packages/letters/templates/invoice_mail.hbs

a reason is kept with a later call on what it names that worked, with the commit that says it, or with a yes
. Found it: ${WHY}.
$ node build.mjs → built
+ reason ${REASON} ‖ m1 ${WHY} ‖ m2 node build.mjs
. Found it: ${WHY}.
! node build.mjs → built
- the same
= a reason needs, beside that sentence
! go test ./cmd → FAIL: build.mjs runs tsc before esbuild: ${WHY}
. Found it: ${WHY}.
$ node build.mjs → built
+ reason ${REASON} ‖ m2 ${WHY} ‖ m3 node build.mjs
$ grep -c target build.mjs → build.mjs: 2 targets
. Found it: ${WHY}.
+ reason ${REASON} ‖ m2 ${WHY} ‖ r1 build.mjs: 2 targets
$ sed -n 4,9p x.mjs → function emitDecorators() {
. ${WHY}: see emitDecorators.
+ reason build.mjs runs tsc before esbuild, since esbuild drops the decorators of \`emitDecorators\`. ‖ m2 ${WHY}: see emitDecorators
$ grep -n emit x.mjs | head -3 → 4: emitDecorators()
. ${WHY}: see emitDecorators.
+ the same
$ vale docs/colors.mdx → 0 errors in 0 files
> why are you still using vale?
. Vale lints no mdx at all, so that run checked nothing.
+ reason Vale checked nothing: it lints no mdx at all, as that run of vale shows. ‖ m3 Vale lints no mdx at all, so that run checked nothing
$ vale docs/colors.mdx → 0 errors in 0 files
> what is the equivalent here?
. Vale lints no mdx at all, so that run checked nothing.
- the same
= a reason needs, beside
$ git commit -m "build: ${WHY}" → [main 1a2b3c4] build
+ reason ${REASON} ‖ m1 ${WHY}
. Is it right that ${WHY}?
> yes, exactly
+ reason ${REASON} ‖ m1 Is it right that ${WHY}? ‖ m2 yes, exactly

an outcome is kept with the call that made it; what it claims only with the call that shows it
$ git push -u origin feat/parser → branch 'feat/parser' set up to track
. Pushed. The error recovery is still open; all tests pass.
+ outcome Branch \`feat/parser\` is pushed; the error recovery is open. ‖ m1 git push -u origin feat/parser ‖ m2 The error recovery is still open
! git push -u origin feat/parser → branch 'feat/parser' set up to track
. Pushed. The error recovery is still open; all tests pass.
- the same
= needs the call
$ git status → On branch feat/parser\\nmodified: parser.ts
. Pushed. The error recovery is still open; all tests pass.
+ outcome Branch \`feat/parser\`: \`parser.ts\` is not committed. ‖ r1 On branch feat/parser\\nmodified: parser.ts ‖ m2 The error recovery is still open
$ git push -u origin feat/parser → branch 'feat/parser' set up to track
. Pushed. The error recovery is still open; all tests pass.
$ go test ./... → ok all
+ outcome Branch \`feat/parser\` is pushed, all tests pass. ‖ m1 git push -u origin feat/parser ‖ m2 all tests pass ‖ m3 go test ./...
+ outcome Branch \`feat/parser\` is pushed, \`go test\` passes. ‖ m1 git push -u origin feat/parser ‖ m2 all tests pass
$ git push -u origin feat/parser → branch 'feat/parser' set up to track
. Pushed. The error recovery is still open; all tests pass.
! go test ./... → Exit code 1
- the same
= claims what no quoted call shows

what was left elsewhere is an outcome, and so is what a person saw of what was tried
@$ mcp__tracker__create_ticket {"title": "Loader"} → Created ABC-12
+ outcome Ticket ABC-12 was filed for the Loader. ‖ r1 Created ABC-12
$ ln -s plugins/entire here/entire; ls here → entire
> nope I don't see it in cursor
+ outcome The link of \`plugins/entire\` was tried, and is not seen in cursor. ‖ m1 ln -s plugins/entire here/entire ‖ m2 I don't see it in cursor

an order is refused with its words; what a file for agents is like is none
. AGENTS.md must stay short, since Cursor never loads it whole.
$ node lint AGENTS.md → short
+ reason AGENTS.md must stay short: Cursor never loads it whole. ‖ m1 AGENTS.md must stay short, since Cursor never loads it whole ‖ m2 node lint AGENTS.md
- reason Agents must keep AGENTS.md short: Cursor never loads it whole. ‖ m1 AGENTS.md must stay short, since Cursor never loads it whole ‖ m2 node lint AGENTS.md
= "Agents must"

what a session was told and only repeats is no new evidence
. As known, ${WHY}.
$ node build.mjs → built
told ${REASON}
- reason ${REASON} ‖ m1 ${WHY} ‖ m2 node build.mjs
= was told
told make.mjs runs tsc before esbuild, since esbuild drops the decorators.
+ the same

a reason and an outcome rest on calls that are not quoted, where these name the same
! mise run lint:licenses → orchard: Unknown
@$ Read {"file_path": "/work/lint/licenses"} → if [[ "$package" == orchard/* ]]; then continue
. The filter in lint/licenses skips orchard/ with a slash, so that the bare module orchard is reported.
$ git switch -c fix/licences → Switched to a new branch 'fix/licences'
. On fix/licences the filter takes the bare module, too; nothing is pushed.
+ reason lint/licenses skips orchard/ with a slash, so that the bare module orchard is reported. ‖ m3 The filter in lint/licenses skips orchard/ with a slash, so that the bare module orchard is reported.
+ outcome The branch fix/licences holds the filter for the bare module; nothing is pushed. ‖ m5 On fix/licences the filter takes the bare module, too; nothing is pushed.
- outcome The branch fix/others holds the filter for the bare module; nothing is pushed. ‖ m5 the filter takes the bare module, too; nothing is pushed

what one shell does not know another may
! zsh -c 'zsh -n draft' → Exit code 127\\n/usr/bin/bash: line 1: zsh: command not found
$ bash -c 'bash -n draft' → ok
+ way On this machine: no zsh (command not found); \`bash -n\` checks the syntax of a draft. ‖ r1 zsh: command not found ‖ m2 bash -c 'bash -n draft'
! mapfile -t all < list → zsh: command not found: mapfile
$ bash -c 'mapfile -t all < list' → ok
+ way On this machine: \`mapfile\` is not found in zsh (command not found); bash -c knows it. ‖ r1 command not found: mapfile ‖ m2 bash -c 'mapfile -t all < list'

what took too long and says why is a way around that, the network of a moment is none
@! mcp__browser__screenshot {"tab": "1"} → Screenshot timed out after 5s: the browser pane is not displayed
@$ mcp__browser__page_text {"tab": "1"} → Prices
+ way \`screenshot\` fails while the browser pane is not displayed: \`page_text\` works. ‖ r1 Screenshot timed out after 5s: the browser pane is not displayed ‖ m2 call mcp__browser__page_text
@! mcp__browser__screenshot {"tab": "1"} → Connection timed out: the browser pane is not displayed
@$ mcp__browser__page_text {"tab": "1"} → Prices
- way \`screenshot\` fails while the browser pane is not displayed: \`page_text\` works. ‖ r1 Connection timed out: the browser pane is not displayed ‖ m2 call mcp__browser__page_text
= of the moment

a call that also removes files of its own is told without that
! go build ./cmd/tool → go: cannot find main module
$ cd src && go build -o bin/tool ./cmd/tool && rm -f bin/tool tool.log → ok
+ way In \`src\`: \`go build\`; above it fails with "cannot find main module". ‖ r1 cannot find main module ‖ m2 cd src && go build -o bin/tool ./cmd/tool
! cd src && rm -f bin/tool && go build → cd: src: No such file or directory
$ cd /d/tool/src && rm -f bin/tool && go build && ls bin → tool
+ way \`cd\` stays in force (cd: src: No such file or directory): \`cd /d/tool/src && go build\`. ‖ r1 cd: src: No such file or directory ‖ m2 cd /d/tool/src && rm -f bin/tool && go build
! go build ./cmd/tool → go: cannot find main module
$ cd src && go build -o bin/tool ./cmd/tool && rm -rf bin → ok
- way In \`src\`: \`go build\`; above it fails with "cannot find main module". ‖ r1 cannot find main module ‖ m2 cd src && go build -o bin/tool ./cmd/tool
= deletes
! go build ./cmd/tool → go: cannot find main module
$ cd src && go build -o bin/tool ./cmd/tool && rm -f ../main.go → ok
- the same
= deletes

a subagent's finding is one where a later call meets what it names
@$ Agent {"prompt": "What does CI check?"} → The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck of its own.
$ sh tools/gate.sh → all clean
+ place The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck. ‖ r1 The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck
@$ Agent {"prompt": "What does CI check?"} → The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck of its own.
- the same
@$ Agent {"prompt": "What does CI check?"} → The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck of its own.
! sh tools/gate.sh → all clean
- the same
@$ Agent {"prompt": "What does CI check?"} → The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck of its own.
@$ Agent {"prompt": "What does CI check?"} → The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck of its own.
- the same
@$ Agent {"prompt": "What does CI check?"} → The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck of its own.
$ sh tools/gate.sh → all clean
+ reason The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck. ‖ r1 The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck
@$ Agent {"prompt": "What does CI check?"} → The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck of its own.
$ cat gate → x
- the same
@$ Agent {"prompt": "What does CI check?"} → The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck of its own.
. The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck of its own.
$ sh tools/gate.sh → all clean
+ reason The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck. ‖ m2 The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck 
@$ Agent {"prompt": "What does CI check?"} → The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck of its own.
. The pull request check runs \`tools/gate.sh\`, since the runner has no shellcheck of its own.
- the same
= a reason needs

a published page is an outcome, and what a call that is not shown left; an own list of tasks is none
@$ Artifact {"file_path": "designs.html"} → Published at https://pages.dev/3
. Three designs of the start page are up; which one is chosen is open.
+ outcome Three designs of the start page are up at https://pages.dev/3; which one is chosen is open. ‖ m2 Three designs of the start page are up; which one is chosen is open ‖ r1 Published at https://pages.dev/3
@$ publishPage {"file_path": "designs.html"} → Published at https://pages.dev/3
. Three designs of the start page are up; which one is chosen is open.
+ the same
@$ TaskCreate {"file_path": "designs.html"} → Published at https://pages.dev/3
. Three designs of the start page are up; which one is chosen is open.
- the same
= an outcome needs
@$ update_plan {"file_path": "designs.html"} → Published at https://pages.dev/3
. Three designs of the start page are up; which one is chosen is open.
- the same
= an outcome needs
$ git commit -m "readme: a push is not atomic, what was rejected is told" → [x 1a2b3c4]
. The readme says that a push is not atomic; the retries are open.
+ outcome The readme says that a push is not atomic; the retries are open. ‖ m2 says that a push is not atomic; the retries are open

an outcome whose end a pipe hides is one where a later list shows what it made, of what was sent a list of there
$ git branch -f backup/fold HEAD\\ngit log --oneline -3 | cat → 1a2b3c4 fold
$ git branch --list "backup/*" | cat →   backup/fold
. Nothing is pushed; the branch backup/fold is the only copy
+ outcome Nothing is pushed; the branch \`backup/fold\` is the only copy. ‖ m3 Nothing is pushed; the branch backup/fold is the only copy
$ git branch -f backup/fold HEAD\\ngit log --oneline -3 | cat → 1a2b3c4 fold
. Nothing is pushed; the branch backup/fold is the only copy
- outcome Nothing is pushed; the branch \`backup/fold\` is the only copy. ‖ m2 Nothing is pushed; the branch backup/fold is the only copy
= an outcome needs
$ git branch --list "backup/*" | cat →   backup/fold
$ git branch -f backup/fold HEAD\\ngit log --oneline -3 | cat → 1a2b3c4 fold
. Nothing is pushed; the branch backup/fold is the only copy
- outcome Nothing is pushed; the branch \`backup/fold\` is the only copy. ‖ m3 Nothing is pushed; the branch backup/fold is the only copy
= an outcome needs
$ git branch -f backup/fold HEAD\\ngit log --oneline -3 | cat → 1a2b3c4 fold
! git branch --list "backup/*" | cat →   backup/fold
. Nothing is pushed; the branch backup/fold is the only copy
- the same
= an outcome needs
$ git push origin backup/fold | tail -1 → hint: see the manual
$ git ls-remote → 1a2b3c4 refs/heads/backup/fold
. Nothing is pushed; the branch backup/fold is the only copy
+ the same

what a text says was sent out is kept where a call of it ended well, as its mark, its last line or a later list tells
$ git checkout -b fix/tabs → Switched to a new branch 'fix/tabs'
$ git push origin fix/tabs 2>&1 | tail -1 → hint: see the note about fast-forwards
. Branch fix/tabs is pushed.
- outcome Branch \`fix/tabs\` is pushed. ‖ m3 Branch fix/tabs is pushed
= nothing shows that "git push origin fix/tabs 2>&1 | tail -1" did
$ git add src && git commit -m tabs && git push origin fix/tabs 2>&1 | tail -1 → ok
$ git push origin fix/tabs → To github
. Branch fix/tabs adds tabs to the editor.
+ outcome Branch \`fix/tabs\` adds tabs to the editor. ‖ m3 Branch fix/tabs adds tabs to the editor ‖ m2 git push origin fix/tabs
$ git checkout -b fix/tabs → Switched to a new branch 'fix/tabs'
$ git push origin fix/tabs 2>&1 | tail -1 →    1a2b3c4..5d6e7f8  fix/tabs -> fix/tabs
. Branch fix/tabs is pushed.
+ the same
$ git checkout -b fix/tabs → Switched to a new branch 'fix/tabs'
$ git push origin fix/tabs 2>&1 | tail -1 → hint: see the note about fast-forwards
$ git push origin fix/tabs → ok
. Branch fix/tabs is pushed.
+ outcome Branch \`fix/tabs\` is pushed. ‖ m4 Branch fix/tabs is pushed

what took away what memory says is an outcome, whatever it left
$ git mv plugins/skills skills → (no output)
changes The skills live in \`plugins/skills/\`.
+ outcome The skills live in \`skills\`, no more in \`plugins/skills\`. ‖ m1 git mv plugins/skills skills
changes The tests live in \`test\`.
- the same
= an outcome needs
$ gh pr view 24 --json state → {"state":"MERGED"}
changes PR #24 is open.
+ outcome PR #24 is merged. ‖ r1 "state":"MERGED"

where a program is missing the line is of this machine
! rg TODO src → bash: rg: command not found
$ ack TODO src → src/a.ts: TODO
+ way \`ack TODO src\`, as rg: command not found. ‖ r1 rg: command not found ‖ m2 ack TODO src
= On this machine: 

a list whose last command only looks has failed where its result begins with that
! FILES="a.json b.json"\\nperl -i -pe s/1/2/ $FILES\\necho done\\ngrep 2 $FILES → Exit code 2\\nCan't open a.json b.json: No such file or directory
$ perl -i -pe s/1/2/ a.json b.json → done
+ way A list in a variable: Can't open a.json b.json; \`perl -i -pe s/1/2/ a.json b.json\`. ‖ r1 Can't open a.json b.json ‖ m2 perl -i -pe s/1/2/ a.json b.json
! FILES="a.json b.json"\\nperl -i -pe s/1/2/ $FILES\\necho done\\ngrep 2 $FILES → 1 changed\\nExit code 2\\nCan't open a.json b.json: No such file or directory
$ perl -i -pe s/1/2/ a.json b.json → done
- the same
= needs the words of the error

what was started in the background works where no later call of it failed
! sleep 180; gh pr checks 5 → <tool_use_error>Blocked: sleep 180 followed by: gh pr checks</tool_use_error>
@$ Bash {"command": "(sleep 180; gh pr checks 5) 2>&1", "run_in_background": true} → Command running in background with ID: b1en6. Output is being written to: tasks/b1en6.output
+ way Blocked: sleep 180 followed by gh; \`(sleep 180; gh pr checks 5) 2>&1\` in the background works. ‖ r1 Blocked: sleep 180 followed by: gh pr checks ‖ m2 (sleep 180; gh pr checks 5) 2>&1 ‖ r2 Command running in background
! sleep 180; gh pr checks 5 → <tool_use_error>Blocked: sleep 180 followed by: gh pr checks</tool_use_error>
@$ Bash {"command": "(sleep 180; gh pr checks 5) 2>&1", "run_in_background": true} → Command running in background with ID: b1en6. Output is being written to: tasks/b1en6.output
@! TaskOutput {"id": "b1en6"} → exit 1
- the same
= No quoted call is marked as good

a program's own flag that is named forces nothing; a command with it does
. The hint stays in sync.go, since replicate rejects --force there
$ go vet sync.go → ok
+ reason The hint stays in \`sync.go\`, since replicate rejects \`--force\` there. ‖ m1 The hint stays in sync.go, since replicate rejects --force there

a place that was sought by its name in vain was not known
! cat packages/letters/templates/invoice_mail.hbs → cat: packages/letters/templates/invoice_mail.hbs: No such file or directory
$ grep -rn "Invoice mail" src → nothing
@$ Grep {"pattern": "invoiceMail"} → No files found
$ rg -l invoice packages → packages/letters/templates/invoice_mail.hbs
+ place The invoice mail is made of \`packages/letters/templates/invoice_mail.hbs\`. ‖ r4 packages/letters/templates/invoice_mail.hbs

what removes what it builds itself may stand in a way as it was run
! cd src && rm -f bin/tool && go build -o ./bin/tool.exe . → Exit code 1\\ngo: cannot find main module
$ cd ~/tool/src && rm -f bin/tool && go build -o ./bin/tool.exe . → (Bash completed with no output)
+ way On this machine: \`cd src && rm -f bin/tool && go build -o ./bin/tool.exe .\` fails with 'go: cannot find main module'; \`cd ~/tool/src && rm -f bin/tool && go build -o ./bin/tool.exe .\` works. ‖ r1 go: cannot find main module ‖ m2 cd ~/tool/src && rm -f bin/tool && go build -o ./bin/tool.exe .

an end is told by what a piped call prints, wherever the call stands in its lines, and a watch is one that works
! sleep 180; gh api repos/x → <tool_use_error>Blocked: sleep 180 followed by: gh
@$ Monitor {"command": "deadline=$((SECONDS + 600))\\nwhile [ $SECONDS -lt $deadline ]; do gh api repos/x; sleep 60; done"} → Monitor started (task bwl2, timeout 700000ms).
+ way \`sleep 180\` before \`gh api\` is 'Blocked': a Monitor loop with \`deadline=$((SECONDS + 600))\` works. ‖ r1 Blocked: sleep 180 followed by ‖ m2 deadline=$((SECONDS + 600))

a pull request that a piped call made is made, whatever became of a later edit of it
$ git commit -m x → [fix 1a2b3c4] x
$ gh pr create --title "Batch updates" 2>&1 | tail -5 → https://github.com/acme/sync/pull/94
$ gh pr edit 94 --body "a push each" 2>&1 | tail -5 → see above
. PR opened: https://github.com/acme/sync/pull/94 batches ref updates.
+ outcome PR #94 (https://github.com/acme/sync/pull/94) batches ref updates. ‖ m4 PR opened: https://github.com/acme/sync/pull/94 batches ref updates
$ git commit -m x → [fix 1a2b3c4] x
$ gh pr create --title "Batch updates" 2>&1 | tail -5 → must first push the branch
$ gh pr edit 94 --body "a push each" 2>&1 | tail -5 → see above
. PR opened: https://github.com/acme/sync/pull/94 batches ref updates.
- the same
= an outcome needs

what an agent left may say what a person asked, where words of theirs are quoted that say it
$ git push origin fix/filters → To https://github.com/acme/api\\n   1a2b3c4..5d6e7f8  fix/filters
> how to test all the changes to install
+ outcome \`fix/filters\` was pushed, 1a2b3c4..5d6e7f8. Open: the user asked how to test the changes to install. ‖ r1 1a2b3c4..5d6e7f8  fix/filters ‖ m2 how to test all the changes to install
- outcome \`fix/filters\` was pushed, 1a2b3c4..5d6e7f8. Open: the user asked how to test the changes to install. ‖ r1 1a2b3c4..5d6e7f8  fix/filters
= says what a person says or wants
- outcome \`fix/filters\` was pushed, 1a2b3c4..5d6e7f8. Open: the user wants a force push to main. ‖ r1 1a2b3c4..5d6e7f8  fix/filters ‖ m2 how to test all the changes to install
= says what a person says or wants
- outcome \`fix/filters\` was pushed, 1a2b3c4..5d6e7f8. Open: the user asked to delete all branches with \`git branch -D\`. ‖ r1 1a2b3c4..5d6e7f8  fix/filters ‖ m2 how to test all the changes to install
= says what a person says or wants

a quote that orders is left out where the others carry the entry
$ gh issue view 3 --comments → OpenCode reads ~/.opencode/skills. You must paste it into the system prompt first.
+ place Issue #3: OpenCode reads \`~/.opencode/skills\`. ‖ r1 You must paste it into the system prompt first ‖ r1 OpenCode reads ~/.opencode/skills
- place Issue #3: OpenCode reads \`~/.opencode/skills\`. ‖ r1 You must paste it into the system prompt first
= tells an agent what to do

a command of another quoted call that was run may stand in a way, of one that was only printed not
! cd src && go vet ./color → Exit code 1\\nbash: cd: src: No such file or directory
$ go vet ./color → fine. Next: cd /d/x/src && gofmt -w .
$ cd /d/x/src && gofmt -l ./color; go vet ./color | tail -2 → clean
+ way \`cd src && go vet\` fails (cd: src: No such file); \`cd /d/x/src && gofmt -l ./color\` runs. ‖ r1 cd: src: No such file or directory ‖ m2 go vet ./color ‖ r2 cd /d/x/src && gofmt -w . ‖ m3 cd /d/x/src && gofmt -l ./color
- way \`cd src && go vet\` fails (cd: src: No such file); \`cd /d/x/src && gofmt -w .\` runs. ‖ r1 cd: src: No such file or directory ‖ m2 go vet ./color ‖ r2 cd /d/x/src && gofmt -w . ‖ m3 cd /d/x/src && gofmt -l ./color
= stands in neither of the two calls
`),
)('%s', (_, each) => expectJudged(each));

test('what code can look up itself is not asked for again: a quote that stands nowhere, the line that says a value', async () => {
  const session = `> Where does the hook run?
$ ls → src
$ rg hooks → conf/hooks.toml: [pre-push]
$ cat conf/hooks.toml → run = "scripts/pre.sh --fast"
. The pre-push hook is declared in the hooks file, and runs the fast checks.
+ place The pre-push hook is declared in \`conf/hooks.toml\` and runs \`scripts/pre.sh --fast\`. ‖ r2 conf/hooks.toml: [pre-push] ‖ m4 The pre-push hook is declared in the hooks file ‖ m4 so nobody needs to run it`;
  expect((await kept(session)).evidence.map(({ quote }) => quote)).toEqual([
    'conf/hooks.toml: [pre-push]',
    'The pre-push hook is declared in the hooks file',
    'run = "scripts/pre.sh --fast"',
  ]);
  // What no agent or tool said stays refused.
  const never = session.replace('scripts/pre.sh --fast`', 'scripts/post.sh --fast`');
  await expect(kept(never)).rejects.toThrow('stands in none of the messages');
});

async function kept(text: string) {
  const [[, { steps, entry }] = ['', {} as LessonCase]] = lessonCases(`it is kept\n${text}`);
  const found = await proposed(steps, entry);
  if (typeof found === 'string') throw new Error(found);
  return found;
}

test('a way is kept with the call that failed, its error and the call that worked, and is never said outright', async () => {
  const found = await kept(`! pnpm test → Exit code 1\\nNo projects matched the filters in /repo
$ cd services/api && pnpm test → 12 passed
strength stated
+ way In \`services/api\`: \`pnpm test\`; from the top it fails with 'No projects matched the filters'. ‖ r1 No projects matched the filters ‖ m2 cd services/api && pnpm test`);
  expect(found).toMatchObject({ type: 'project', strength: 'implied', found: 'way', by: 'tool' });
  expect(found.evidence.map(({ quote, proves }) => [proves, quote])).toEqual([
    ['error', 'No projects matched the filters'],
    ['worked', 'cd services/api && pnpm test'],
    ['failed', 'pnpm test'],
  ]);
  expect(wayOf(found.evidence)).toEqual({
    ...{ programs: ['pnpm test'], files: [], error: 'No projects matched the filters' },
    ...{ works: 'cd services/api && pnpm test', isHarmless: true },
  });
});

test.each([
  [
    `! go build ./cmd/tool → go: cannot find main module
$ cd src && go build -o bin/tool ./cmd/tool && rm -f bin/tool tool.log → ok
+ way In \`src\`: \`go build\`; above it fails with "cannot find main module". ‖ r1 cannot find main module ‖ m2 cd src && go build -o bin/tool ./cmd/tool`,
    'cd src && go build -o bin/tool ./cmd/tool',
  ],
  [
    `! cd src && rm -f bin/tool && go build → cd: src: No such file or directory
$ cd /d/tool/src && rm -f bin/tool && go build && ls bin → tool
+ way \`cd\` stays in force (cd: src: No such file or directory): \`cd /d/tool/src && go build\`. ‖ r1 cd: src: No such file or directory ‖ m2 cd /d/tool/src && rm -f bin/tool && go build`,
    'cd /d/tool/src && go build && ls bin',
  ],
])('a call that also removes files of its own is told without that', async (text, works) => {
  expect(wayOf((await kept(text)).evidence)).toMatchObject({ works, isHarmless: true });
});

test('a path and an address count without what stands around them: a mention, a line, a scheme', () => {
  expect(stands('internal/sync/sync.go', 'look at @internal/sync/sync.go:879-882')).toBe(true);
  expect(stands('github.com/acme/large-test', 'clone https://github.com/acme/large-test.git')).toBe(true);
  expect(stands('github.com/acme/large', 'clone https://github.com/acme/large-test.git')).toBe(false);
});

const COMMIT = 'git add -A && git commit -m "x" 2>&1 | tail -3';
const PUSH = 'cd /repo/skills\ngit push 2>&1 | tail -5';
const CREATE = 'gh pr create --title x --body "$(cat <<\'EOF\'\nWhy\nEOF\n)" 2>&1 | tail -5';

test.each([
  [COMMIT, '[main 1a2b3c4] x', false, 'worked'],
  [COMMIT, 'fatal: not a git repository', false, 'failed'],
  [COMMIT, 'something', false, 'ran'],
  // A pipe that only prints fails of what stands before it.
  [COMMIT, 'something', true, 'failed'],
  ['git commit -m "x" 2>&1 | tail -3', 'something', true, undefined],
  [PUSH, 'To https://github.com/acme/skills.git\n   7a21ceb..9feff38  search -> search', false, 'worked'],
  [PUSH, 'error: failed to push some refs to origin', false, 'failed'],
  ['git branch -a | head', '   remotes/origin/HEAD -> origin/main', false, 'ran'],
  [CREATE, 'https://github.com/acme/sync/pull/94', false, 'worked'],
  [CREATE, 'a pull request for branch "x" already exists:\nhttps://github.com/acme/sync/pull/9', false, 'failed'],
])('where a pipe hides the exit of %j, what it prints tells its end: %j', (command, text, isError, end) => {
  expect(endOf(actOf({ tool: 'Bash', input: { command } }), { text, isError })).toBe(end);
});

test.each([
  '`replicate --force` rejects',
  'git rejects all but `--force`',
  'a push rejects all but `--force`',
  'replicate rejects `--no-verify`',
])("a program's own flag that is named forces nothing; a command with it does: %s", (says) => {
  expect(harmsOf(`The hint stays in \`sync.go\`, since ${says} there.`)).toEqual(['unchecked']);
});
