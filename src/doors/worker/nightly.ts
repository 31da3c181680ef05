// The nightly dream: when it is due, and what keeps it shut. That a night is due is told by the home, not by the
// queue: once a night, by whichever worker comes first, and after a downtime over many nights once for all of them.
// What a person asks for passes every gate but one: no dream runs beside extractions of its directory.

import { Cron } from 'croner';
import type { Config } from '../../base/config/config.ts';
import { AppError } from '../../base/errors.ts';
import { lastDreamAt } from '../../memory/ledger/job-rows.ts';
import type { Store } from '../../memory/store/store.ts';
import type { App } from '../compose.ts';
import { wings } from '../wing.ts';

const HOUR_MS = 3_600_000;

/**
 * The instant of the nightly round that follows `lastAt`, in the past where it is overdue. A time that a change of the clocks leaves
 * out or repeats comes once. Errors: `bad-input` for a pattern that never comes.
 */
export function nextNightly({ dreamCron, zone }: Config, lastAt: Date): Date {
  const unusable = (cause?: unknown) =>
    new AppError('bad-input', `No nightly dream can be planned from "${dreamCron}" in "${zone}".`, {
      remedy: 'Set dreamCron in config.json of the nocturne home to a cron pattern such as "30 3 * * *".',
      cause,
    });
  let next: Date | null;
  try {
    next = new Cron(dreamCron, { timezone: zone, paused: true }).nextRun(lastAt);
  } catch (cause) {
    throw unusable(cause);
  }
  if (!next) throw unusable();
  return next;
}

/** Puts the nightly dream into the inboxes if it is due; answers whether it was. */
export async function roundIfDue(app: App, onError: (message: string) => void): Promise<boolean> {
  const dueAt = nextNightly(app.config, await app.home.nightlyAt());
  if (dueAt > app.config.clock.now()) return false;
  await app.desk.beginNight(dueAt, onError);
  return true;
}

/**
 * What keeps a dream from running, as a sentence, or null. Without any news it runs: that asks no model, and brings
 * the index up to what people wrote.
 */
export async function shutGate(
  app: App,
  { store, payload }: { store: Store; payload: { isNightly?: boolean } },
): Promise<string | null> {
  if (!payload.isNightly) return null;
  const { config, dreamNews } = app;
  for (const wing of wings()) {
    const reason = wing.keepsNightFrom?.(store, app) ?? null;
    if (reason !== null) return reason;
  }
  const now = config.clock.now();
  const lastAt = lastDreamAt(store.ledger, now);
  if (lastAt && now.getTime() - Date.parse(lastAt) < config.dreamMinHours * HOUR_MS) {
    return `too soon: dreamed less than ${config.dreamMinHours} hours before`;
  }
  const news = await dreamNews(store);
  if (news.size === 0 || news.size >= config.dreamMinEntries) return null;
  return `too few entries: fewer than ${config.dreamMinEntries} are new or changed`;
}
