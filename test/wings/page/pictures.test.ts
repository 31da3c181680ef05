// The pictures of the README: taken from an example memory by every run, and kept (docs/pictures) where PICTURES=keep asks
// for new ones.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasBrowser, useBrowser, visit } from './browser.ts';
import { exampleMemory } from './example.ts';

const DIR = join(import.meta.dirname, '../../../docs/pictures');
const VIEW = { width: 1120, height: 700 };

/** Its width and height, as they stand in the head of a PNG. */
function sizeOf(png: Buffer): { width: number; height: number } {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

describe.skipIf(!hasBrowser)('the pictures', () => {
  const browser = useBrowser();

  test('are what the page looks like, each under 150 kB', async () => {
    const world = await exampleMemory();
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, context } = await visit(browser(), world, { colorScheme, viewport: VIEW });
      const href = await page.locator('.cards a.row').first().getAttribute('href');
      await page.goto(`${world.url}${href}/topic/working-agreements.md`);
      await page.getByRole('link', { name: /^Why/ }).first().click();
      await page.getByRole('link', { name: 'In the conversation' }).click();
      await page.locator('.talk').waitFor();
      await page.locator('main').focus();
      const name = join(DIR, `why-${colorScheme}.png`);
      const taken = await page.screenshot(process.env.PICTURES === 'keep' ? { path: name } : {});
      const kept = readFileSync(name);
      for (const png of [taken, kept]) {
        expect(png.length).toBeLessThan(150_000);
        expect(sizeOf(png)).toEqual(VIEW);
      }
      await context.close();
    }
  });
});
