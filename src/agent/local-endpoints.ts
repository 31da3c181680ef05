// Programs on this machine that answer the Messages protocol, each on its usual port, and which models they have. Asked by
// the call that lists models: no model is loaded by it. Silence, and an answer that is no such list, is none.

import { objectAt, objectsOf, textOf } from '../base/text/json.ts';

export interface LocalEndpoint {
  title: string;
  baseUrl: string;
  models: string[];
}

const ANSWERS_WITHIN_MS = 700;

/** Those that have a model; `OLLAMA_HOST` is where Ollama's own tools look for it. */
export async function findLocalEndpoints({
  OLLAMA_HOST,
}: Record<string, string | undefined>): Promise<LocalEndpoint[]> {
  const places = [
    { title: 'Ollama', baseUrl: ollamaUrl(OLLAMA_HOST) },
    { title: 'LM Studio', baseUrl: 'http://127.0.0.1:1234' },
  ];
  const found = await Promise.all(places.map(async (each) => ({ ...each, models: await listModels(each.baseUrl) })));
  return found.filter(({ models }) => models.length > 0);
}

/** A host that servers listen at may be none that can be called. */
export function ollamaUrl(host = ''): string {
  const [, scheme = 'http', name, port = '11434'] =
    /^(?:(https?):\/\/)?(\[.*\]|[^:/]*)(?::(\d+))?\/?$/.exec(host.trim()) ?? [];
  return `${scheme}://${!name || name === '0.0.0.0' || name === '[::]' ? '127.0.0.1' : name}:${port}`;
}

async function listModels(baseUrl: string): Promise<string[]> {
  const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
  const listed = await fetch(`${baseUrl}/v1/models`, { signal, redirect: 'error' })
    .then((response) => (response.ok ? response.json() : {}))
    .catch(() => ({}));
  const ids = objectsOf(objectAt({ listed }, 'listed').data).flatMap(({ id }) => textOf(id) ?? []);
  // Models that only place texts near to one another answer nothing, and those of Ollama's cloud are not local.
  return ids.filter((id) => !/embed|[:-]cloud$/i.test(id));
}
