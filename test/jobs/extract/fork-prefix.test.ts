import { describe, expect, test } from 'vitest';
import { testApp, testModel } from '../../support/app.ts';
import { type Answer, calls, type MessagesRequest, says } from '../../support/messages-server.ts';
import { transcriptOf } from '../../support/transcripts.ts';

const MARK = { cache_control: { type: 'ephemeral' } };
const RULE = 'Always run the tests with `make check`, never with npm.';

/** A request as an agent sends it; its keys are in no usual order. */
function request(more: object = {}) {
  return {
    max_tokens: 4321,
    model: 'main-model',
    stream: true,
    thinking: { type: 'adaptive' },
    system: [
      { type: 'text', text: 'You are a coding agent. Größe ✓' },
      { type: 'text', text: 'Rules.', ...MARK },
    ],
    tools: [
      { name: 'Bash', input_schema: { type: 'object', properties: { zeta: {}, alpha: {} } }, description: 'Runs.' },
      { type: 'custom', name: 'Read', input_schema: { type: 'object' }, ...MARK },
    ],
    messages: [
      { role: 'user', content: RULE },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { b: 1, a: 2 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok', ...MARK }] },
      { role: 'assistant', content: [{ type: 'text', text: 'The tests pass.' }] },
    ],
    ...more,
  };
}

const fileOf = (body: object) => transcriptOf(JSON.stringify(body), 'request.json');

function appended(sent: MessagesRequest | undefined, after = 4) {
  const { role, content } = sent?.messages[after] ?? {};
  const blocks = Array.isArray(content) ? content : [];
  return { role, blocks, text: String(blocks.at(-1)?.text) };
}

/** One entry on the first human message that is listed as pending. */
function recordRule(sent: MessagesRequest, quote = RULE): Answer {
  const [, message] = /\n\[(\S+) human\]/.exec(appended(sent).text) ?? [];
  const entry = {
    type: 'feedback',
    strength: 'stated',
    text: 'The tests are run with `make check`.',
    evidence: [{ message, quote }],
  };
  return says(`Here it is:\n\`\`\`json\n${JSON.stringify({ entries: [entry] })}\n\`\`\``);
}

async function forked(script: Parameters<typeof testModel>[0], settings?: object) {
  const model = await testModel(script);
  const { app } = await testApp({ server: model, settings });
  return { app, model };
}

test('the request goes out byte for byte as it stood, with one message and its cache mark behind it', async () => {
  const { app, model } = await forked((sent) => recordRule(sent));
  const body = request();
  const report = await app.extract({ transcript: fileOf(body), ended: true, fork: 'prefix' });
  expect(report).toMatchObject({ outcome: 'recorded', fork: { by: 'prefix' } });
  expect(report.entries.map(({ text, evidence }) => [text, evidence[0]?.quote, evidence[0]?.speaker])).toEqual([
    ['The tests are run with `make check`.', RULE, 'human'],
  ]);
  const { stream: _, ...sentAtOnce } = body;
  const whole = JSON.stringify(sentAtOnce);
  // All up to the end of the last message; `messages` is the last key.
  expect(model.bodies[0]?.startsWith(whole.slice(0, -']}'.length))).toBe(true);
  expect(model.requests[0]?.messages).toHaveLength(5);
  expect(appended(model.requests[0])).toMatchObject({ role: 'user', blocks: [{ type: 'text', ...MARK }] });
  expect(model.requests).toHaveLength(1);
});

test('what was extracted by the prefix is covered, and a longer request offers only what is new', async () => {
  const { app, model } = await forked(() => says('{"entries": []}'));
  await app.extract({ transcript: fileOf(request()), ended: true, fork: 'prefix' });
  expect((await app.extract({ transcript: fileOf(request()), ended: true })).outcome).toBe('nothing-new');
  const messages = [...request().messages, { role: 'user', content: 'And what about lint?' }];
  const grown = await app.extract({ transcript: fileOf(request({ messages })), ended: true, fork: 'prefix' });
  expect(grown.outcome).toBe('nothing-worth-keeping');
  const { text } = appended(model.requests[1], 5);
  expect(text).toContain('And what about lint?');
  expect(text).not.toContain(RULE);
});

test('a refused quote comes back to the model, and what it calls is not run', async () => {
  const { app, model } = await forked((sent, call) =>
    call === 1
      ? recordRule(sent, 'words that nobody said')
      : call === 2
        ? calls('Bash', { command: 'rm -rf /' })
        : recordRule(sent),
  );
  const report = await app.extract({ transcript: fileOf(request()), ended: true, fork: 'prefix' });
  expect(report).toMatchObject({ outcome: 'recorded', spend: { calls: 3 } });
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('these words do not stand in');
  expect(model.requests[2]?.messages.at(-1)?.content).toMatchObject([
    { type: 'tool_result', tool_use_id: 'toolu_2_0', is_error: true, content: expect.stringContaining('Not run') },
  ]);
  // Each request continues the one before it, so that what that wrote to the cache is read.
  const prefixOf = (body: string | undefined) => body?.slice(0, -']}'.length);
  expect(model.bodies[1]?.startsWith(prefixOf(model.bodies[0]) ?? '?')).toBe(true);
  expect(model.bodies[2]?.startsWith(prefixOf(model.bodies[1]) ?? '?')).toBe(true);
});

test('five answers without a good one are all that is asked for', async () => {
  const { app, model } = await forked(() => says('I would rather chat.'));
  const report = await app.extract({ transcript: fileOf(request()), ended: true, fork: 'prefix' });
  expect(report.outcome).toBe('turn-limit');
  expect(model.requests).toHaveLength(5);
});

test('calls that were never answered get the answer that the API demands', async () => {
  const { app, model } = await forked(() => says('{"entries": []}'));
  const messages = request().messages.slice(0, 2);
  await app.extract({ transcript: fileOf(request({ messages })), ended: true, fork: 'prefix' });
  expect(appended(model.requests[0], 2).blocks).toMatchObject([
    { type: 'tool_result', tool_use_id: 'toolu_1', is_error: true },
    { type: 'text' },
  ]);
});

test('of four cache marks the first one of the messages makes room; nothing else changes', async () => {
  const { app, model } = await forked(() => says('{"entries": []}'));
  const marked = (text: string) => ({ role: 'user', content: [{ type: 'text', text, ...MARK }] });
  const said = { role: 'assistant', content: 'Well.' };
  const body = request({ messages: [marked('First of all.'), said, marked('And then.'), said] });
  await app.extract({ transcript: fileOf(body), ended: true, fork: 'prefix' });
  const [sent] = model.requests;
  expect(sent?.messages[0]).toEqual({ role: 'user', content: [{ type: 'text', text: 'First of all.' }] });
  expect(JSON.stringify([sent?.system, sent?.tools, sent?.messages.slice(1, 4)])).toBe(
    JSON.stringify([body.system, body.tools, body.messages.slice(1)]),
  );
  expect(model.bodies[0]?.match(/"cache_control"/g)).toHaveLength(4);
});

test('tokens are reported apart, new, from the cache and into it, in the report and in the call’s row', async () => {
  const usage = {
    input_tokens: 100,
    cache_read_input_tokens: 20_000,
    cache_creation_input_tokens: 400,
    output_tokens: 9,
  };
  const model = await testModel([{ text: '{"entries": []}', usage }]);
  const { app } = await testApp({ server: model });
  const report = await app.extract({ transcript: fileOf(request()), ended: true, fork: 'prefix' });
  const spent = { inputTokens: 500, cachedInputTokens: 20_000, cacheWriteTokens: 400, outputTokens: 9 };
  expect(report.spend).toMatchObject(spent);
  expect(await app.db.get('select input, cached, written, output from call')).toEqual({
    ...{ input: 500, cached: 20_000, written: 400, output: 9 },
  });
});

test('money is counted at the price of the model that the request names, and of a cache that is kept for an hour', async () => {
  const usage = {
    input_tokens: 100,
    cache_creation_input_tokens: 400,
    cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 300 },
    output_tokens: 10,
  };
  const price = { input: 10, cacheRead: 1, cacheWrite: 12.5, output: 50 };
  const { app } = await forked([{ text: '{"entries": []}', usage }], { prices: { 'main-model': price } });
  const { spend } = await app.extract({ transcript: fileOf(request()), ended: true, fork: 'prefix' });
  expect(spend).toMatchObject({ microUsd: 100 * 10 + 100 * 12.5 + 300 * 20 + 10 * 50 });
});

