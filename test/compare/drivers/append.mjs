// The least that could be done: the model is asked once for each session, and what it says is put at the end of a file. It is
// shown what the two who speak say, or, with `--tools`, what tools answered too. Prints `done N` after each session.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [, dir, url, list, ...flags] = process.argv.slice(2);
const file = join(dir, 'MEMORY.md');
if (flags.includes('--list')) {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  console.log(JSON.stringify(lines.filter((line) => line.startsWith('- ')).map((line) => line.slice(2))));
  process.exit(0);
}
// Not before: to list needs none of it.
const { default: Anthropic } = await import('@anthropic-ai/sdk');
const anthropic = new Anthropic({ apiKey: 'loopback', baseURL: url, maxRetries: 0 });
for (const [at, { messages }] of JSON.parse(readFileSync(list, 'utf8')).entries()) {
  const shown = messages.filter(({ role }) => role !== 'tool' || flags.includes('--tools'));
  const said = shown.map(({ role, content }) => `${role}: ${content}`).join('\n');
  const known = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const { content } = await anthropic.messages.create({
    model: 'loopback',
    max_tokens: 4_096,
    system: 'List what should be remembered of this session beyond what is known, one line each, beginning with "- ".',
    messages: [{ role: 'user', content: `Known:\n${known}\n<session>\n${said}` }],
  });
  const lines = content
    .map((block) => block.text ?? '')
    .join('\n')
    .trim();
  if (lines !== '') appendFileSync(file, `${lines}\n`);
  console.log(`done ${at}`);
}
process.exit(0);
