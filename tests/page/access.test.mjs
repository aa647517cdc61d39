// Who may: a server with tokens asks for one, a reader is offered nothing to press. And the page at its edges: small, dark, still.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, violations, visit } from './support/browser.mjs';
import { project, rawko } from './support/project.mjs';
import { serve } from './support/server.mjs';

let made, open, browser;

before(async () => {
  made = project();
  open = await serve(made.root);
  browser = await openBrowser();
  await open.post('instances', { chart: 'order', id: 'order-1', input: { amount: 250 } });
  await open.post('instances', { chart: 'order', id: 'order-2', input: { amount: 30 } });
  await open.post('channels/standup/messages', { text: 'Good morning', by: 'ada' });
});

after(async () => {
  await browser?.close();
  await open?.stop();
  made?.remove();
});

const VIEWS = [
  ['#/instances', '.virtual-row'],
  ['#/instances/order-1', '.ask'],
  ['#/instances/order-2?step=0', '.story-lines li'],
  ['#/instances/order-2?tab=context', '.panel-body:not([hidden]) .tree-row'],
  ['#/instances/order-2?tab=journal', '.steps .virtual-row'],
  ['#/tasks', '.empty'],
  ['#/approvals', '.ask'],
  ['#/channels', '.channel-card'],
  ['#/channels/standup', '.message'],
  ['#/charts', '.chart-card'],
  ['#/charts/order', '.verdict'],
  ['#/charts/new', '.verdict'],
  ['#/agents', '.card'],
  ['#/agents/developer', '.agent-page .card'],
  ['#/settings', '.doctor li'],
  ['#/triggers', '.empty'],
  ['#/nowhere', '.empty h1'],
  ['#/compare/order-1', '.empty'],
  ['#/compare/order-1?with=order-2', '.compare-table'],
];

const MISSING = [
  ['#/instances/none', '.empty h1'],
  ['#/tasks/none', '.empty h1'],
  ['#/agents/none', '.empty'],
];

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
for (const [name, options] of Object.entries({
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  'a phone': { colorScheme: 'light', ...PHONE },
  'a phone in the dark': { colorScheme: 'dark', ...PHONE },
})) {
  test(`nothing is in the way of anybody: ${name}`, async () => {
    assert.deepEqual(await violations(browser, open.address, VIEWS, options), []);
    const missing = { ...options, expected: [/404 .*[/=]none/] };
    assert.deepEqual(await violations(browser, open.address, MISSING, missing), []);
  });

  test(`nor in a dialog, the list of keys or the login: ${name}`, async () => {
    const stranger = { ...options, stranger: true, expected: [/401/] };
    assert.deepEqual(await violations(browser, open.address, [['', '.login']], stranger), []);
    for (const key of ['n', '?']) {
      const act = (page) => page.keyboard.press(key).then(() => page.waitForSelector('dialog'));
      assert.deepEqual(await violations(browser, open.address, [['#/instances', '.virtual-row']], { ...options, act }), [], key);
    }
  });
}

test('an address that is just being opened is not written over by the view before', async () => {
  const { page, close } = await visit(browser, open.address, '#/instances/order-1?step=0');
  await page.waitForSelector('.story-lines li');
  // The view has a word to add to its address, and comes to it when somebody has just gone elsewhere.
  await page.evaluate(async () => {
    const main = document.querySelector('script[type=module]').src;
    const { note } = await import(new URL('route.js', main).href);
    location.hash = '#/instances/order-2?step=0';
    note({ step: '' });
  });
  await page.waitForSelector('h1:has-text("order-2")');
  await page.waitForSelector('.story-lines li');
  assert.match(page.url(), /order-2\?step=0/);
  await close();
});

test('nothing is wider than a phone', async () => {
  const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
  const { page, close } = await visit(browser, open.address, '', phone);
  for (const [hash, ready] of VIEWS) {
    await page.goto(`${open.address}/${hash}`);
    await page.waitForSelector(ready);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, hash);
  }
  await close();
});

test('a phone reaches every view', async () => {
  const { page, close } = await visit(browser, open.address, '#/tasks', PHONE);
  await page.waitForSelector('.empty');
  const bar = page.locator('.nav > ul > li > .nav-link');
  for (const name of ['Instances', 'Approvals', 'Channels', 'Charts']) {
    await bar.filter({ hasText: name }).tap();
    await page.waitForSelector(`h1:has-text("${name}")`);
  }
  for (const name of ['Agents', 'Triggers', 'Usage', 'Audit', 'Settings']) {
    await page.locator('.more > summary').tap();
    await page.locator('.more-list .nav-link', { hasText: name }).tap();
    await page.waitForSelector(`h1:has-text("${name}")`);
    await page.waitForSelector('.more:not([open])');
    await page.waitForSelector('.more > summary.current');
  }
  await page.locator('.more > summary').tap();
  await page.waitForSelector('.more-list .nav-link[aria-current=page]:has-text("Settings")');
  await page.locator('h1').tap();
  await page.waitForSelector('.more:not([open])');
  await close();
});

