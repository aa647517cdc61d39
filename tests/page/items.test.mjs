// The items of a fan-out: a grid with one cell for each; what a cell has; one failed item is retried, and no other.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, violations, visit } from './support/browser.mjs';
import { serve } from './support/server.mjs';

const SETTINGS = `governance: {allow: [work, 'statechart:*']}
services: {work: {command: [sh, work.sh], sandbox: off}}
`;

// Number 1 fails until there is a file `fixed`.
const WORK = `number=$(cat | sed 's/.*"n":\\([0-9]*\\).*/\\1/')
echo "$number" >> ran.txt
if [ "$number" = 1 ] && [ ! -e fixed ]; then echo broken >&2; exit 1; fi
echo "$number"
`;

const FAN = `statechart: {id: fan, version: 1.0.0, initial: working, states: {
  working: {invoke: {id: jobs, src: work, each: range(3), max_concurrent: 1, input: {n: item}, onDone: done}},
  done: {type: final, output: event.data}}}
`;

let root, server, browser;
const file = (name) => join(root, name);

before(async () => {
  root = mkdtempSync(join(tmpdir(), 'rawko-page-'));
  mkdirSync(file('.rawko/charts'), { recursive: true });
  writeFileSync(file('.rawko/config.yaml'), SETTINGS);
  writeFileSync(file('work.sh'), WORK);
  writeFileSync(file('.rawko/charts/fan.yaml'), FAN);
  server = await serve(root);
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(root, { recursive: true, force: true });
});

test('one failed item is opened and retried', async () => {
  await server.post('instances', { chart: 'fan', id: 'f' });
  const { page, close } = await visit(browser, server.address, '#/instances/f');
  const cell = (index) => `[aria-label="Items of jobs"] li:nth-child(${index + 1}) button`;
  await page.waitForSelector(`${cell(1)}[data-status=error]`);
  assert.equal(await page.getAttribute(cell(1), 'aria-label'), 'jobs[1] failed');
  // One that is done shows its result, and cannot be retried.
  await page.waitForSelector(`${cell(0)}[data-status=done]`);
  await page.click(cell(0));
  await page.waitForSelector('dialog h2:has-text("jobs[0]: done")');
  assert.match(await page.textContent('dialog'), /Result\s*0/);
  assert.equal(await page.locator('dialog button:has-text("Retry")').count(), 0);
  await page.keyboard.press('Escape');
  await page.click(cell(1));
  assert.match(await page.textContent('dialog'), /broken/);
  const act = (other) => other.click(cell(1));
  const views = [['#/instances/f', `${cell(1)}[data-status=error]`]];
  assert.deepEqual(await violations(browser, server.address, views, { act }), []);
  writeFileSync(file('fixed'), '');
  await page.click('dialog button:has-text("Retry this item")');
  await page.waitForSelector('.pill:has-text("succeeded")');
  const ran = readFileSync(file('ran.txt'), 'utf8').trim().split('\n').sort();
  assert.deepEqual(ran, ['0', '1', '1', '2']);
  await close();
});
