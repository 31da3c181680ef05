import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { redact } from '../../../src/base/secrets/redact-text.ts';
import { sized, waysTaken } from '../../support/depth.ts';

/** Letters and digits as a machine makes them. Put together here, so that no scanner takes this file for a leak. */
function random(length: number): string {
  return 'aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW0xY'.repeat(9).slice(0, length);
}

async function textOf(text: string): Promise<string> {
  return (await redact(text)).text;
}

const PEM = (kind: string, lines: string) =>
  `-----BEGIN ${kind}PRIVATE KEY-----${lines}-----END ${kind}PRIVATE KEY-----`;
const JWT = `eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${random(43)}`;

// Each line: what stands before the secret, the secret, what stands after it, the rule.
const SECRETS: [before: string, secret: string, after: string, rule: string][] = [
  ['the key ', `AKIA${'ABCD2345'.repeat(2)}`, ' is in the vault', 'aws'],
  ['{\\"AWS_SECRET_ACCESS_KEY\\": \\"', `wJalrXUtnFEMI/K7MDENG/${random(18)}`, '\\"} was found', 'assignment'],
  ['login with ', JWT, ' once', 'jwt'],
  [
    'login with ',
    JWT.replace('IkpX', 'Ikp\n  X').replace(random(43), `${random(20)}\\n${random(23)}`),
    '\nonce',
    'jwt',
  ],
  ['curl -H "Authorization: Bearer ', random(30), '" https://example.org/a', 'authorization'],
  ['Authorization: Basic ', 'dXNlcjpwYXNzd29yZA==', ' failed', 'authorization'],
  ['send bearer ', random(20), ' with it', 'authorization'],
  ['API_KEY=', 'abcdefghij1234', ' npm test', 'assignment'],
  ['export SECRET=', 'supersecretvalue', '; npm test', 'assignment'],
  ['password: ', 'hunter2', ', then deploy', 'assignment'],
  ['My password is ', 'hunter2', '. Keep it.', 'assignment'],
  ['{"password": "', 'correcthorse', '", "user": "bob"}', 'assignment'],
  ['DB_PASSWORD=', 'letmein99', '\nDB_HOST=db', 'assignment'],
  ['DB_PASSWORD=', 'letmein99', '\\nDB_HOST=db', 'assignment'],
  ['password=\n  "', 'hunter2222', '"', 'assignment'],
  ["process.env['API_KEY'] = '", random(20), "';", 'assignment'],
  ['deploy --token ', random(24), ' now', 'assignment'],
  ['https://api.example.org/v1?token=', random(24), '&page=2', 'assignment'],
  ['maps: ', `AIza${random(35)}`, ' ok', 'google'],
  ['charge with ', `sk_live_${random(24)}`, ' ok', 'stripe'],
  ['charge with ', `rk_live_${random(24)}`, ' ok', 'stripe'],
  ['push with ', `ghp_${random(36)}`, ' ok', 'github'],
  ['push with ', `ghp_${random(20)}\n    ${random(36).slice(20)}`, ' ok', 'github'],
  ['push with ', `ghp_${random(20)}\\n${random(36).slice(20)}`, ' ok', 'github'],
  ['push with ', `github_pat_${random(22)}_${random(59)}`, ' ok', 'github'],
  ['post with ', `xoxb-123456789012-123456789012-${random(24)}`, ' ok', 'slack'],
  ['publish with ', `npm_${random(36)}`, ' ok', 'npm'],
  ['//registry.npmjs.org/:_authToken=', `npm_${random(36)}`, ' and more', 'npm'],
  ['ask with ', `sk-ant-api03-${random(93)}AA`, ' ok', 'anthropic'],
  ['ask with ', `sk-proj-${random(48)}`, ' ok', 'openai'],
  ['ask with ', `sk-${random(48)}`, ' ok', 'openai'],
  ['mail with ', `SG.${random(22)}.${random(43)}`, ' ok', 'sendgrid'],
  ['load with ', `hf_${'abcdefghij'.repeat(4).slice(0, 34)}`, ' ok', 'huggingface'],
  ['it says ', PEM('RSA ', `\nMIIE${random(60)}\n${random(64)}\n`), '\nand more', 'private-key'],
  ['"key": "', PEM('', `\\nMIIE${random(60)}\\n${random(64)}\\n`), '\\n" and more', 'private-key'],
  ['cut: ', `-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl${random(60)}\n${random(30)}`, '\nand more', 'private-key'],
  ['postgres://bob:', 's3cr3t', '@db.example.org:5432/app is the test database', 'url-login'],
  ['https://user:', 'pass', '@example.org/x', 'url-login'],
  ['git clone https://', random(24), '@example.org/a.git', 'url-login'],
  ['git clone https://', random(24), ':@example.org/a.git', 'url-login'],
  ['git clone https://', random(40).toLowerCase(), ':x-oauth-basic@github.com/a/b.git', 'url-login'],
  ['Das Passwort ist ', 'hunter2', '. Gut.', 'assignment'],
  ['Das Kennwort lautet: ', 'hunter2', '', 'assignment'],
  ['Le mot de passe est ', 'hunter2', ' ici', 'assignment'],
  ['La contraseña es ', 'hunter2', '.', 'assignment'],
  ['пароль: ', 'hunter2', '', 'assignment'],
  ['密码：', 'hunter2', '', 'assignment'],
  ['Cookie: ', `session=${random(24)}; theme=dark`, '', 'cookie'],
  ['"set-cookie": "', `sid=${random(24)}; Path=/`, '" and more', 'cookie'],
  ['call the bot ', `110201543:AA${random(33)}`, ' ok', 'telegram'],
  ['post to https://', `discord.com/api/webhooks/123456789012345678/${random(68)}`, ' ok', 'discord'],
  ['droplets with ', `dop_v1_${'0123456789abcdef'.repeat(4)}`, ' ok', 'digitalocean'],
  ['data: ', Buffer.from(`ghp_${random(36)}`).toString('base64'), ' ok', 'base64'],
  ['key=', Buffer.from(`AKIA${'ABCD2345'.repeat(2)}`).toString('base64'), '', 'base64'],
  ['curl -s -u bob:', 'hunter2', ' https://example.org', 'login'],
  ['oc login --token=', `sha256~${random(43)}`, ' --server=https://a.example', 'openshift'],
  ['DOPPLER_TOKEN=', `dp.pt.${'abc4efgh1jkl'.repeat(4).slice(0, 43)}`, '', 'doppler'],
  ['OPENAI_KEY="', '0a1b2c3d4e5f60718293a4b5c6d7e8f9', '"', 'assignment'],
  ['const stripeKey = "', random(30), '";', 'assignment'],
  ['machine api.example login bob password ', 'hunter2', '\nmachine b.example', 'login'],
  ['machine api.example\n  login bob\n  password ', 'correcthorse', '\n', 'login'],
  ['mysql -u root -p', 'horse', ' app < dump.sql', 'login'],
  ['sshpass -p ', 'horse', ' ssh bob@a.example', 'login'],
  ["sshpass -p '", 'horse', "' ssh bob@a.example", 'login'],
  ["docker login -u bob -p '", 'correct horse', "' registry.example", 'login'],
  ['const stripeKey = "', 'abcdefghijklmnop1234', '";', 'assignment'],
  ['const apiKey: string = "', random(24), '";', 'assignment'],
  ['const MAIL_KEY: &\'static str = "', random(24), '";', 'assignment'],
  ['the private key:\n', '0a1b2c3d4e5f6071'.repeat(4), '\n', 'private-key'],
  ['docker login -u bob -p ', 'horse', ' registry.example', 'login'],
  ['    client-key-data: ', `LS0tLS1CRUdJTiBSU0Eg${random(40)}`, '\n', 'assignment'],
  ['the private key is ', '0a1b2c3d4e5f6071'.repeat(4), ', on the test net', 'private-key'],
  ['wallet private key ', `0x${'0a1b2c3d4e5f6071'.repeat(4)}`, '', 'private-key'],
  ['{"kind":"Secret","data":{"url":"', 'cG9zdGdyZXM6Ly9h', '"},"type":"Opaque"}', 'kubernetes'],
  ['apiVersion: v1\ndata:\n  url: ', 'cG9zdGdyZXM6Ly9h', '\nkind: Secret\n', 'kubernetes'],
  ['Cookie: ', `consent=all2026; sid=${random(24)}`, '', 'cookie'],
  ['.example.org\tTRUE\t/\tTRUE\t0\tPHPSESSID\t', '5f2k9q8w7e6r5t4', '\n', 'cookie'],
  ['.example.org\tTRUE\t/\tFALSE\t0\tauth\t', 'Q9x_Zk3-Lp', '\n', 'cookie'],
  ['vault login ', 's.9F2kd83hJs', ' now', 'login'],
  ['MY_TOKEN set\t-b "', random(20), '"', 'assignment'],
  ['the Azure storage key is ', `${random(43)}=`, ' now', 'assignment'],
  ['AWS storage key: ', `wJalrXUtnFEMI/K7MDENG/${random(18)}`, '', 'assignment'],
  ['Their bank card ', '4111 1111 1111 1111', ' 12/27 is mine.', 'card'],
  ['Pay with Visa ', '4012-8888-8888-1881', ',1/27.', 'card'],
  ['{"card": "', '5555555555554444', '"}', 'card'],
  ['Meine Kreditkarte: ', '3782 822463 10005', '\n', 'card'],
];

