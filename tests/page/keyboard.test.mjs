// Without a mouse: from the list into an instance, along its timeline, an answer given, the keys looked up; then every other
// view, with what is done in it. Nothing here clicks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser, visit } from './support/browser.mjs';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** Presses Tab until the focused element fits a selector and has a text. */
async function tabTo(page, selector, text = '') {
  for (let at = 0; at < 120; at += 1) {
    await page.keyboard.press('Tab');
    const fits = ([wanted, words]) => {
      let on = document.activeElement;
      while (on?.shadowRoot?.activeElement) on = on.shadowRoot.activeElement;
      return on?.matches(wanted) && `${on.textContent} ${on.getAttribute('aria-label') ?? ''}`.includes(words);
    };
    if (await page.evaluate(fits, [selector, text])) return;
  }
  assert.fail(`Tab never reaches ${selector} ${text}`);
}

/** Presses a button by Tab and Enter. */
async function press(page, text, selector = 'button, a, summary') {
  await tabTo(page, selector, text);
  await page.keyboard.press('Enter');
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

test('a task is started, its changes are read, and it is followed up by keyboard', async () => {
  const { page, close } = await visit(browser, server.address, '#/tasks');
  await page.waitForSelector('.view-head >> text=New task');
  await page.keyboard.press('n');
  await page.waitForSelector('dialog textarea');
  await tabTo(page, 'dialog textarea');
  await page.keyboard.type('Leave punctuation out of slugs');
  await press(page, '', 'dialog button[type=submit]');
  await page.waitForSelector('.task-title:has-text("Leave punctuation")');
  await page.waitForSelector('.instance-title .pill:has-text("succeeded")', { timeout: 120_000 });
  for (const [key, tab] of [['2', 'Changes'], ['3', 'Chart'], ['1', 'Overview']]) {
    await page.keyboard.press(key);
    await page.waitForSelector(`[role=tab][aria-selected=true]:has-text("${tab}")`);
    if (tab === 'Changes') {
      await page.waitForSelector('.file-row');
      await press(page, 'Side by side');
      await page.waitForSelector('.patch.split');
      await press(page, 'Undo');
      await page.waitForSelector('dialog');
      await page.keyboard.press('Escape');
    }
  }
  await page.keyboard.press('m');
  await page.keyboard.type('Now write a test');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.task-title:has-text("Now write a test")');
  await close();
});

test('rows are selected, paused and resumed by keyboard, and a view is saved', async () => {
  await server.post('instances', { chart: 'counter', id: 'keyed' });
  const { page, close } = await visit(browser, server.address, '#/instances?q=keyed');
  await page.waitForSelector('.virtual-row:has-text("keyed")');
  for (const [act, status] of [['Pause 1', 'paused'], ['Resume 1', 'waiting']]) {
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.waitForSelector('.bulk:has-text("1 selected")');
    await press(page, act);
    await page.waitForSelector(`.virtual-row:has-text("keyed") .cell-status:has-text("${status}")`);
  }
  await press(page, 'Save view');
  await page.waitForSelector('dialog input');
  await tabTo(page, 'dialog input');
  await page.keyboard.type('By keyboard');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[aria-label="Saved views"]');
  await close();
});

test('a chart is edited, saved, simulated and tested by keyboard', async () => {
  const { page, close } = await visit(browser, server.address, '#/charts/counter');
  await page.waitForFunction(() => document.querySelector('.editor-text')?.value.includes('COUNTED'));
  await page.waitForSelector('text=No problems found');
  await tabTo(page, '.editor-text');
  await page.keyboard.press('Control+End');
  await page.keyboard.type('# by keyboard');
  await page.keyboard.press('Control+s');
  await page.waitForSelector('.notice:has-text("Saved")');
  assert.match(readFileSync(join(made.root, '.rawko/charts/counter.yaml'), 'utf8'), /# by keyboard/);
  // Tab indents in the editor; Escape leaves it.
  await page.keyboard.press('Escape');
  await tabTo(page, '[role=tab]');
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector('.sim-line');
  await press(page, 'COUNTED', '.event-buttons button');
  await page.waitForSelector('.sim-line[aria-current=step]:has-text("COUNTED")');
  await tabTo(page, '[data-transition].offered');
  await press(page, 'Save as test…');
  await page.waitForSelector('dialog input');
  await tabTo(page, 'dialog input');
  await page.keyboard.type('counts once');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.notice:has-text("it passes")');
  await close();
});

test('every other view is reached and used by keyboard', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances');
  await page.waitForSelector('.virtual-row');
  const go = async (key, heading) => {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.waitForSelector(`h1:has-text("${heading}")`);
  };
  await go('u', 'Usage');
  await page.waitForSelector('.usage:has-text("By agent") a');
  await press(page, 'developer', '.usage a');
  await page.waitForSelector('h1:has-text("developer")');
  await go('d', 'Audit');
  await page.waitForSelector('.audit-table tbody tr');
  await tabTo(page, '[aria-label="Search the audit log"]');
  await page.keyboard.type('no such line');
  await page.waitForSelector('text=No matching lines');
  await page.keyboard.press('Escape');
  await page.evaluate(() => document.activeElement.blur());
  await go('p', 'Agents');
  await page.waitForSelector('.card');
  await go('h', 'Charts');
  await page.waitForSelector('.chart-card');
  await go('s', 'Settings');
  await page.waitForSelector('.doctor li');
  await go('a', 'Approvals');
  await page.waitForSelector('.ask');
  await press(page, 'Decline', '.ask button');
  await page.waitForSelector('text=No pending requests');
  await close();
});
