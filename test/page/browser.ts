// A Chromium of the system for a test file, and visits with it: one for the whole file, or as many as a test wants. Where there is none, and this is not CI, the file says so and is skipped.

import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import type { Served } from '../server/served.ts';
import { ticketTo } from './beside-page.ts';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = [process.env.CHROMIUM, ...PATHS].find((path) => path && existsSync(path));

/**
 * The two views that each window gets for its address bar cost more than the page in it. This list takes the place of the one
 * that playwright-core gives, so what that turns off and could bear on a page is in it too.
 */
const WITHOUT = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'AimEnabled', 'AvoidUnnecessaryBeforeUnloadCheckSync'],
  ...[
    'DestroyProfileOnBrowserClose',
    'HttpsUpgrades',
    'HttpsFirstBalancedModeAutoEnable',
    'LensOverlay',
    'MediaRouter',
  ],
  ...['PaintHolding', 'ThirdPartyStoragePartitioning', 'AvoidCorsURLLoaderRestartOnRedirect', 'OptimizationHints'],
  ...['NetworkTimeServiceQuerying', 'PreconnectToSearch'],
];
const ARGS = ['--no-sandbox', '--disable-gpu', `--disable-features=${WITHOUT.join(',')}`];

export const hasBrowser = executablePath !== undefined || process.env.CI === 'true';
if (!hasBrowser) process.stderr.write('No Chromium is installed here, so the tests of the page are skipped.\n');

/** The browser of this file, from its first test on. */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (hasBrowser) browser = await chromium.launch({ executablePath, args: ARGS });
  });
  afterAll(() => browser?.close());
  return () => browser as Browser;
}

/** The visit that all tests of this file share, each from the address that it goes to first. */
export function useVisit(browser: () => Browser, world: () => Served) {
  let visitor: Awaited<ReturnType<typeof visit>> | undefined;
  beforeAll(async () => {
    if (hasBrowser) visitor = await visit(browser(), world());
  });
  return () => visitor as NonNullable<typeof visitor>;
}

/** A browser of its own that has entered by a ticket. */
export async function visit(
  browser: Browser,
  { app, url }: Pick<Served, 'app' | 'url'>,
  options: Parameters<Browser['newContext']>[0] = {},
) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const go = async (path: string) => void (await page.goto(`${url}${path}`));
  /** Another tab, opened by the page: it is in its window and its process, the start of which costs more than what is in it. */
  const tab = async (path: string) => {
    const opening = context.waitForEvent('page');
    await page.evaluate(`void open(${JSON.stringify(url + path)})`);
    const opened = await opening;
    await opened.waitForLoadState();
    return opened;
  };
  /** What went wrong in the page, and every address it asked for. */
  const [problems, asked]: [string[], string[]] = [[], []];
  context.on('request', (request) => asked.push(request.url()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(`${url}/#${await ticketTo({ app })}`);
  await page.locator('header.top').waitFor();
  const href = await page
    .locator('main a[href^="/next?memory="]')
    .first()
    .getAttribute('href', { timeout: 1_000 })
    .catch(() => '');
  /** The id of the memory that stands first. */
  const memory = href?.split('=').at(-1) ?? '';
  return { page, context, go, tab, memory, problems, asked };
}
