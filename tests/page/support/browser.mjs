// A real browser on the page, and what must be true of every visit: nothing on the console, no request to anywhere else.
// Apart from the tests, which say what a person does.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { token } from './project.mjs';

const require = createRequire(join(process.env.RAWKO_TOOLS, 'package.json'));
const { chromium } = require('playwright-core');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

export const openBrowser = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });

/** A page of its own, with all that it complains about. The operator is logged in, a stranger is not. */
export async function visit(browser, address, hash = '', options = {}) {
  const { expected = [], stranger = false, ...context } = options;
  const own = await browser.newContext({ viewport: { width: 1360, height: 860 }, ...context });
  if (!stranger) await own.request.post(`${address}/v1/session`, { data: { token: token() }, failOnStatusCode: true });
  const page = await own.newPage();
  page.setDefaultTimeout(Number(process.env.RAWKO_PATIENCE_MS ?? 60_000));
  const complaints = [];
  const origin = new URL(address).origin;
  page.on(
    'console',
    (message) => message.type() === 'error' && complaints.push(`console: ${message.text()} ${message.location().url}`),
  );
  page.on('pageerror', (error) => complaints.push(`error: ${error.stack}`));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.origin !== origin) complaints.push(`outside: ${request.url()}`);
  });
  await page.goto(`${address}/${hash}`);
  return {
    page,
    /** Fails if anything was complained about that the test does not expect. */
    async close() {
      await own.close();
      const others = complaints.filter((text) => !expected.some((pattern) => pattern.test(text)));
      assert.deepEqual(others, [], 'the page complains');
    },
  };
}

/**
 * What axe finds, view by view. The policy of the page would refuse axe itself, so such a visit goes around it.
 * @param {[string, string][]} views addresses, and what is there when they are ready
 */
export async function violations(browser, address, views, options = {}) {
  const { act, ...more } = options;
  const { page, close } = await visit(browser, address, views[0][0], { ...more, bypassCSP: true });
  const found = [];
  for (const [hash, ready] of views) {
    await page.goto(`${address}/${hash}`);
    await page.waitForSelector(ready);
    await act?.(page);
    // An address without a fragment loads the page anew.
    if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(AXE);
    const here = await page.evaluate(async () => {
      // A dialog that still fades in has too little contrast.
      const brief = document.getAnimations().filter((it) => it.effect.getTiming().iterations !== Infinity);
      await Promise.allSettled(brief.map((it) => it.finished));
      const { violations: all } = await window.axe.run(document, { resultTypes: ['violations'] });
      return all.map((it) => `${it.id}: ${it.nodes.map((node) => node.target.join(' ')).join(', ')}`);
    });
    found.push(...here.map((text) => `${hash} ${text}`));
  }
  await close();
  return found;
}
