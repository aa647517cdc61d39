// Ten thousand instances and a journal of a hundred thousand steps: the page stays light and never stands still for long.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser, visit } from './support/browser.mjs';
import { serve } from './support/server.mjs';

/** A task of the page that blocks it for longer is one that a person feels. Generous: the machine may be busy. */
const LONGEST_MS = 700;
const ROWS_MAX = 120;
let server, browser;

before(async () => {
  server = await serve(process.env.RAWKO_FILLED);
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const watch = () => {
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
  }).observe({ type: 'longtask', buffered: true });
};

/** Scrolls a list from its top to its end, a frame at a time. */
const scrollThrough = (selector) => async (page) => {
  await page.evaluate(async (wanted) => {
    const list = document.querySelector(wanted);
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    for (let part = 0; part <= 1; part += 0.01) {
      list.scrollTop = (list.scrollHeight - list.clientHeight) * part;
      await frame();
    }
  }, selector);
};

async function isSmooth(page, what) {
  const longest = await page.evaluate(() => window.longest);
  assert.ok(longest < LONGEST_MS, `${what}: the page stood still for ${Math.round(longest)} ms`);
}

test('ten thousand instances are scrolled through and searched', async () => {
  const { page, close } = await visit(browser, server.address);
  await page.waitForSelector('.virtual-row:not(.loading)');
  await page.evaluate(watch);
  assert.equal(await page.textContent('.view-head .number'), '10,001');
  await scrollThrough('.virtual')(page);
  await page.waitForSelector('.virtual-row:not(.loading):has-text("count-00001")', { timeout: 60_000 });
  assert.ok((await page.locator('.virtual-row').count()) < ROWS_MAX, 'only what is seen is there');
  await page.fill('[type=search]', 'count-0777');
  await page.waitForFunction(() => document.querySelectorAll('.virtual-row:not([hidden]):not(.loading)').length === 10);
  await isSmooth(page, 'the list');
  await close();
});

test('a hundred thousand steps are dragged over', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances/long?tab=context');
  await page.waitForSelector('.timeline-where:has-text("100,000 / 100,000")');
  await page.evaluate(watch);
  const box = await page.locator('.timeline-slider').boundingBox();
  const [left, width, y] = [box.x + 8, box.width - 16, box.y + box.height / 2];
  await page.mouse.move(left + width, y);
  await page.mouse.down();
  for (let at = 60; at >= 20; at -= 1) await page.mouse.move(left + (width * at) / 60, y);
  await page.mouse.up();
  const step = Number(await page.getAttribute('.timeline-slider', 'aria-valuenow'));
  assert.ok(step > 30_000 && step < 37_000, `step ${step}`);
  await page.waitForSelector(`text=As it was after step ${step}.`);
  await page.waitForSelector(`.panel-body:not([hidden]) .tree-row:has-text("${step}")`);
  await page.keyboard.press('5');
  await scrollThrough('.steps .virtual')(page);
  await page.waitForSelector('.steps .virtual-row:not(.loading):has-text("100,000")', { timeout: 60_000 });
  assert.ok((await page.locator('.steps .virtual-row').count()) < ROWS_MAX, 'only what is seen is there');
  await isSmooth(page, 'the timeline');
  await close();
});
