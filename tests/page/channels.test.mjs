// A channel: speaking in it, an agent that answers in its turn, pausing, and a person with a keyboard only.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser, visit } from './support/browser.mjs';
import { project } from './support/project.mjs';
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

test('a person speaks, an agent answers, both pages hear it', async () => {
  const { page, close } = await visit(browser, server.address, '#/channels');
  const other = await visit(browser, server.address, '#/channels/standup');
  await page.click('.channel-card:has-text("standup")');
  await page.waitForSelector('.queue >> text=echo');
  await page.fill('[aria-label=Message]', 'what about <b>slugs</b>?');
  await page.keyboard.press('Enter');
  for (const seat of [page, other.page]) {
    await seat.waitForSelector('.message.by-person:has-text("what about <b>slugs</b>?")');
    await seat.waitForSelector('.message.by-agent:has-text("I heard")');
  }
  assert.equal(await page.locator('.message b').count(), 0, 'what somebody says is text');
  assert.equal(await page.locator('.message.by-agent code').first().textContent(), 'what about <b>slugs</b>?');
  await page.click('.channel-side >> text=Pause');
  await other.page.waitForSelector('.channel-side >> text=Resume');
  await other.page.click('.channel-side >> text=Resume');
  await page.waitForSelector('.channel-side >> text=Pause');
  await other.close();
  await close();
});

test('whoever was away for long misses nothing', async () => {
  await server.post('channels', { name: 'busy' });
  const say = (text) => server.post('channels/busy/messages', { text, by: 'ada' });
  await say('before');
  const { page, close } = await visit(browser, server.address, '#/channels/busy', { expected: [/ERR_FAILED/] });
  await page.waitForSelector('.message:has-text("before")');
  await page.waitForSelector('.connection[data-state=live]');
  await page.route('**/v1/channels/busy', (route) => route.abort());
  for (let at = 1; at <= 130; at += 1) await say(`meanwhile ${at}`);
  await page.unroute('**/v1/channels/busy');
  await say('after');
  await page.waitForSelector('.message:has-text("after")');
  const heard = await page.locator('.message .prose').allTextContents();
  const meanwhile = Array.from({ length: 130 }, (_, at) => `meanwhile ${at + 1}`);
  assert.deepEqual(heard, ['before', ...meanwhile, 'after']);
  await close();
});

test('a channel is made on the page', async () => {
  const { page, close } = await visit(browser, server.address, '#/channels');
  await page.click('text=New channel');
  await page.fill('dialog input[type=text]', 'reviews');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('h1:has-text("reviews")');
  await page.waitForSelector('text=No messages yet.');
  await close();
});
