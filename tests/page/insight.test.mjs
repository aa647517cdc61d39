// Looking into what happened: one completion, usage, audit, two runs side by side, requests by task.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser, violations, visit } from './support/browser.mjs';
import { project } from './support/project.mjs';
import { serve } from './support/server.mjs';

let made, server, browser;

before(async () => {
  made = project({ channel: false });
  server = await serve(made.root);
  browser = await openBrowser();
  await server.post('instances', { chart: 'order', id: 'order-1', input: { amount: 250 } });
  for (const id of ['slugs', 'slugs-2']) {
    await server.post('tasks', { task: 'Leave punctuation out of slugs, and number those that are taken', id });
    while ((await server.get(`instances/${id}`)).status !== 'ended') await new Promise((resolve) => setTimeout(resolve, 100));
  }
});

after(async () => {
  await browser?.close();
  await server?.stop();
  made?.remove();
});

test('the tokens beside words lead to the prompt as sent', async () => {
  const { page, close } = await visit(browser, server.address, '#/tasks/slugs');
  await page.click('.turn:not(.kind-decision) .turn-usage >> nth=0');
  await page.waitForSelector('.call-messages li');
  assert.match(await page.textContent('.call-facts'), /Model.*demo.*Tokens in.*Tokens out.*Latency/s);
  await page.click('summary:has-text("System prompt")');
  assert.match(await page.textContent('.call-fold pre'), /You plan changes/);
  assert.match(await page.textContent('.call-messages'), /Leave punctuation out of slugs/);
  await close();
});

test('two runs are selected and compared', async () => {
  const { page, close } = await visit(browser, server.address, '#/tasks');
  await page.waitForSelector('.virtual-row >> nth=1');
  await page.click('.view-head >> text=Select');
  for (const at of [0, 1]) await page.click(`.virtual-row >> nth=${at}`);
  await page.click('.bulk >> text=Compare 2');
  await page.waitForSelector('.compare-table tr.differs');
  assert.match(await page.textContent('.compare-table'), /planner → developer/);
  await close();
});

test('usage adds up to what the tasks spent', async () => {
  const { page, close } = await visit(browser, server.address, '#/usage');
  await page.waitForSelector('.usage >> nth=1');
  const { instances } = await server.get('instances?limit=50');
  const spent = instances.reduce((sum, row) => sum + row.spent.tokens, 0);
  const day = await page.textContent('.usage >> nth=0 >> tbody tr >> td.number >> nth=0');
  assert.equal(day, `${(spent / 1e3).toFixed(0)}k`);
  await close();
});

test('usage is told by model, and an agent has its prompt, grant and history', async () => {
  const { page, close } = await visit(browser, server.address, '#/usage');
  await page.waitForSelector('.usage:has-text("By model") tbody tr:has-text("demo")');
  // The days of one agent.
  const tokens = () => page.textContent('.usage:has-text("By day") tbody td.number >> nth=0');
  const all = await tokens();
  await page.selectOption('[aria-label="All agents"]', 'developer');
  await page.waitForFunction((before) => document.querySelector('.usage tbody td.number').textContent !== before, all);
  assert.equal(await page.locator('.usage:has-text("By agent") tbody tr').count(), 1);
  assert.match(page.url(), /agent=developer/);
  await page.click('.usage:has-text("By agent") >> text=developer');
  await page.waitForSelector('h1:has-text("developer")');
  for (const part of ['Prompt', 'Grant', 'History']) await page.waitForSelector(`.agent-page h2:has-text("${part}")`);
  await page.click('.agent-page .facts a >> nth=0');
  await page.waitForSelector('.instance-head');
  await page.goto(`${server.address}/#/settings`);
  await page.waitForSelector('.doctor li:has-text("settings")');
  await page.waitForSelector('.settings-text:has-text("charge_card")');
  await close();
});

test('a decision of the arbiter has its model, its prompt and its cost', async () => {
  const { page, close } = await visit(browser, server.address, '#/usage');
  await page.waitForSelector('.usage:has-text("By model") tbody tr:has-text("demo")');
  const { parts } = await server.get('usage');
  assert.deepEqual(parts.filter((it) => it.model === null && it.tokens > 0), [], 'every token has a model');
  await page.goto(`${server.address}/#/tasks/slugs`);
  await page.click('.turn.kind-decision .turn-usage:has-text("demo") >> nth=0');
  await page.waitForSelector('.call-messages li');
  assert.match(await page.textContent('.call-facts'), /Model\s*demo\/scripted.*Tokens in/s);
  assert.match(await page.textContent('.call-messages'), /Leave punctuation out of slugs/);
  await close();
});

test('the audit names calls and rules, and is searched', async () => {
  const { page, close } = await visit(browser, server.address, '#/audit');
  await page.waitForSelector('.audit-table tbody tr');
  await page.fill('[aria-label="Search the audit log"]', 'tool:Edit');
  await page.waitForFunction(() => [...document.querySelectorAll('.audit-table tbody td:nth-child(3) code')].every((it) => it.textContent === 'tool:Edit'));
  await page.fill('[aria-label="Search the audit log"]', 'no such line');
  await page.waitForSelector('text=No matching lines');
  await close();
});

test('earlier lines of the audit are loaded', async () => {
  const { page, close } = await visit(browser, server.address, '#/approvals');
  // Three lines a page.
  await page.route('**/v1/audit?*', async (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set('limit', '3');
    await route.continue({ url: url.href });
  });
  await page.evaluate(() => (location.hash = '#/audit'));
  const rows = page.locator('.audit-table tbody tr');
  await page.waitForSelector('.audit-more:has-text("The last 3 lines")');
  const first = await rows.allTextContents();
  await page.click('text=Earlier lines');
  await page.waitForSelector('.audit-more:has-text("The last 6 lines")');
  const all = await rows.allTextContents();
  assert.deepEqual(all.slice(0, 3), first);
  assert.equal(all.length, 6);
  const { lines } = await server.get('audit?limit=6');
  const services = await page.locator('.audit-table tbody td:nth-child(3)').allTextContents();
  assert.deepEqual(services, lines.map((line) => line.service).reverse());
  await close();
});

const VIEWS = [
  ['#/calls/slugs.planner.2.2?step=2', '.call-messages'],
  ['#/compare/slugs?with=slugs-2', '.compare-table'],
  ['#/usage', '.usage'],
  ['#/audit', '.audit-table'],
  ['#/approvals', '.ask-group .ask'],
  ['#/instances/slugs?tab=transcript', '.turns .turn.kind-calls'],
];

for (const scheme of ['light', 'dark']) {
  for (const width of [1360, 360]) {
    test(`axe finds nothing, and nothing is too wide: ${scheme}, ${width}`, async () => {
      const phone = width < 500 ? { isMobile: true, hasTouch: true } : {};
      const options = { colorScheme: scheme, viewport: { width, height: 800 }, ...phone };
      assert.deepEqual(await violations(browser, server.address, VIEWS, options), []);
      const { page, close } = await visit(browser, server.address, '', options);
      for (const [hash, ready] of VIEWS) {
        await page.goto(`${server.address}/${hash}`);
        await page.waitForSelector(ready);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, hash);
      }
      await close();
    });
  }
}
