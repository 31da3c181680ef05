// What of others is published with nocturne: the licences of the packages whose code the build took in, as their authors ask
// (dist/licences.txt), and a bill of materials of these and of what is installed beside them (dist/sbom.json, CycloneDX).

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @param {Iterable<string>} modules the paths of all modules that were built in */
export function writeThirdParties(modules) {
  const builtIn = new Map();
  for (const path of modules) {
    const dir = /.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path.replace(/^\0/, '').replaceAll('\\', '/'))?.[0];
    if (dir && existsSync(join(dir, 'package.json'))) builtIn.set(dir, packageAt(dir));
  }
  const sorted = [...builtIn].sort(([, a], [, b]) => a.name.localeCompare(b.name));
  writeFileSync(
    'dist/licences.txt',
    sorted
      .map(([dir, each]) => `${each.name} ${each.version} (${each.licence})\n\n${licenceTextIn(dir)}\n`)
      .join('\n---\n\n'),
  );
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const installed = Object.entries(lock.packages)
    .filter(
      ([path, each]) =>
        path.startsWith('node_modules/') && !each.dev && !each.optional && !each.devOptional && !each.peer,
    )
    .map(([path, each]) => ({
      name: path.replace(/.*node_modules\//, ''),
      version: each.version,
      licence: each.license,
    }));
  const component =
    (scope) =>
    ({ name, version, licence }) => ({
      type: 'library',
      name,
      version,
      scope,
      purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      ...(licence && { licenses: [/[ (]/.test(licence) ? { expression: licence } : { license: { id: licence } }] }),
    });
  const own = JSON.parse(readFileSync('package.json', 'utf8'));
  const bom = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        name: own.name,
        version: own.version,
        purl: `pkg:npm/${own.name}@${own.version}`,
      },
    },
    components: unique([...sorted.map(([, each]) => each), ...installed]).map(component('required')),
  };
  writeFileSync('dist/sbom.json', `${JSON.stringify(bom, null, 1)}\n`);
}

function unique(packages) {
  return [...new Map(packages.map((each) => [`${each.name}@${each.version}`, each])).values()];
}

function packageAt(dir) {
  const { name, version, license } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
  return { name, version, licence: license };
}

function licenceTextIn(dir) {
  const file = readdirSync(dir).find((name) => /^(licen[cs]e|copying)/i.test(name));
  return file ? readFileSync(join(dir, file), 'utf8').trim() : 'The package carries no licence file.';
}