describe('redact', () => {
  test.each(SECRETS)('takes out what follows %j and keeps what is around it', async (before, secret, after, rule) => {
    expect(await redact(before + secret + after)).toEqual({
      text: `${before}[redacted:${rule}]${after}`,
      found: [{ rule, count: 1 }],
    });
  });

  test.each([
    'We keep the store behind one module; the secret: always write the test first.',
    'The token is base64 encoded, the password is 12 characters long.',
    'commit 3f786850e387550fdab836ed7e6dc881de23001b, id 123e4567-e89b-12d3-a456-426614174000',
    '/usr/local/lib/node_modules/secret/token.ts',
    'password: string; token?: string; secret: string | undefined',
    'const token = process.env.API_KEY; const apiKey = config.openai.apiKey2;',
    'this.token = token; token: getToken(user1); const token = tokens[1];',
    'password: z.string().min(8); if (password.length < 8) {}',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what a shell script holds
    'API_KEY=${TOKEN} TOKEN=$(cat token) Authorization: Bearer ${token}',
    'API_KEY=<your-key> API_KEY=xxxx password: *** API_KEY=your-api-key-12345 api_key: sk-...',
    'max_tokens: 8192, inputTokens: 123456, "token": "refresh", credentials: "same-origin"',
    'PWD=/home/user/project1 "PWD": "/home/user/project1" private_key: ./keys/dev1.pem',
    'Bearer token authentication; the Authorization header; authorization: authorizationHeader',
    'http://localhost:3000/@scope/pkg and git@example.org:a/b.git',
    'use -----BEGIN PRIVATE KEY----- as the first line and -----END PRIVATE KEY----- as the last',
    'sk-learn, skip-this-very-long-test-name-1234567890-abc, task-1234567890-abcdefghijklmnop',
    '"password": "Password", "password": "Enter your password"',
    'The test card of Stripe is 4242 4242 4242 4242; a card 4111 1111 1111 1112 has a wrong digit',
    'card_id: 4111111111111111; the card was made at 1764393770123456, called +49 4111 1111 1111 1111',
    'The columns are 4111 1111 1111 1111 wide',
    'Cookie: the banner asks once. Set-Cookie: SameSite=Lax; cookie: theme=dark; const cookie = req.cookies.session',
    `data: ${Buffer.from('Nothing of a key stands in here, version 12').toString('base64')}`,
    `{"next_page_token": "${random(40)}", "nextPageToken":"${random(40)}", "continuation_token": "${random(40)}"}`,
    `?page_token=${random(40)} --starting-token ${random(8)} nextSyncToken: '${random(30)}'`,
    `Cookie: consent=${random(40)}; theme=dark1234567890`,
    'cacheKey = "0a1b2c3d4e5f60718293a4b5c6d7e8f9", PRIMARY_KEY=0a1b2c3d4e5f60718293a4b5c6d7e8f9, "monkey": "aB3dE5fG7hJ9kL2mN4pQ"',
    'mysql -u root -p app; mysql --host a -P 3306; docker login -u bob -p $PASSWORD; sshpass -p "$PASS" ssh a',
    'ownerPrivateKey: Uint8Array, authKey: Uint8ClampedArray, signingKey: Ed25519Signer, secretKey: BigUint64Array',
    'FROM acme/secret:1.2@sha256:0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9',
    'kind: ConfigMap\ndata:\n  url: cG9zdGdyZXM6Ly9h',
    'Das Passwort ist 12 Zeichen lang; la contraseña es obligatoria; 密码：必填',
  ])('leaves %j alone', async (text) => {
    expect(await redact(text)).toEqual({ text, found: [] });
  });

  test('text cannot switch it off', async () => {
    const secret = `hf_${'abcdefghij'.repeat(4).slice(0, 34)}`;
    expect(await textOf(`<!-- secretlint-disable -->\n${secret}`)).not.toContain(secret);
  });

  test.each([
    ['a digit touches it', `take 7npm_${random(36)} there`, 'take [redacted:npm] there'],
    [
      'its letters are of none of our forms',
      `take npm_${'Ab_3dE5fG7h'.repeat(4).slice(0, 36)} there`,
      'take [redacted:npm] there',
    ],
    [
      'quotes stand in a password',
      `use postgres://bob:s3"cr'3t@db.example/app now`,
      'use postgres://bob:[redacted:url-login]@db.example/app now',
    ],
  ])('where %s a secret is found, with all that is glued to it', async (_, text, left) => {
    expect(await textOf(text)).toBe(left);
  });

  test('counts each rule and reports no value', async () => {
    const { found } = await redact(`password: hunter2 and password: hunter3, AKIA${'ABCD2345'.repeat(2)}`);
    expect(found).toEqual([
      { rule: 'assignment', count: 2 },
      { rule: 'aws', count: 1 },
    ]);
  });

  test('redacting twice gives the same, whatever stands next to what', async () => {
    const glue = fc.constantFrom('', ' ', '\n', ':', '=', '@', '"', '/', '-', '_', '\\n', 'password: ', '://a:', 'x');
    const piece = fc.constantFrom(...SECRETS.flatMap((row) => row.slice(0, 2)));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(piece, glue), { maxLength: 6 }), async (pairs) => {
        const once = await textOf(pairs.flat().join(''));
        expect(await redact(once)).toEqual({ text: once, found: [] });
      }),
      { numRuns: 300 },
    );
  });

  test('finds a vendor token anywhere in a long text', async () => {
    const secret = `glpat-${random(20)}`;
    for (const at of [0, 65_520, 65_536, 67_570, 131_060]) {
      const text = `${'a '.repeat(at / 2)}${secret} ${'b '.repeat(1e4)}`;
      expect(await textOf(text)).toBe(text.replace(secret, '[redacted:gitlab]'));
    }
  });

  // A pattern that backtracks needs minutes for these; each takes well under two seconds on a slow machine.
  const BYTES = sized({ quick: 2e5, deep: 1e6 });
  const repeated = [
    [
      'eyJ',
      'eyJaaaaaaaa\n',
      'eyJaaaaaaaaa.eyJ',
      'ghp_',
      'gho_ab\n',
      'ghs_1_',
      'npm_',
      'sk-',
      'sk-a\n   ',
      'AKIA',
      '\\',
    ],
    ['-----BEGIN PRIVATE KEY-----', '-----BEGIN PRIVATE KEY----- AAAAAAAAAAAAAAAAA ', '-', '://', '://a:', 'curl -u a'],
    [
      'secret',
      'secret: "',
      'secret:\\',
      'password=\\\\',
      'password=.',
      'token is ',
      '--a-a-a-',
      'bearer ',
      '\\n',
      ' ',
      '\\',
    ],
    ['https://bob:hunter22@example.org/ ', 'password: "aaa ', '[redacted:', 'hf_abcdefghijabcdefghijabcdefghijabcd '],
  ];
  test.each([...waysTaken(repeated.slice(0, 2)), ...waysTaken(repeated.slice(2), 1)])(
    `takes linear time over ${BYTES / 1e6} MB of %j`,
    async (...units) => {
      for (const unit of units) {
        const cpu = process.cpuUsage();
        await redact(unit.repeat(BYTES / unit.length));
        expect(process.cpuUsage(cpu).user / 1e6, unit).toBeLessThan(8);
      }
    },
  );
});