test('the ceiling of the job stands before the request, which may write as much as it says', async () => {
  const { app, model } = await forked([], { jobTokens: 4_321 });
  const report = await app.extract({ transcript: fileOf(request()), ended: true, fork: 'prefix' });
  expect(report.outcome).toBe('ceiling');
  expect(model.requests).toHaveLength(0);
});

describe('the slim excerpt is shown instead', () => {
  const webSearch = { type: 'web_search_20250305', name: 'web_search' };
  test.each<[string, object, string]>([
    [
      'where something is private',
      {
        messages: [
          { role: 'user', content: 'Hello.' },
          ...request().messages,
          { role: 'user', content: '<private>x</private>' },
        ],
      },
      'private',
    ],
    ['where the request demands a call', { tool_choice: { type: 'any' } }, 'demands a call'],
    ['where the request demands a format', { output_config: { format: { type: 'json_schema' } } }, 'demands a format'],
    ['where the provider would run tools', { tools: [webSearch] }, 'provider would run tools'],
    [
      'where a file counts that is not sent',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'document', source: { type: 'url', url: 'https://example.com/book.pdf' } }],
          },
          { role: 'assistant', content: 'Read.' },
          ...request().messages,
        ],
      },
      'files that are kept elsewhere',
    ],
    ['where the request names no model', { model: undefined }, 'names no model'],
  ])('%s', async (_, more, why) => {
    const { app, model } = await forked(() => says('Nothing.'));
    const report = await app.extract({ transcript: fileOf(request(more)), ended: true, fork: 'prefix' });
    expect(report.fork).toEqual({ by: 'excerpt', why: expect.stringContaining(why) });
    expect(model.requests.map((sent) => sent.model)).toEqual(['test-model']);
  });

  test('where the transcript holds no request', async () => {
    const { app } = await forked(() => says('Nothing.'));
    const transcript = fileOf(request().messages);
    const report = await app.extract({ transcript, ended: true, fork: 'prefix' });
    expect(report.fork).toEqual({ by: 'excerpt', why: 'the transcript holds no request' });
  });

  test('where the request is refused', async () => {
    const refuses: Answer = { status: 400, body: { error: { message: 'prompt is too long' } } };
    const { app, model } = await forked((sent) => (sent.model === 'main-model' ? refuses : says('Nothing.')));
    const report = await app.extract({ transcript: fileOf(request()), ended: true, fork: 'prefix', attempts: 2 });
    expect(report).toMatchObject({ outcome: 'nothing-worth-keeping', fork: { by: 'excerpt' } });
    expect(report.fork?.why).toContain('prompt is too long');
    expect(model.requests.map((sent) => sent.model)).toEqual(['main-model', 'test-model']);
  });

  test('by default', async () => {
    const { app, model } = await forked(() => says('Nothing.'));
    const report = await app.extract({ transcript: fileOf(request()), ended: true });
    expect(report.fork).toEqual({ by: 'excerpt' });
    expect(model.requests.map((sent) => sent.model)).toEqual(['test-model']);
  });
});
