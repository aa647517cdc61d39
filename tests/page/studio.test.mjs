// The studio of a chart: suggestions and explanations while one types, saving to the project's file, a simulation on the
// drawing, a scenario that is recorded and passes in `rawko test`, coverage on the drawing, a violation played step by step.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, violations, visit } from './support/browser.mjs';
import { project, rawko } from './support/project.mjs';
import { serve } from './support/server.mjs';

const BATCH = `statechart:
  id: batch
  version: "1.0.0"
  initial: charging
  context: {amounts: [1, 2, 3]}
  states:
    charging:
      invoke:
        id: charges
        src: charge_card
        each: context.amounts
        as: amount
        input: {amount: amount}
        onDone: charged
        onError: failed
    charged: {type: final}
    failed: {type: final, tags: [failed]}
`;

// What is saved must be trusted like anything else: nothing is trusted from outside here.
process.env.RAWKO_TRUST = '';
let made, server, browser;

before(async () => {
  made = project({ channel: false });
  made.write('.rawko/charts/batch.yaml', BATCH);
  rawko(made.root, 'trust', '--yes');
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
const lit = async (page) => (await drawn(page, '.state.active')).filter(Boolean);
/** Waits until a state is lit; the drawing may still be on its way. */
const waitLit = (page, state) =>
  page.waitForFunction((wanted) => document.querySelector('.drawing-content')?.shadowRoot.querySelector(`.state.active[data-node="${wanted}"]`), state);

/** Puts the cursor behind a part of the text. */
const cursor = (page, part) =>
  page.evaluate((wanted) => {
    const area = document.querySelector('.editor-text');
    const at = area.value.indexOf(wanted) + wanted.length;
    area.focus();
    area.setSelectionRange(at, at);
    area.scrollLeft = 0;
  }, part);

test('a late answer does not take back what was chosen', async () => {
  const { page, close } = await visit(browser, server.address, '#/charts/new');
  await page.waitForSelector('text=No problems found');
  let held = null;
  await page.route('**/v1/charts/suggest', async (route) => {
    await held;
    await route.continue();
  });
  await cursor(page, '    open:\n');
  await page.keyboard.type('      inv');
  await page.waitForSelector('.hints [role=option]:has-text("invoke")');
  let release = null;
  held = new Promise((resolve) => (release = resolve));
  // The list for the letters before is still there.
  await page.keyboard.type('o');
  await page.keyboard.press('ArrowDown');
  await page.waitForSelector('.hints [aria-selected=true]:has-text("invoke")');
  const answered = page.waitForResponse('**/v1/charts/suggest');
  release();
  await answered;
  await page.waitForTimeout(100);
  await page.keyboard.press('Enter');
  assert.match(await page.inputValue('.editor-text'), /\n {6}invoke: /);
  await close();
});

test('what fits is suggested while one types, and words are explained', async () => {
  const { page, close } = await visit(browser, server.address, '#/charts/new');
  await page.waitForSelector('text=No problems found');
  assert.ok((await page.locator('.editor-paint .t-key').count()) > 5, 'the text is coloured');
  await page.waitForFunction(async () => (await fetch('/v1/schema')).ok);
  await cursor(page, '    open:\n');
  await page.keyboard.type('      inv');
  await page.waitForSelector('.hints [role=option]:has-text("invoke")');
  await page.keyboard.press('Tab');
  await page.keyboard.type('{src: charge');
  await page.waitForSelector('.hints [role=option]:has-text("charge_card"):has-text("service")');
  await page.keyboard.press('ArrowDown');
  assert.match(await page.getAttribute('.editor-text', 'aria-activedescendant'), /hints-/);
  await page.keyboard.press('Enter');
  await page.keyboard.type(', onDone: cl');
  await page.waitForSelector('.hints [role=option]:has-text("closed"):has-text("state")');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('.hints').isVisible(), false);
  // The verdict on this text, not on one before.
  const checked = page.waitForResponse((it) => it.url().endsWith('/v1/charts/check') && it.request().postDataJSON().text.includes('onError: closed}\n'));
  await page.keyboard.type('osed, onError: closed}\n');
  await checked;
  await page.waitForSelector('text=No problems found');
  assert.match(await page.inputValue('.editor-text'), / {6}invoke: \{src: charge_card, onDone: closed, onError: closed\}\n {6}on: /);
  await cursor(page, '      af');
  await page.keyboard.press('F1');
  await page.waitForSelector('.hover-note:has-text("Transitions by delay")');
  // The text is painted again after each check, so a line may just be replaced.
  let box = null;
  while (!box) box = await page.locator('.paint-line:has-text("initial") .t-key').boundingBox();
  await page.mouse.move(box.x + 8, box.y + 8);
  await page.waitForSelector('.hover-note:has-text("The state that the chart starts in")');
  await close();
});

test('a chart is edited, saved and trusted, and simulated on its drawing', async () => {
  const { page, close } = await visit(browser, server.address, '#/charts/counter');
  await page.waitForFunction(() => document.querySelector('.drawing-content')?.shadowRoot.querySelector('[data-node="counting"]'));
  const file = join(made.root, '.rawko/charts/counter.yaml');
  const text = readFileSync(file, 'utf8');
  const changed = text.replace('STOPPED: stopped', 'STOPPED: paused').replace('    stopped:', '    paused:\n      on: {CONTINUED: counting, STOPPED: stopped}\n    stopped:');
  await page.fill('.editor-text', changed);
  await page.waitForSelector('text=No problems found');
  await page.waitForFunction(() => document.querySelector('.drawing-content').shadowRoot.querySelector('[data-node="paused"]'));
  await page.click('role=tab[name=Simulate]');
  await page.waitForSelector('.simulator .event-buttons >> text=COUNTED');
  assert.deepEqual(await lit(page), ['counting']);
  assert.equal(readFileSync(file, 'utf8'), text, 'nothing is saved yet');
  await page.keyboard.press('Escape');
  await page.focus('.editor-text');
  await page.keyboard.press('Control+s');
  await page.waitForSelector('.notice:has-text("Saved .rawko/charts/counter.yaml")');
  assert.equal(readFileSync(file, 'utf8'), changed);
  assert.match(rawko(made.root, 'trust'), /^trusted: /m, 'the operator saved it');
  // A transition of the drawing is a button.
  const spot = page.locator('.drawing-content [data-transition].offered[aria-description="Send STOPPED"]');
  await spot.first().focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector('.sim-line[aria-current=step]:has-text("STOPPED")');
  assert.deepEqual(await lit(page), ['paused']);
  await page.click('.simulator .event-buttons >> role=button[name=CONTINUED]');
  await page.waitForSelector('.sim-line[aria-current=step]:has-text("CONTINUED")');
  await page.click('.simulator >> role=button[name=/Next timer/]');
  await page.waitForSelector('.sim-line[aria-current=step]:has-text("advance")');
  assert.deepEqual(await lit(page), ['stopped']);
  await page.click('.simulator >> text=Take back');
  await page.waitForSelector('.sim-line[aria-current=step]:has-text("CONTINUED")');
  await page.fill('[aria-label="Time to advance"]', '30m');
  await page.click('.simulator >> role=button[name=Advance]');
  await page.waitForSelector('.sim-line[aria-current=step]:has-text("advance 30m")');
  assert.deepEqual(await lit(page), ['counting']);
  // The chart that is started is the saved one.
  await server.post('instances', { chart: 'counter', id: 'saved-1' });
  await server.post('instances/saved-1/events', { type: 'STOPPED' });
  assert.deepEqual((await server.get('instances/saved-1')).configuration, ['paused']);
  await close();
});

test('a file that changed on disk is not written over', async () => {
  const { page, close } = await visit(browser, server.address, '#/charts/order', { expected: [/409/] });
  await page.waitForFunction(() => document.querySelector('.editor-text')?.value.includes('remember_approver'));
  const file = join(made.root, '.rawko/charts/order.yaml');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, `${text}# by another editor\n`);
  await page.fill('.editor-text', `${text}# mine\n`);
  await page.click('role=button[name=Save]');
  await page.waitForSelector('.notice:has-text("changed on disk")');
  assert.match(readFileSync(file, 'utf8'), /another editor/);
  writeFileSync(file, text);
  await close();
});

