// Lists as a person uses them: titles and outcomes, search over text, filters, orders, several rows at once, saved views.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, violations, visit } from './support/browser.mjs';
import { project } from './support/project.mjs';
import { serve } from './support/server.mjs';

// Instances on Restate have no channels, and are removed by Restate.
const onRestate = process.env.RAWKO_HOST === 'restate';
let made, server, browser;

const until = async (id, status) => {
  while ((await server.get(`instances/${id}`)).status !== status) await new Promise((resolve) => setTimeout(resolve, 50));
};

before(async () => {
  made = project({ channel: !onRestate });
  server = await serve(made.root);
  browser = await openBrowser();
  for (const [id, amount] of [['order-1', 250], ['order-2', 30], ['order-3', 400], ['order-4', 500]])
    await server.post('instances', { chart: 'order', id, input: { amount } });
  await until('order-2', 'ended');
  made.write('card_service_is_down', '');
  await server.post('instances', { chart: 'order', id: 'order-5', input: { amount: 12 } });
  await until('order-5', 'stalled');
  rmSync(join(made.root, 'card_service_is_down'));
  // A task that ends at its limit.
  await server.post('tasks', { task: 'Leave punctuation out of slugs', id: 'short', agent: 'planner', max_iterations: 1 });
  await until('short', 'ended');
});

after(async () => {
  await browser?.close();
  await server?.stop();
  made?.remove();
});

const shown = (page, wanted) =>
  page.waitForFunction((names) => {
    const rows = [...document.querySelectorAll('.virtual-row:not([hidden]):not(.loading) .row-name')];
    return JSON.stringify(rows.map((row) => row.textContent).sort()) === names;
  }, JSON.stringify([...wanted].sort()));

test('tasks have titles and outcomes, and none is green that did not succeed', async () => {
  const { page, close } = await visit(browser, server.address);
  await page.waitForSelector('h1:has-text("Tasks")');
  await shown(page, ['Leave punctuation out of slugs']);
  assert.equal(await page.textContent('.cell-status'), 'limit reached');
  assert.equal(await page.getAttribute('.virtual-row .dot', 'data-tone'), 'limit');
  await page.waitForSelector('.chip:has-text("Failed"):has-text("1")');
  await page.click('.chip:has-text("Failed")');
  await shown(page, ['Leave punctuation out of slugs']);
  await close();
});

test('the machinery of channels is hidden until it is asked for', { skip: onRestate }, async () => {
  const { page, close } = await visit(browser, server.address, '#/instances');
  await shown(page, ['order-1', 'order-2', 'order-3', 'order-4', 'order-5', 'short']);
  await page.check('text=Internal');
  await page.waitForSelector('.row-name:has-text("channel.standup")');
  await close();
});

test('search goes over text, and orders and filters hold in it', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances');
  await page.fill('[type=search]', 'PUNCTUATION slugs');
  await shown(page, ['short']);
  await page.fill('[type=search]', 'r-30');
  await shown(page, ['order-2']);
  await page.fill('[type=search]', 'nothing has these words');
  await page.waitForSelector('text=No matching instances');
  await page.click('text=Show all');
  await shown(page, ['order-1', 'order-2', 'order-3', 'order-4', 'order-5', 'short']);
  await page.selectOption('[aria-label=Order]', 'title');
  await page.waitForFunction(() => document.querySelector('.virtual-row:not([hidden]) .row-name')?.textContent === 'short');
  await page.selectOption('[aria-label=Order]', '');
  await close();
});

test('an order is one over all rows, and follows what happens', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances');
  const first = (name) =>
    page.waitForFunction((name) => document.querySelector('[data-index="0"]:not([hidden]) .row-name')?.textContent === name, name);
  await page.selectOption('[aria-label=Order]', 'oldest');
  await first('order-1');
  await page.selectOption('[aria-label=Order]', 'steps');
  await first('short');
  await page.selectOption('[aria-label=Order]', 'updated');
  await first('short');
  await server.post('instances/order-4/pause', {});
  await first('order-4');
  await server.post('instances/order-4/resume', {});
  await close();
});