test('what was taken out is no part of another secret, and a bound parameter is none', async () => {
  const dsn = 'sql.Open("mysql", "crm:97=eX-g_f5IhBN+%y&4+a0@tcp(mysql.crm:3306)/crm")';
  const { text } = await redact(dsn);
  expect(text).toBe('sql.Open("mysql", "crm:[redacted:url-login]@tcp(mysql.crm:3306)/crm")');
  const bound = 'CREATE USER pedro IDENTIFIED BY :password;';
  expect(await redact(bound)).toEqual({ text: bound, found: [] });
});

test('a value of a long Kubernetes secret is taken out whole, wherever it begins', async () => {
  for (const at of [3_900, 7_900, 11_900, 15_900]) {
    const before = `kind: Secret\ndata:\n  # ${'-'.repeat(at)}\n  url: `;
    const after = '\nnext: cG9zdGdyZXM6Ly9h\n';
    expect(await textOf(`${before}${'cG9zdGdyZXM6Ly9h'.repeat(60)}${after}`)).toBe(
      `${before}[redacted:kubernetes]${after}`,
    );
  }
});

test('one word again and again is no seed phrase', async () => {
  const text = 'word '.repeat(3_000);
  expect((await redact(text)).text).toBe(text);
});

test('a token that no name stands beside is told by a sign within it', async () => {
  for (const sign of ['|', '%'])
    expect((await redact(`BOX=923679485081507${sign}OKbi6wsp_lo8Xh5W4q13iJcmKD-\n`)).text).toBe(
      'BOX=[redacted:facebook]\n',
    );
});