test('a simulation is recorded as a scenario, which passes in rawko test, and covers the drawing', async () => {
  const { page, close } = await visit(browser, server.address, '#/charts/order?tab=simulate');
  await page.waitForSelector('.sim-line');
  await page.click('.simulator >> text=Input…');
  await page.fill('dialog textarea', '{"amount": 250}');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.sim-line:has-text("asking")');
  await page.click('role=button[name="Set stub of payment"]');
  await page.fill('dialog textarea', '{"receipt": "r-250"}');
  await page.fill('dialog input[placeholder="2s"]', '2s');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.facts >> text=returns');
  await page.click('role=button[name="Done… approval"]');
  await page.fill('dialog textarea', '{"approved": true, "by": "ada"}');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.sim-line[aria-current=step]:has-text("addressing")');
  await page.click('role=button[name="Done… address"]');
  await page.fill('dialog textarea', '{"data": {"street": "Main Street 1"}}');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.sim-line[aria-current=step]:has-text("charging")');
  await page.click('.simulator >> role=button[name=/Next timer/]');
  await page.waitForSelector('.sim-line[aria-current=step]:has-text("paid")');
  assert.deepEqual(await lit(page), ['paid']);
  await page.click('.simulator >> text=Save as test…');
  await page.fill('dialog input', 'a large order is approved');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.notice:has-text("it passes")');
  const file = join(made.root, '.rawko/charts/order.scenario.yaml');
  assert.ok(existsSync(file));
  assert.match(rawko(made.root, 'test', '.rawko/charts/order.yaml'), /a large order is approved/);
  assert.match(rawko(made.root, 'trust'), /^trusted: /m);
  await page.click('role=tab[name=Tests]');
  await page.waitForSelector('.facts li[data-passed=true]:has-text("a large order is approved")');
  await page.waitForFunction(() => document.querySelector('.drawing-content').shadowRoot.querySelector('.state.off'));
  const off = await drawn(page, '.state.off');
  assert.ok(off.includes('rejected') && !off.includes('paid'), String(off));
  // A second one is added to the same file, which keeps what it has.
  await page.click('role=tab[name=Simulate]');
  await page.click('.simulator >> text=Restart');
  await page.click('.simulator .event-buttons >> role=button[name=WITHDRAWN]');
  await page.waitForSelector('.sim-line[aria-current=step]:has-text("rejected")');
  await page.click('.simulator >> text=Save as test…');
  await page.fill('dialog input', 'withdrawn: "before" an answer');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.notice:has-text("it passes") >> nth=1');
  const report = JSON.parse(rawko(made.root, 'test', '--json', '.rawko/charts/order.yaml'));
  assert.deepEqual([report.passed, report.failed], [2, 0]);
  await close();
});

