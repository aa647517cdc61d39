// One whole path without a mouse: from the list into an instance, along its timeline, an answer given, the keys looked up.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser, visit } from './support/browser.mjs';
import { project } from './support/project.mjs';
import { serve } from './support/server.mjs';

let made, server, browser;

before(async () => {
  made = project({ channel: false });
  server = await serve(made.root);
  browser = await openBrowser();
  await server.post('instances', { chart: 'order', id: 'order-1', input: { amount: 250 } });
  await server.post('instances', { chart: 'order', id: 'order-2', input: { amount: 30 } });
});

after(async () => {
  await browser?.close();
  await server?.stop();
  made?.remove();
});

/** Goes on with Tab until what is focused answers to a selector. */
async function tabTo(page, selector) {
  for (let at = 0; at < 80; at += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
  }
  assert.fail(`Tab never comes to ${selector}`);
}

test('everything by keyboard', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances');
  await page.waitForSelector('.virtual-row');

  await page.keyboard.press('Tab');
  assert.equal(
    await page.evaluate(() => document.activeElement.className),
    'skip',
    'the first stop leads to the content',
  );
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.type), 'search');
  await page.keyboard.type('order-1');
  await page.waitForFunction(() => document.querySelectorAll('.virtual-row:not([hidden])').length === 1);
  await page.keyboard.press('Escape');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForSelector('h1:has-text("order-1")');

  await page.waitForSelector('.ask');
  await tabTo(page, '.ask [aria-label=Comment]');
  await page.keyboard.type('by keyboard');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.ask:has-text("Where to?")');

  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowLeft');
  await page.waitForSelector('.timeline-slider[aria-valuenow="0"]');
  await tabTo(page, '.timeline-slider');
  await page.keyboard.press('End');
  await page.waitForSelector('.timeline-slider[aria-valuenow="1"]');
  assert.match(await page.getAttribute('.timeline-slider', 'aria-valuetext'), /^step 1 of 1: /);
  await page.keyboard.press('3');
  await page.waitForSelector('[role=tab][aria-selected=true]:has-text("Context")');
  await page.keyboard.press('ArrowLeft');
  await page.waitForSelector('[role=tab][aria-selected=true]:has-text("Step")');

  await page.keyboard.press('?');
  await page.waitForSelector('dialog:has-text("Keyboard shortcuts")');
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  await page.waitForSelector('h1:has-text("Channels")');
  await close();
});
