// Instances that are migrated on the page: one by itself after a dry run that refuses it, several of a list, all of a chart.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, violations, visit } from './support/browser.mjs';
import { serve } from './support/server.mjs';

const chart = (version, state, more = '') => `statechart:
  id: article
  version: "${version}"
  initial: ${state}
  states:
    ${state}: {on: {GO: done}}
    done: {type: final}
${more}`;

let root, server, browser;

before(async () => {
  root = mkdtempSync(join(tmpdir(), 'rawko-page-'));
  mkdirSync(join(root, '.rawko/charts'), { recursive: true });
  writeFileSync(join(root, '.rawko/charts/article.yaml'), chart('1.0.0', 'review'));
  server = await serve(root);
  browser = await openBrowser();
  for (const id of ['a-1', 'a-2', 'a-3']) await server.post('instances', { chart: 'article', id });
  await server.post('charts', { text: chart('2.0.0', 'reviewing') });
});

after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(root, { recursive: true, force: true });
});

const version = async (id) => (await server.get(`instances/${id}`)).version;
const cells = (page) => page.$$eval('.migration tbody tr', (rows) => rows.map((row) => [...row.children].slice(0, 3).map((cell) => cell.textContent).join(' ')));

test('an instance is migrated after its dry run was read', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances/a-1');
  await page.click('.head-acts >> text=Migrate…');
  await page.click('dialog >> text=Dry run');
  await page.waitForSelector('.migration tr[data-verdict=refused]');
  assert.match(await page.textContent('.migration tbody'), /review/);
  await page.click('dialog [type=submit]');
  await page.waitForSelector('dialog .problem:has-text("no instance can migrate")');
  assert.equal(await version('a-1'), '1.0.0');
  await page.fill('dialog textarea', '{"states": {"review": "reviewing"}}');
  await page.click('dialog >> text=Dry run');
  await page.waitForSelector('.migration tr[data-verdict=possible]');
  assert.deepEqual(await cells(page), ['a-1 can migrate reviewing']);
  assert.equal(await version('a-1'), '1.0.0');
  await page.click('dialog [type=submit]');
  await page.waitForSelector('dialog', { state: 'detached' });
  assert.equal(await version('a-1'), '2.0.0');
  await close();
});

test('the dialog is accessible', async () => {
  const act = async (page) => {
    await page.click('.head-acts >> text=Migrate…');
    await page.click('dialog >> text=Dry run');
    await page.waitForSelector('.migration tr[data-verdict=refused]');
  };
  assert.deepEqual(await violations(browser, server.address, [['#/instances/a-2', '.head-acts']], { act }), []);
});

test('the instances of a chart are migrated together', async () => {
  const { page, close } = await visit(browser, server.address, '#/charts/article?version=2.0.0');
  await page.click('.view-head >> text=Migrate…');
  await page.fill('dialog textarea', '{"states": {"review": "reviewing"}}');
  await page.click('dialog >> text=Dry run');
  await page.waitForSelector('.migration tr[data-verdict=possible]');
  assert.deepEqual((await cells(page)).sort(), ['a-2 can migrate reviewing', 'a-3 can migrate reviewing']);
  await page.click('dialog [type=submit]');
  await page.waitForSelector('dialog', { state: 'detached' });
  assert.deepEqual([await version('a-2'), await version('a-3')], ['2.0.0', '2.0.0']);
  await close();
});