test('a finger drags the timeline', async () => {
  await open.post('instances', { chart: 'counter', id: 'count' });
  for (let at = 0; at < 4; at += 1) await open.post('instances/count/events', { type: 'COUNTED' });
  const { page, close } = await visit(browser, open.address, '#/instances/count', {
    viewport: { width: 390, height: 800 },
    isMobile: true,
    hasTouch: true,
  });
  await page.waitForSelector('.timeline-where:has-text("4 / 4")');
  const box = await page.locator('.timeline-slider').boundingBox();
  const session = await page.context().newCDPSession(page);
  const finger = (type, part) =>
    session.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: part === null ? [] : [{ x: box.x + 8 + (box.width - 16) * part, y: box.y + box.height / 2 }],
    });
  await finger('touchStart', 1);
  for (let part = 0.9; part > 0.5; part -= 0.1) await finger('touchMove', part);
  await finger('touchMove', 0.5);
  await page.waitForSelector('.timeline-slider[aria-valuenow="2"]');
  await finger('touchMove', 0);
  await page.waitForSelector('.timeline-slider[aria-valuenow="0"]');
  await finger('touchEnd', null);
  assert.equal(await page.getAttribute('.timeline-slider', 'aria-valuenow'), '0', 'it stays where the finger left it');
  await close();
});

test('colours follow the reader, and the switch goes over them', async () => {
  const { page, close } = await visit(browser, open.address, '#/instances', { colorScheme: 'dark' });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await background();
  await page.click('role=button[name="System theme"]');
  assert.notEqual(await background(), dark, 'light was asked for');
  await page.reload();
  await page.waitForSelector('role=button[name="Light theme"]');
  assert.notEqual(await background(), dark, 'and is remembered');
  await close();
});

test('a link logs a browser in, once', async () => {
  const link = rawko(made.root, 'serve', '--link').trim();
  assert.match(link, new RegExp(`^${open.address}/login/[0-9a-f]{40}$`));
  // The refusal is no page of ours, so that a browser looks for an icon by its old name.
  const { page, close } = await visit(browser, open.address, '', { stranger: true, expected: [/401/, /favicon/] });
  await page.waitForSelector('text=Log in to rawko');
  await page.goto(link);
  await page.waitForSelector('h1:has-text("Tasks")');
  assert.equal(new URL(page.url()).pathname, '/', 'the code leaves the address bar');
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Strict']);
  await page.context().clearCookies();
  const again = await page.goto(link);
  assert.equal(again.status(), 401);
  await close();
});

test('a server with tokens asks for one, and a reader may only read', async () => {
  const guarded = project();
  writeFileSync(join(guarded.root, 'admin.token'), 'a-secret-of-the-admin\n');
  writeFileSync(
    join(guarded.root, '.rawko/config.yaml'),
    'server: {tokens: [{name: guest, role: read, env: GUEST_TOKEN}]}\n',
    { flag: 'a' },
  );
  const server = await serve(guarded.root, {
    words: ['--token-file', 'admin.token'],
    env: { GUEST_TOKEN: 'a-secret-of-the-guest' },
  });
  try {
    const { page, close } = await visit(browser, server.address, '', { stranger: true, expected: [/401/, /403/] });
    await page.waitForSelector('text=Log in to rawko');
    await page.fill('[type=password]', 'wrong');
    await page.click('.login button');
    await page.waitForSelector('text=Invalid token.');
    await page.fill('[type=password]', 'a-secret-of-the-guest');
    await page.click('.login button');
    await page.waitForSelector('h1:has-text("Tasks")');
    assert.equal(await page.locator('.button.primary').count(), 0, 'nothing to start for a reader');
    await page.click('text=Log out');
    await page.waitForSelector('text=Log in to rawko');
    await page.fill('[type=password]', 'a-secret-of-the-admin');
    await page.click('.login button');
    await page.waitForSelector('.view-head >> text=New task');
    await page.reload();
    await page.waitForSelector('.view-head >> text=New task');
    await page.goto(`${server.address}/#/channels/standup`);
    await page.waitForSelector('.speak');
    assert.equal(await page.locator('[aria-label="Your name"]').count(), 0, 'the token says who speaks');
    await close();
  } finally {
    await server.stop();
    guarded.remove();
  }
});
