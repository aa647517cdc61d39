// What an instance asks a person: found, answered, filled in; what fails is tried again; what it takes is sent.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, visit } from './support/browser.mjs';
import { project } from './support/project.mjs';
import { serve } from './support/server.mjs';

let made, server, browser;

before(async () => {
  made = project({ channel: false });
  server = await serve(made.root);
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  made?.remove();
});

test('a question is answered and a form filled in', async () => {
  const { page, close } = await visit(browser, server.address, '#/approvals');
  await page.waitForSelector('text=Nobody waits for you');
  await server.post('instances', { chart: 'order', id: 'order-1', input: { amount: 250 } });
  await page.waitForSelector('.ask:has-text("Pay 250?")');
  await page.waitForFunction(() => document.querySelector('.badge > span').textContent === '1');
  assert.match(await page.textContent('.ask'), /customer\s*Ada/, 'what the decision is about');
  assert.match(await page.textContent('.ask .countdown'), /^2[34]h/);
  await page.fill('.ask [aria-label=Comment]', 'a good customer');
  await page.click('.ask >> text=Approve');

  const form = page.locator('.ask', { hasText: 'Where to?' });
  await form.waitFor();
  await form.getByText('Submit').click();
  await form.getByRole('alert').waitFor();
  assert.equal(
    await form.getByLabel('Street').getAttribute('aria-invalid'),
    'true',
    'what is needed is said at the field',
  );
  await form.getByLabel('Street').fill('Main Road 1');
  await form.getByLabel('Floor').fill('2');
  await form.getByLabel('Carrier').selectOption('Parcel');
  await form.getByLabel('Express').check();
  await form.getByText('Submit').click();
  await page.waitForSelector('text=Nobody waits for you');

  await page.goto(`${server.address}/#/instances/order-1`);
  await page.waitForSelector('.pill:has-text("done")');
  const { context, output } = await server.get('instances/order-1');
  assert.deepEqual([context.street, output], ['Main Road 1', { receipt: 'r-250' }]);
  await close();
});

test('an instance that is not there yet shows up, and a denial leads where the chart says', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances/order-2', { expected: [/404/] });
  await page.waitForSelector('text=There is no instance order-2');
  await page.waitForSelector('.connection[data-state=live]');
  await server.post('instances', { chart: 'order', id: 'order-2', input: { amount: 300 } });
  await page.click('.ask >> text=Deny');
  await page.waitForSelector('.pill:has-text("done")');
  const lit = await page.evaluate(() =>
    [...document.querySelector('.drawing-content').shadowRoot.querySelectorAll('.state.active')].map(
      (state) => state.dataset.node,
    ),
  );
  assert.deepEqual(lit.filter(Boolean), ['rejected']);
  await close();
});

test('what failed is shown and tried again', async () => {
  made.write('card_service_is_down', '');
  await server.post('instances', { chart: 'order', id: 'order-3', input: { amount: 50 } });
  const { page, close } = await visit(browser, server.address, '#/instances/order-3');
  const failure = page.locator('.bad-card:has-text("no route to the card service")');
  await failure.waitFor();
  made.write('card_service_is_slow', '');
  await page.click('.bad-card >> text=Try again');
  await failure.waitFor({ state: 'detached' });
  rmSync(join(made.root, 'card_service_is_slow'));
  await failure.waitFor();
  rmSync(join(made.root, 'card_service_is_down'));
  await page.click('.bad-card >> text=Try again');
  await page.waitForSelector('.pill:has-text("done")');
  await close();
});

test('events are sent as offered, and with data that is checked', async () => {
  await server.post('instances', { chart: 'counter', id: 'count' });
  const { page, close } = await visit(browser, server.address, '#/instances/count');
  await page.click('.event-buttons >> role=button[name=COUNTED]');
  await page.waitForSelector('.timeline-where:has-text("1 / 1")');
  assert.match(await page.textContent('.present'), /after 1h/, 'the timer counts down');
  await page.click('role=button[name="Send COUNTED with data"]');
  await page.fill('dialog textarea', '{"by": 1');
  await page.waitForSelector('dialog .trouble:has-text("no JSON")');
  await page.fill('dialog textarea', '{"by": 1}');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.timeline-where:has-text("2 / 2")');
  await page.click('role=tab[name=Step]');
  await page.waitForSelector('.diff-row:has-text("count")');
  assert.match(await page.textContent('.diff-row'), /1\s*→\s*2/);
  await page.click('.head-acts >> text=Cancel');
  await page.fill('dialog input', 'enough');
  await page.click('dialog >> text=Cancel the instance');
  await page.waitForSelector('.instance-title .pill:has-text("cancelled")');
  await close();
});

test('one can leave while the journal is still being read', async () => {
  await server.post('instances', { chart: 'counter', id: 'left' });
  const { page, close } = await visit(browser, server.address, '#/approvals');
  const asked = new Promise((resolve) => page.route('**/journal?*', resolve));
  await page.evaluate(() => (location.hash = '#/instances/left'));
  await asked;
  await page.click('nav >> text=Instances');
  await page.waitForSelector('.virtual-row:has-text("left")');
  await close();
});