test('the items of an each are shown while it is simulated', async () => {
  const { page, close } = await visit(browser, server.address, '#/charts/batch?tab=simulate');
  await page.waitForSelector('.items li >> nth=2');
  await page.click('role=button[name="Done… charges[1]"]');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.items [data-status=done]');
  assert.equal(await page.locator('.items [data-status=done]').count(), 1);
  // The drawing counts them, too.
  assert.equal((await page.locator('.drawing-content .badge text').textContent()).split(' ')[0], '1/3');
  await close();
});

const HOLE = `statechart:
  id: release
  version: "1.0.0"
  initial: asking
  states:
    asking:
      on: {APPROVED: approved, HURRIED: deploying}
    approved:
      on: {CONTINUED: deploying}
    deploying:
      invoke: {id: deploy, src: charge_card, onDone: done, onError: failed}
    done: {type: final}
    failed: {type: final, tags: [failed]}
  properties:
    approval_first: {before: {first: "in('approved')", then: "invoked('deploy')"}}
`;

test('a property is refuted, its trace is played on the drawing, and the fixed chart is proved', async () => {
  const { page, close } = await visit(browser, server.address, '#/charts/new', { expected: [/422/] });
  await page.fill('.editor-text', HOLE);
  await page.waitForSelector('text=No problems found');
  await page.click('role=tab[name=Verify]');
  await page.waitForSelector('.proofs li[data-verdict=violated]:has-text("approval_first")');
  assert.ok((await page.locator('.proofs li[data-verdict=holds]').count()) >= 8, 'built-in properties are listed');
  await page.click('role=button[name="Show trace (1 step) of approval_first"]');
  await page.waitForSelector('.sim-line[aria-current=step]:has-text("start")');
  await waitLit(page, 'asking');
  // The text is checked and simulated again: the step that is looked at stays.
  const again = page.waitForResponse((it) => it.url().endsWith('/v1/charts/simulate'));
  await page.fill('.editor-text', `${HOLE}# checked again\n`);
  await (await again).finished();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.waitForFunction(() => document.querySelectorAll('.sim-line').length === 2);
  assert.deepEqual(await lit(page), ['asking']);
  await page.click('.sim-line:has-text("HURRIED")');
  await page.waitForSelector('.sim-line[aria-current=step]:has-text("HURRIED")');
  await waitLit(page, 'deploying');
  await page.fill('.editor-text', HOLE.replace(', HURRIED: deploying', ''));
  await page.click('role=tab[name=Verify]');
  await page.waitForSelector('.proofs li[data-verdict=holds]:has-text("approval_first")');
  assert.equal(await page.locator('.proofs li[data-verdict=violated]').count(), 0);
  // A text that is no chart has no verdicts.
  await page.fill('.editor-text', 'statechart: {id: x}');
  await page.click('role=button[name="Verify again"]');
  await page.waitForSelector('.problem:has-text("the chart has errors")');
  await close();
});