test('a list that does not have all rows says so', async () => {
  const { page, close } = await visit(browser, server.address, '#/approvals');
  const row = (at) => ({ id: `row-${at}`, chart: 'order', status: 'waiting', waits_for: 'person', step: at, updated_ms: at, created_ms: at, spent: { tokens: 0, cost_usd: at }, configuration: [] });
  await page.route('**/v1/instances?*', (route) => {
    const query = new URL(route.request().url()).searchParams;
    const from = Number(query.get('cursor') ?? 0);
    const instances = Array.from({ length: Number(query.get('limit')) }, (_, at) => row(from + at));
    return route.fulfill({ json: { v: 1, instances, total: 10_000, next: String(from + instances.length), counts: {} } });
  });
  await page.route('**/v1/search?*', (route) => {
    const query = new URL(route.request().url()).searchParams;
    assert.deepEqual([query.get('q'), query.get('status')], ['bell', 'stalled'], 'the server filters');
    return route.fulfill({ json: { results: [row(1), row(2)], complete: false } });
  });
  const asked = page.waitForRequest((request) => new URL(request.url()).searchParams.get('sort') === 'cost');
  await page.evaluate(() => (location.hash = '#/instances?sort=cost'));
  await asked;
  await page.waitForSelector('.view-head:has-text("10,000")');
  assert.equal(await page.locator('.list-hint:visible').count(), 0, 'the server sorts all of them');
  await page.evaluate(() => (location.hash = '#/instances?q=bell&filter=stalled'));
  await page.waitForSelector('.list-hint:has-text("Not all results")');
  await shown(page, ['row-1', 'row-2']);
  await close();
});

test('a view is saved, and opened again', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances?filter=stalled');
  await shown(page, ['order-5']);
  await page.click('role=button[name="Save view"]');
  await page.fill('dialog input', 'Broken orders');
  await page.click('dialog button[type=submit]');
  await page.click('.chip:has-text("All")');
  await page.waitForSelector('.row-name:has-text("order-1")');
  await page.reload();
  await page.waitForSelector('[aria-label="Saved views"]');
  await page.selectOption('[aria-label="Saved views"]', 'Broken orders');
  await shown(page, ['order-5']);
  await close();
});

test('several are paused, resumed, retried and cancelled at once', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances');
  const pick = async (names) => {
    await page.click('.view-head >> text=Select');
    for (const name of names) await page.click(`.virtual-row:has-text("${name}")`);
    await page.waitForSelector(`.bulk:has-text("${names.length} selected")`);
  };
  await page.waitForSelector('.virtual-row:has-text("order-1")');
  await pick(['order-1', 'order-3', 'order-2']);
  await page.click('.bulk >> text=Pause 2');
  await page.waitForSelector('.virtual-row:has-text("order-1") .cell-status:has-text("paused")');
  assert.equal((await server.get('instances/order-3')).status, 'paused');
  await pick(['order-1', 'order-3']);
  await page.click('.bulk >> text=Resume 2');
  await until('order-3', 'waiting');
  await pick(['order-5']);
  await page.click('.bulk >> text=Retry 1');
  await until('order-5', 'ended');
  // By keyboard alone: `x` selects.
  await page.waitForSelector('.virtual-row:has-text("order-5") .cell-status:has-text("succeeded")');
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.waitForSelector('.bulk:has-text("1 selected")');
  await page.click('.bulk >> text=Done');
  await pick(['order-3', 'order-4']);
  await page.click('.bulk >> text=Cancel 2');
  await page.click('dialog button[type=submit]');
  await until('order-3', 'ended');
  await until('order-4', 'ended');
  assert.equal((await server.get('instances/order-1')).status, 'waiting', 'others are left alone');
  await close();
});

test('ended ones are removed for good, and only by those who may', { skip: onRestate }, async () => {
  const { page, close } = await visit(browser, server.address, '#/instances', { expected: [/404/] });
  await page.waitForSelector('.virtual-row:has-text("order-3")');
  await page.click('.view-head >> text=Select');
  for (const name of ['order-1', 'order-3', 'order-4']) await page.click(`.virtual-row:has-text("${name}")`);
  await page.click('.bulk >> text=Remove 2');
  await page.waitForSelector('dialog:has-text("deleted permanently")');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.notice:has-text("2 instances removed")');
  await shown(page, ['order-1', 'order-2', 'order-5', 'short']);
  await assert.rejects(server.get('instances/order-3'), /404/);
  await page.goto(`${server.address}/#/instances/order-3`);
  await page.waitForSelector('text=order-3 not found');
  await close();
});

test('on Restate nothing can be removed, so nothing offers it', { skip: !onRestate }, async () => {
  const { page, close } = await visit(browser, server.address, '#/instances');
  await page.click('.view-head >> text=Select');
  await page.waitForSelector('.bulk >> text=Pause');
  assert.equal(await page.locator('.bulk >> text=Remove').count(), 0);
  await close();
});

test('axe finds nothing while rows are selected', async () => {
  const views = [['#/instances', '.virtual-row'], ['#/tasks', '.virtual-row']];
  for (const colorScheme of ['light', 'dark']) {
    const act = (page) => page.click('.view-head >> text=Select').then(() => page.click('.virtual-row >> nth=0'));
    assert.deepEqual(await violations(browser, server.address, views, { colorScheme, act }), []);
  }
});
