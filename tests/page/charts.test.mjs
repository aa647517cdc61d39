// Charts on the page: what is wrong is said beside the text and on the drawing while one types; a chart is offered and started.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser, visit } from './support/browser.mjs';
import { project } from './support/project.mjs';
import { serve } from './support/server.mjs';

const DOOR = `statechart:
  id: door
  version: "1.0.0"
  initial: closed
  states:
    closed:
      on: {OPENED: open}
    open:
      on: {CLOSED: closed}
    lost:
      on: {FOUND: closed}
`;
let made, server, browser;

before(async () => {
  made = project();
  server = await serve(made.root);
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  made?.remove();
});

const drawn = (page, selector) =>
  page.evaluate(
    (wanted) =>
      [...document.querySelector('.drawing-content').shadowRoot.querySelectorAll(wanted)].map(
        (it) => it.dataset.node ?? it.dataset.transition,
      ),
    selector,
  );

test('findings stand beside the text and on the drawing', async () => {
  const { page, close } = await visit(browser, server.address, '#/charts/new');
  await page.waitForSelector('text=No problems found');
  await page.fill('.editor-text', DOOR);
  await page.waitForSelector('.finding:has-text("lost")');
  await page.waitForFunction(() =>
    document.querySelector('.drawing-content').shadowRoot.querySelector('.state.finding'),
  );
  assert.deepEqual(await drawn(page, '.state.finding'), ['lost']);
  assert.ok((await page.locator('.editor-mark').count()) > 0, 'the place is underlined');
  await page.fill('.editor-text', DOOR.replace('OPENED: open', 'OPENED: opne'));
  await page.waitForSelector('.finding:has-text("opne")');
  assert.match(await page.textContent('.findings'), /did you mean open/i);
  await page.fill('.editor-text', DOOR.replace(/ {4}lost:[\s\S]*/, ''));
  await page.waitForSelector('text=No problems found');
  assert.deepEqual(await drawn(page, '.state.finding'), []);
  await page.click('role=button[name="Save"]');
  await page.waitForSelector('h1:has-text("door")');
  await page.click('.view-head >> text=Start');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.event-buttons:has-text("OPENED")');
  // What moves is gone in a moment: it is written down as it comes.
  await page.evaluate(() => {
    const shadow = document.querySelector('.drawing-content').shadowRoot;
    const moves = { trace: '.trace', entered: '[data-node=open].entered', taken: '[data-transition].taken' };
    window.seen = new Set();
    new MutationObserver(() => {
      for (const [name, selector] of Object.entries(moves)) if (shadow.querySelector(selector)) window.seen.add(name);
    }).observe(shadow, { subtree: true, childList: true, attributes: true, attributeFilter: ['class'] });
  });
  await page.click('.event-buttons >> role=button[name=OPENED]');
  await page.waitForSelector('.event-buttons:has-text("CLOSED")');
  await page.waitForFunction(() => window.seen.size === 3);
  assert.deepEqual((await drawn(page, '.state.active')).filter(Boolean), ['open']);
  await close();
});

test('a chart that only an instance has is listed, too', async () => {
  await server.post('instances', { text: DOOR.replace('id: door', 'id: gate'), id: 'gate-1' });
  const { page, close } = await visit(browser, server.address, '#/charts');
  await page.waitForSelector('.chart-card:has-text("gate"):has-text("used by instances")');
  await close();
});

test('every chart of the project is listed and drawn', async () => {
  const { page, close } = await visit(browser, server.address, '#/charts');
  await page.click('.chart-card:has-text("order")');
  await page.waitForFunction(() =>
    document.querySelector('.drawing-content')?.shadowRoot.querySelector('[data-node="charging"]'),
  );
  assert.match(await page.inputValue('.editor-text'), /remember_approver/);
  await close();
});
