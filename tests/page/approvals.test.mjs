// What an instance asks a person: found, answered, filled in; what fails is tried again; what it takes is sent.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, violations, visit } from './support/browser.mjs';
import { project } from './support/project.mjs';
import { serve } from './support/server.mjs';

/** Asks again after a denial. */
const AGAIN = `statechart:
  id: again
  version: "1.0.0"
  initial: asking
  states:
    asking:
      invoke:
        id: approval
        src: human
        input: {title: "'Deploy?'"}
        onDone: [{target: deployed, guard: event.data.approved}, {target: asking, reenter: true}]
    deployed: {type: final}
`;
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
  await page.waitForSelector('text=No pending requests');
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
  await page.waitForSelector('text=No pending requests');

  await page.goto(`${server.address}/#/instances/order-1`);
  await page.waitForSelector('.pill:has-text("succeeded")');
  const { context, output } = await server.get('instances/order-1');
  assert.deepEqual([context.street, output], ['Main Road 1', { receipt: 'r-250' }]);
  await close();
});

test('on a phone a request is before the drawing', async () => {
  await server.post('instances', { chart: 'order', id: 'order-phone', input: { amount: 300 } });
  const top = async (options) => {
    const { page, close } = await visit(browser, server.address, '#/instances/order-phone', options);
    await page.waitForSelector('.ask:has-text("Pay 300?")');
    await page.waitForSelector('.drawing svg');
    const tops = await page.evaluate(() => ['.ask', '.drawing-card'].map((it) => document.querySelector(it).getBoundingClientRect().top));
    await close();
    return tops;
  };
  const [ask, drawing] = await top({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  assert.ok(ask < drawing, `${ask} is above ${drawing}`);
  assert.ok(ask < 844, 'it is on the screen');
  await server.post('instances/order-phone/cancel', {});
});

test('an instance that is not there yet shows up, and a denial leads where the chart says', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances/order-2', { expected: [/404/] });
  await page.waitForSelector('text=Instance order-2 not found');
  await page.waitForSelector('.connection[data-state=live]');
  await server.post('instances', { chart: 'order', id: 'order-2', input: { amount: 300 } });
  await page.click('.ask >> text=Deny');
  await page.waitForSelector('.pill:has-text("succeeded")');
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
  for (const colorScheme of ['light', 'dark'])
    assert.deepEqual(await violations(browser, server.address, [['#/instances/order-3', '.bad-card']], { colorScheme }), []);
  made.write('card_service_is_slow', '');
  await page.click('.bad-card >> role=button[name="Retry"]');
  await failure.waitFor({ state: 'detached' });
  rmSync(join(made.root, 'card_service_is_slow'));
  await failure.waitFor();
  rmSync(join(made.root, 'card_service_is_down'));
  await page.click('.bad-card >> role=button[name="Retry"]');
  await page.waitForSelector('.pill:has-text("succeeded")');
  await close();
});

test('events are sent as offered, and with data that is checked', async () => {
  await server.post('instances', { chart: 'counter', id: 'count' });
  const { page, close } = await visit(browser, server.address, '#/instances/count');
  await page.click('.event-buttons >> role=button[name=COUNTED]');
  await page.waitForSelector('.timeline-where:has-text("1 / 1")');
  assert.match(await page.textContent('.present'), /after 1h/);
  const left = await page.textContent('.present .countdown');
  await page.waitForFunction(
    (before) => document.querySelector('.present .countdown').textContent !== before,
    left,
  );
  await page.click('role=button[name="Send COUNTED with data"]');
  await page.fill('dialog textarea', '{"by": 1');
  await page.waitForSelector('dialog .trouble:has-text("invalid JSON")');
  await page.fill('dialog textarea', '{"by": 1}');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.timeline-where:has-text("2 / 2")');
  await page.click('role=tab[name=Step]');
  await page.waitForSelector('.diff-row:has-text("count")');
  assert.match(await page.textContent('.diff-row'), /1\s*→\s*2/);
  const box = await page.locator('.timeline-slider').boundingBox();
  const [middle, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(box.x + box.width - 10, y);
  await page.mouse.down();
  await page.mouse.move(middle, y, { steps: 5 });
  await page.mouse.up();
  await page.waitForSelector('.timeline-slider[aria-valuenow="1"]');
  await page.waitForFunction(() => /0\s*→\s*1/.test(document.querySelector('.diff-row')?.textContent));
  await page.click('.live-button');
  await page.click('.head-acts >> text=Cancel');
  await page.fill('dialog input', 'enough');
  await page.click('dialog >> text=Cancel instance');
  await page.waitForSelector('.instance-title .pill:has-text("cancelled")');
  await page.click('role=tab[name=Now]');
  await page.waitForSelector('.present .warn-card:has-text("enough")');
  await close();
});

test('an answer counts for the request that was seen', async () => {
  await server.post('instances', { text: AGAIN, id: 'again-1' });
  const { page, close } = await visit(browser, server.address, '#/instances/again-1', { expected: [/409/] });
  await page.waitForSelector('.ask:has-text("Deploy?")');
  // Another person denies it and the chart asks again; this page still shows the first request.
  const held = [];
  await page.route('**/v1/instances/again-1', (route) => held.push(route));
  await server.post('instances/again-1/answer', { approved: false });
  await page.click('.ask >> text=Approve');
  await page.waitForSelector('.ask .problem:has-text("a later one is pending")');
  const { step, configuration } = await server.get('instances/again-1');
  assert.deepEqual([step, configuration], [1, ['asking']], 'the later request is not approved');
  await page.unroute('**/v1/instances/again-1');
  for (const route of held) await route.continue().catch(() => {});
  await page.reload();
  await page.click('.ask >> text=Approve');
  await page.waitForSelector('.pill:has-text("succeeded")');
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

test('the list follows what instances wait for, and the address', async () => {
  made.write('card_service_is_slow', '');
  await server.post('instances', { chart: 'order', id: 'order-4', input: { amount: 400 } });
  const { page, close } = await visit(browser, server.address, '#/instances?filter=person');
  const row = page.locator('.virtual-row:not([hidden])', { hasText: 'order-4' });
  await row.waitFor();
  await page.waitForSelector('.connection[data-state=live]');
  const answer = (invoke, data) =>
    server.post('instances/order-4/answer', { invoke, approved: true, data });
  await answer('approval', null);
  await answer('address', { street: 'Main Road 1', carrier: 'Post' });
  await row.waitFor({ state: 'hidden' });
  assert.equal((await server.get('instances/order-4')).status, 'running', 'it works, and waits for nobody');
  await page.evaluate(() => (location.hash = '#/instances?filter=running'));
  await page.waitForSelector('.chip[aria-pressed=true]:has-text("Running")');
  await row.waitFor();
  rmSync(join(made.root, 'card_service_is_slow'));
  await row.waitFor({ state: 'hidden' });
  await close();
});

test('an instance is paused and resumed', async () => {
  await server.post('instances', { chart: 'counter', id: 'rest' });
  const { page, close } = await visit(browser, server.address, '#/instances/rest');
  const act = (name) => page.locator('.head-acts button', { hasText: name });
  await act('Pause').click();
  await page.waitForSelector('.instance-head .pill[data-tone=paused]');
  await act('Pause').waitFor({ state: 'hidden' });
  assert.equal((await server.get('instances/rest')).status, 'paused');
  await act('Resume').click();
  await page.waitForSelector('.instance-head .pill:not([data-tone=paused])');
  assert.notEqual((await server.get('instances/rest')).status, 'paused');
  await close();
});

test('whoever went back in a transcript keeps all of it while it goes on', async () => {
  await server.post('instances', { chart: 'counter', id: 'talk' });
  const { page, close } = await visit(browser, server.address, '#/approvals', { expected: [/ERR_FAILED/] });
  // An agent that talks without end: two hundred turns a page.
  let [last, reachable] = [300, true];
  await page.route('**/v1/instances/talk/transcript?*', (route) => {
    const query = new URL(route.request().url()).searchParams;
    const end = query.has('before') ? Number(query.get('before')) - 1 : last;
    const first = Math.max(1, end - 199);
    if (query.has('before') && !reachable) return route.abort();
    const turn = (seq) => ({ seq, instance: 'talk', agent: 'ada', step: seq, at_ms: seq, kind: 'says', text: `#${seq}.` });
    const turns = Array.from({ length: end - first + 1 }, (_, at) => turn(first + at));
    return route.fulfill({ json: { v: 1, turns, next: first > 1 ? first : null } });
  });
  const told = () => page.locator('.turns > .turn .turn-words').allTextContents();
  const count = (wanted) =>
    page.waitForFunction((turns) => document.querySelectorAll('.turns > .turn').length === turns, wanted);
  await page.evaluate(() => (location.hash = '#/instances/talk?tab=transcript'));
  await count(200);
  await page.waitForSelector('.connection[data-state=live]');
  reachable = false;
  await page.click('text=Earlier');
  await page.waitForSelector('.notice.bad');
  reachable = true;
  await page.click('text=Earlier');
  await count(300);
  last = 350;
  await server.post('instances/talk/events', { type: 'COUNTED' });
  await count(350);
  assert.deepEqual(await told(), Array.from({ length: 350 }, (_, at) => `#${at + 1}.`));
  await close();
});

test('more questions than a page has are all there', async () => {
  const ids = Array.from({ length: 105 }, (_, at) => `many-${at}`);
  for (const id of ids) await server.post('instances', { chart: 'order', id, input: { amount: 250 } });
  const { page, close } = await visit(browser, server.address, '#/approvals');
  await page.waitForFunction((wanted) => document.querySelectorAll('.ask').length === wanted, ids.length);
  await close();
});
