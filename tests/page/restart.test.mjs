// The server goes and comes back: SIGTERM parks everything, the page says so, reconnects by itself and catches up.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser, visit } from './support/browser.mjs';
import { project, rawko } from './support/project.mjs';
import { serve } from './support/server.mjs';

let made, server, browser;

before(async () => {
  made = project();
  server = await serve(made.root);
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  made?.remove();
});

test('a restart is a pause', async () => {
  await server.post('instances', { chart: 'counter', id: 'count' });
  await server.post('instances/count/events', { type: 'COUNTED' });
  const lost = [/ERR_CONNECTION/, /ERR_INCOMPLETE_CHUNKED/, /ERR_EMPTY_RESPONSE/, /ERR_NETWORK/, /net::/];
  const { page, close } = await visit(browser, server.address, '#/instances/count', { expected: lost });
  await page.waitForSelector('.connection[data-state=live]');
  await page.waitForSelector('.timeline-where:has-text("1 / 1")');

  const { code } = await server.stop('SIGTERM');
  assert.equal(code, 143, 'SIGTERM parks');
  await page.waitForSelector('.banner:has-text("Disconnected")');
  rawko(made.root, 'send', 'count', 'COUNTED');

  server = await serve(made.root, { port: server.port });
  await page.waitForSelector('.connection[data-state=live]');
  await page.waitForSelector('.banner', { state: 'hidden' });
  await page.waitForSelector('.timeline-where:has-text("2 / 2")');
  await server.post('instances/count/events', { type: 'COUNTED' });
  await page.waitForSelector('.timeline-where:has-text("3 / 3")');
  await close();
});