test('a reader simulates and saves nothing', async () => {
  const guarded = project({ channel: false });
  writeFileSync(join(guarded.root, '.rawko/config.yaml'), 'server: {tokens: [{name: guest, role: read, env: GUEST_TOKEN}]}\n', { flag: 'a' });
  rawko(guarded.root, 'trust', '--yes');
  const own = await serve(guarded.root, { env: { GUEST_TOKEN: 'a-secret-of-the-guest' } });
  try {
    const { page, close } = await visit(browser, own.address, '', { stranger: true, expected: [/401/] });
    await page.fill('[type=password]', 'a-secret-of-the-guest');
    await page.click('.login button');
    await page.goto(`${own.address}/#/charts/counter?tab=simulate`);
    await page.waitForSelector('.simulator .event-buttons >> text=COUNTED');
    assert.equal(await page.locator('role=button[name=Save]').count(), 0);
    assert.equal(await page.locator('text=Save as test…').isVisible(), false);
    await close();
  } finally {
    await own.stop();
    guarded.remove();
  }
});

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
for (const [name, options] of Object.entries({ light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, 'a phone': PHONE, 'a dark phone': { ...PHONE, colorScheme: 'dark' } })) {
  test(`nothing is in the way of anybody in the studio: ${name}`, async () => {
    const views = [
      ['#/charts/order?tab=simulate', '.sim-line'],
      ['#/charts/order?tab=tests', '.facts li[data-passed]'],
      ['#/charts/batch?tab=simulate', '.items li'],
      ['#/charts/order?tab=verify', '.proofs li'],
    ];
    const wide = async (page) => assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, 'no overflow');
    assert.deepEqual(await violations(browser, server.address, views, { ...options, act: wide }), []);
  });
}
