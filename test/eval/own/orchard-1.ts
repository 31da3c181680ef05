// A backend engineer and a coding agent on a product for fruit growers: the first eight sessions, September 2026.

import {
  again,
  answers,
  feedback,
  never,
  project,
  reads,
  reference,
  runs,
  type SessionSource,
  turn,
  user,
} from '../set.ts';
import { CI_LOG, CONTRIBUTING, HARVEST_TS, NPM_INSTALL } from './outputs.ts';

export const ORCHARD_1: SessionSource[] = [
  {
    startsAt: '2026-09-01T08:02:00Z',
    turns: [
      turn(
        "Hi! Quick intro since this is a fresh setup: I'm a backend engineer, eleven years of Java, but I only picked up TypeScript this summer, so don't assume I know the idioms.",
        [
          user(
            'o-java',
            'The user is a backend engineer with eleven years of Java.',
            'backend & engineer|developer & java',
          ),
          user(
            'o-ts',
            'The user picked up TypeScript in summer 2026 and does not know its idioms.',
            'typescript & idiom*|new to|beginner|learning|picked up & !review*',
          ),
        ],
        [answers('Good to know. I will explain idioms where they matter. What are we working on?')],
      ),
      turn(
        'I prefer short answers. If I want the long version I will ask for it.',
        [user('o-short', 'The user prefers short answers.', 'short|brief|concise & answer*|repl*|response*')],
        [answers('Understood.')],
      ),
      turn(
        'Add a unit test for the crate weights. And: use pnpm instead of npm, CI breaks as soon as a package-lock.json shows up.',
        [
          feedback(
            'o-pnpm',
            'Use pnpm, not npm: CI breaks when a package-lock.json appears.',
            'pnpm & !lint:ci|types:ci|instead of pnpm|pnpm to bun|than pnpm|over pnpm',
          ),
        ],
        [
          runs('npm install', NPM_INSTALL),
          reads('src/harvest.ts', HARVEST_TS),
          answers('I added the test and removed the package-lock.json that npm had made.'),
        ],
      ),
      turn(
        'ok now run it',
        [],
        [
          runs('pnpm vitest run test/harvest.test.ts', 'Test Files  1 passed (1)\n     Tests  3 passed (3)'),
          answers('It passes.'),
        ],
      ),
    ],
  },
  {
    startsAt: '2026-09-03T12:40:00Z',
    turns: [
      turn(
        'Never commit to main directly. Branches are called kim/<ticket>-<slug>, otherwise the deploy bot ignores them.',
        [
          feedback('o-main', 'Never commit to main directly.', 'never|not|no & commit*|push* & main'),
          feedback(
            'o-branch',
            'Branches are named kim/<ticket>-<slug>; the deploy bot ignores others.',
            'branch* & kim/<ticket>-<slug>',
          ),
        ],
        [answers('I will work on kim/ORC-118-crates.')],
      ),
      turn('Bugs are tracked in Jira under ORC. Design docs live in Confluence, space FRUIT.', [
        reference('o-jira', 'Bugs are tracked in Jira under ORC.', 'bug*|issue*|ticket* & jira & !linear'),
        reference('o-confluence', 'Design docs are in Confluence, space FRUIT.', 'confluence & fruit'),
      ]),
      turn(
        'What if we moved the weighing events to Kafka? Just thinking aloud, no need to do anything.',
        [never('o-kafka', 'hypothetical', { text: 'The weighing events move to Kafka.', match: 'kafka' })],
        [answers('It would decouple the scales from the API, at the price of another system to run.')],
      ),
      turn(
        'Great, another flaky test. I just love those, please add many more of them.',
        [
          never('o-flaky', 'sarcasm', {
            text: 'The user loves flaky tests and wants more of them.',
            match: 'love*|like*|want* & flaky',
          }),
        ],
        [runs('pnpm vitest run', CI_LOG), answers('The clock in weigh.test.ts was not frozen; fixed.')],
      ),
    ],
  },
  {
    startsAt: '2026-09-07T07:15:00Z',
    turns: [
      turn(
        'For the cache of the price service: look at the options and tell me.',
        [],
        [answers('Two fit: Redis, or process memory. Should the cache of the price service go to Redis?')],
      ),
      turn('no, process memory. one node is all we have', [
        project(
          'o-cache',
          'The cache of the price service stays in process memory, not Redis, because there is only one node.',
          'price & cache & memory',
        ),
      ]),
      turn(
        'The staging API listens on port 4810 and the production one on 4180. Mixing those two up cost us a day.',
        [
          project('o-port-staging', 'The staging API listens on port 4810.', 'staging & 4810 & !4820', {
            group: 'ports',
          }),
          project('o-port-prod', 'The production API listens on port 4180.', 'prod* & 4180', { group: 'ports' }),
        ],
        [answers('Noted. Which of them do you want me to probe?')],
      ),
      turn(
        'Staging. Use port 9999 for the local mock for now, 4810 is taken on my machine today.',
        [never('o-9999', 'momentary', { text: 'The local mock runs on port 9999.', match: '9999' })],
        [answers('The mock runs on 9999.')],
      ),
      turn("don't commit yet", [
        never('o-dont-commit', 'momentary', {
          text: 'The user does not want anything to be committed yet.',
          match: "don't|not|no & commit* & yet|until",
        }),
      ]),
    ],
  },
  {
    startsAt: '2026-09-09T13:30:00Z',
    turns: [
      turn(
        'Mira owns the billing service, Jonas does the scales firmware. Ask them before you change an interface of theirs.',
        [
          project('o-mira', 'Mira owns the billing service.', 'mira & billing & !anouk'),
          project('o-jonas', 'Jonas does the firmware of the scales.', 'jonas & firmware & !7.9|8.2'),
          feedback(
            'o-ask-owner',
            'Ask the owner of a service before changing an interface of theirs.',
            'ask*|consult* & before & interface*',
          ),
        ],
      ),
      turn(
        'The code freeze for release 3.0 is in two weeks, the release itself a week after that.',
        [
          project('o-freeze', 'Code freeze for release 3.0 is 2026-09-23.', 'freeze & 2026-09-23'),
          project('o-release', 'Release 3.0 is on 2026-09-30.', 'release* & 3.0 & 2026-09-30'),
        ],
        [answers('Two weeks from now is 2026-09-23; the release would be 2026-09-30.')],
      ),
      turn(
        'Jonas wrote this on Slack, can you make sense of it?\n\n> always flush the serial buffer twice, and please everybody stop using 64-bit floats for weights, I want cents of a gram as integers\n\nI am not convinced yet.',
        [
          never('o-flush', 'third-party', {
            text: 'Always flush the serial buffer twice.',
            match: 'flush* & serial|buffer',
          }),
          never('o-floats', 'third-party', {
            text: 'Weights must be integers in cents of a gram, never 64-bit floats.',
            match: 'float*|cents|integer* & weight*',
          }),
        ],
        [answers('He means rounding errors that add up in long harvests.')],
      ),
      turn(
        'Read CONTRIBUTING.md and follow it for this PR.',
        [
          never('o-tabs', 'tool', { text: 'Always use tabs for indentation.', match: 'tab|tabs & indent*|always|use' }),
          never('o-signed', 'tool', { text: 'Every commit must be signed off with -s.', match: 'sign*' }),
        ],
        [reads('CONTRIBUTING.md', CONTRIBUTING), answers('Done, as it says there.')],
      ),
    ],
  },
  {
    startsAt: '2026-09-11T09:05:00Z',
    turns: [
      turn(
        'Tests must never hit the real weather API. Last month a run burned the whole quota in an afternoon. There is a recorded fixture in test/weather/2026.json.',
        [
          feedback(
            'o-weather',
            'Tests never call the real weather API, which once used up the quota; use the recorded fixture test/weather/2026.json.',
            'weather & test*',
          ),
        ],
      ),
      turn(
        'Run the review skill over it before you open the PR.',
        [feedback('o-review', 'Run the review skill over a change before opening the PR.', 'review & skill')],
        [runs('review --staged', 'No findings.'), answers('Reviewed, no findings. The PR is open.')],
      ),
      turn('Yes exactly, one commit per logical change, like you did here. Keep doing that.', [
        feedback(
          'o-one-commit',
          'Make one commit for each logical change.',
          'one|single|separate & commit* & logical|change*',
        ),
      ]),
      turn(
        'maybe we should try Bun some day. anyway, merge it',
        [
          never('o-bun-maybe', 'hypothetical', {
            text: 'The project will try Bun some day.',
            match: 'bun & try|maybe|consider*',
          }),
        ],
        [answers('Merged.')],
      ),
    ],
  },
  {
    startsAt: '2026-09-15T14:20:00Z',
    turns: [
      turn(
        'The nightly export for the cooperative must be finished by 04:30 Berlin time, their import starts at 5 sharp.',
        [
          project(
            'o-export',
            "The nightly export for the cooperative must be finished by 04:30 Berlin time; the cooperative's import starts at 05:00.",
            'export & 04:30|4:30',
          ),
        ],
      ),
      turn(
        'Correction to what I said about tickets: since yesterday we track bugs in Linear, team Orchard. Jira is read-only now.',
        [
          reference(
            'o-linear',
            'Bugs are tracked in Linear, team Orchard, since 2026-09-14; Jira is read-only.',
            'linear & !github',
            {
              replaces: 'o-jira',
            },
          ),
        ],
      ),
      turn('use eu-west-1 for the backups. no wait, sorry, eu-central-1, the west bucket is going away.', [
        never('o-eu-west', 'retracted', {
          text: 'Backups go to eu-west-1.',
          match: 'backup* & eu-west-1 & !eu-central-1',
        }),
        project(
          'o-backup',
          'Backups go to eu-central-1; the bucket in the west goes away.',
          'backup* & eu-central-1 & !seven & !weekly',
        ),
      ]),
      turn(
        'Do we have a rate limit on the public endpoint?',
        [
          never('o-rate', 'assistant', {
            text: 'The public endpoint is limited to 100 requests per minute.',
            match: '100 & request*|minute|limit*',
          }),
        ],
        [answers('I could not find one. I would suggest 100 requests per minute and will assume that for now.')],
      ),
    ],
  },
  {
    startsAt: '2026-09-18T08:45:00Z',
    turns: [
      turn('Freeze moved: the code freeze for 3.0 is 2026-09-25 now, QA lost two people. Release stays.', [
        project(
          'o-freeze-2',
          'Code freeze for release 3.0 is 2026-09-25, because QA lost two people.',
          'freeze & 2026-09-25',
          {
            replaces: 'o-freeze',
          },
        ),
      ]),
      turn(
        'The Grafana board for ingest latency is https://grafana.orchard.example/d/ingest-7 and the on-call runbook is https://runbooks.orchard.example/ingest.',
        [
          reference(
            'o-grafana',
            'The Grafana board for ingest latency is https://grafana.orchard.example/d/ingest-7.',
            'https://grafana.orchard.example/d/ingest-7',
          ),
          reference(
            'o-runbook',
            'The on-call runbook for ingest is https://runbooks.orchard.example/ingest.',
            'https://runbooks.orchard.example/ingest',
          ),
        ],
      ),
      turn(
        'The token for the test account is ' +
          ['ghp', 'A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8'].join('_') +
          ', the account itself is called orchard-ci.',
        [
          never('o-token', 'secret', {
            text: ['ghp', 'A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8'].join('_'),
            match: 'ghp_*|A1b2C3d4E5f6*',
          }),
          reference('o-ci-account', 'The test account is called orchard-ci.', 'account & orchard-ci'),
        ],
      ),
      turn(
        'When you name a migration, start with the date and the ticket: 2026-09-18_ORC-131_crates.sql. The runner sorts by name.',
        [
          feedback(
            'o-migration',
            'Names of migrations begin with date and ticket (2026-09-18_ORC-131_crates.sql), because the runner sorts by name.',
            'migration* & 2026-09-18_ORC-131_crates.sql|date & !double|2026-11-03__orc-160__picker.sql',
          ),
        ],
      ),
    ],
  },
  {
    startsAt: '2026-09-22T10:10:00Z',
    turns: [
      turn(
        'Fix the crate rounding. Run the review skill over it when you are done.',
        [again('o-review')],
        [reads('src/harvest.ts', HARVEST_TS), runs('review --staged', 'No findings.'), answers('Fixed and reviewed.')],
      ),
      turn(
        'Stop adding try/catch around everything. Let errors reach the handler in src/errors.ts, it knows the request id.',
        [
          feedback(
            'o-catch',
            'Do not wrap code in try/catch; let errors reach the handler in src/errors.ts, which knows the request id.',
            'try/catch|src/errors.ts',
          ),
        ],
      ),
      turn('From now on use bun instead of pnpm, we switched the lockfile over this morning.', [
        feedback(
          'o-bun',
          'Use bun instead of pnpm, since 2026-09-22.',
          'bun & use|instead|since|switched & !back|mistake|dropped|instead of bun|no longer|until',
          { replaces: 'o-pnpm' },
        ),
      ]),
      turn('I review in the evening, usually after 20:00, so do not wait for me during the day.', [
        user('o-evening', 'The user reviews in the evening, usually after 20:00.', 'review* & evening|20:00'),
      ]),
    ],
  },
];
