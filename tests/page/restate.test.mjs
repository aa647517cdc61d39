// What is different where instances live on Restate: the page is one process and the steps are taken by others, which come and go.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser, visit } from './support/browser.mjs';
import { project, rawko, token } from './support/project.mjs';
import { serve, startWorker } from './support/server.mjs';

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

test('the list, the drawing and the journal follow what workers do for others', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances');
  await page.waitForSelector('text=No instances yet');
  assert.throws(() => rawko(made.root, 'run', 'counter', '--id', 'count'), { status: 55 }, 'it waits');
  await page.waitForSelector('.virtual-row:has-text("count")');
  await page.click('.virtual-row >> text=count');
  await page.waitForSelector('h1:has-text("count")');
  for (const at of [1, 2, 3]) {
    rawko(made.root, 'send', 'count', 'COUNTED');
    await page.waitForSelector(`.timeline-where:has-text("${at} / ${at}")`);
  }
  assert.deepEqual(await lit(page), ['counting']);
  await page.focus('.timeline-slider');
  await page.keyboard.press('ArrowLeft');
  await page.waitForSelector('.timeline-where:has-text("2 / 3")');
  await page.click('role=tab[name=Context]');
  await page.waitForSelector('text=Context after step 2.');
  if (process.env.RAWKO_PICTURE) await page.screenshot({ path: process.env.RAWKO_PICTURE });
  await close();
});

test('what is sent while no worker is there is taken when one comes', async () => {
  const { page, close } = await visit(browser, server.address, '#/instances/count');
  await page.waitForSelector('.connection[data-state=live]');
  const { port, stop } = server.worker();
  await stop();
  await page.click('.event-buttons >> role=button[name=STOPPED]');
  assert.equal((await server.get('instances/count')).status, 'waiting', 'looking needs no worker');
  await startWorker(made.root, port);
  await page.waitForSelector('.instance-title .pill:has-text("succeeded")');
  assert.deepEqual(await lit(page), ['stopped']);
  await close();
});

test('the metrics of the page have what there is', async () => {
  const metrics = await (await fetch(`${server.address}/metrics`, { headers: { Authorization: `Bearer ${token()}` } })).text();
  assert.match(metrics, /^rawko_instances\{status="done"\} 1$/m);
  assert.match(metrics, /^rawko_http_requests_total\{method="GET",route="\/v1\/instances\/\{id\}",status="200"\} \d+$/m);
});

test('there are no channels, and the page says so', async () => {
  const { page, close } = await visit(browser, server.address, '#/channels');
  await page.waitForSelector('text=Channels are not available');
  assert.equal(await page.locator('text=New channel').count(), 0);
  await close();
});

const lit = (page) =>
  page.evaluate(() =>
    [...document.querySelector('.drawing-content').shadowRoot.querySelectorAll('.state.active')]
      .map((state) => state.dataset.node)
      .filter(Boolean),
  );
