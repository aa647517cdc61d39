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
  await page.fill('[aria-label="Your name"]', 'ada');
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

test('a channel is made on the page', async () => {
  const { page, close } = await visit(browser, server.address, '#/channels');
  await page.click('text=New channel');
  await page.fill('dialog input[type=text]', 'reviews');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('h1:has-text("reviews")');
  await page.waitForSelector('text=Nobody has said anything yet.');
  await close();
});
