// Ten thousand instances and a journal of a hundred thousand steps: the page stays light and never stands still for long.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser, visit } from './support/browser.mjs';
import { serve } from './support/server.mjs';

/** What a frame may cost on average, in time of the page's own thread: a busy machine makes it wait, but not work more. */
const FRAME_MS_MAX = 60;
const FRAMES = 100;
const ROWS_MAX = 120;
let server, browser;

before(async () => {
  server = await serve(process.env.RAWKO_FILLED);
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Does something a frame at a time, and answers with what a frame cost the page's thread. */
async function costOf(page, work) {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find((metric) => metric.name === 'TaskDuration').value * 1000;
  };
  const before = await spent();
  await work();
  return ((await spent()) - before) / FRAMES;
}

/** Scrolls a list from its top to its end, a frame at a time. */
const scrollThrough = (page, selector) =>
  page.evaluate(
    async ([wanted, frames]) => {
      const list = document.querySelector(wanted);
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      for (let at = 0; at <= frames; at += 1) {
        list.scrollTop = ((list.scrollHeight - list.clientHeight) * at) / frames;
        await frame();
      }
    },
    [selector, FRAMES],
  );

test('ten thousand instances are scrolled through and searched', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances');
  await page.waitForSelector('.virtual-row:not(.loading)');
  assert.equal(await page.textContent('.view-head .number'), '10,001');
  const cost = await costOf(page, () => scrollThrough(page, '.virtual'));
  assert.ok(cost < FRAME_MS_MAX, `a frame of scrolling costs ${cost} ms`);
  await page.waitForSelector('.virtual-row:not(.loading):has-text("count-00001")', { timeout: 60_000 });
  assert.ok((await page.locator('.virtual-row').count()) < ROWS_MAX, 'only what is seen is there');
  const ids = await page.locator('.virtual-row[id]').evaluateAll((rows) => rows.map((row) => row.id));
  assert.equal(new Set(ids).size, ids.length, 'a place has one row');
  await page.fill('[type=search]', 'count-0777');
  await page.waitForFunction(() => document.querySelectorAll('.virtual-row:not([hidden]):not(.loading)').length === 10);
  await close();
});

test('a hundred thousand steps are dragged over', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances/long?tab=context');
  await page.waitForSelector('.timeline-where:has-text("100,000 / 100,000")');
  const box = await page.locator('.timeline-slider').boundingBox();
  const [left, width, y] = [box.x + 8, box.width - 16, box.y + box.height / 2];
  await page.mouse.move(left + width, y);
  await page.mouse.down();
  const dragging = await costOf(page, async () => {
    for (let at = FRAMES; at >= 0; at -= 1) await page.mouse.move(left + width * (1 / 3 + (at / FRAMES) * (2 / 3)), y);
  });
  assert.ok(dragging < FRAME_MS_MAX, `a frame of dragging costs ${dragging} ms`);
  await page.mouse.up();
  const step = Number(await page.getAttribute('.timeline-slider', 'aria-valuenow'));
  assert.ok(step > 30_000 && step < 37_000, `step ${step}`);
  await page.waitForSelector(`text=Context after step ${step}.`);
  await page.waitForSelector(`.panel-body:not([hidden]) .tree-row:has-text("${step}")`);
  await page.keyboard.press('5');
  const scrolling = await costOf(page, () => scrollThrough(page, '.steps .virtual'));
  assert.ok(scrolling < FRAME_MS_MAX, `a frame of scrolling costs ${scrolling} ms`);
  await page.waitForSelector('.steps .virtual-row:not(.loading):has-text("100,000")', { timeout: 60_000 });
  assert.ok((await page.locator('.steps .virtual-row').count()) < ROWS_MAX, 'only what is seen is there');
  await close();
});

/** The median of several visits, printed for docs/performance.md; nothing is asserted about time. */
test('first paint and interaction are measured', async () => {
  const times = { 'first paint': [], 'rows of the list': [], 'search': [], 'an instance with its diagram': [] };
  for (let round = 0; round < 5; round += 1) {
    const { page, close } = await visit(browser, server.address, '#/instances');
    await page.waitForSelector('.virtual-row:not(.loading)');
    times['rows of the list'].push(await page.evaluate(() => performance.now()));
    times['first paint'].push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
    const timed = async (name, act, done) => {
      const began = await page.evaluate(() => performance.now());
      await act();
      await page.waitForFunction(done);
      times[name].push((await page.evaluate(() => performance.now())) - began);
    };
    await timed('search', () => page.fill('[type=search]', 'count-0777'), () => document.querySelectorAll('.virtual-row:not([hidden]):not(.loading)').length === 10);
    await timed('an instance with its diagram', () => page.click('.virtual-row:not([hidden]) >> nth=0'), () => document.querySelector('.drawing-content')?.shadowRoot.querySelector('.state.active'));
    await close();
  }
  for (const [name, all] of Object.entries(times)) console.log(`measured: ${name} ${Math.round(all.sort((a, b) => a - b)[2])} ms`);
});

/** What one client waits for, one request after the other; printed for docs/performance.md, like the times above. */
test('the requests behind a list, an instance and the end of a journal are measured', async () => {
  const requests = {
    'a page of 50 instances': ['instances?limit=50', (answer) => assert.equal(answer.instances.length, 50)],
    ...Object.fromEntries(
      ['title', 'outcome', 'cost', 'steps', 'updated', 'created&order=asc'].map((sort) => [
        `a page by ${sort}`,
        [`instances?limit=50&sort=${sort}`, (answer) => assert.equal(answer.instances.length, 50)],
      ]),
    ),
    'one instance': ['instances/count-00777', (answer) => assert.equal(answer.id, 'count-00777')],
    'the last 50 of 100,000 steps': ['instances/long/journal?from=99951&limit=50', (answer) => assert.equal(answer.entries.at(-1).step, 100_000)],
  };
  for (const [name, [path, check]] of Object.entries(requests)) {
    const times = [];
    for (let round = 0; round < 220; round += 1) {
      const began = performance.now();
      const answer = await server.get(path);
      times.push(performance.now() - began);
      check(answer);
    }
    // The first ones warm up the server and the connection.
    const sorted = times.slice(20).sort((a, b) => a - b);
    console.log(`measured: ${name} ${sorted[100].toFixed(1)} ms, 99 of 100 within ${sorted[198].toFixed(1)} ms`);
  }
});
