// Triggers: next and last run, deliveries as they arrive, and failures with their reason.
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, violations, visit } from './support/browser.mjs';
import { project } from './support/project.mjs';
import { serve } from './support/server.mjs';

const TRIGGERS = `
triggers:
  nightly: {schedule: {cron: "0 3 * * *", zone: Europe/Zurich}, start: {chart: order}}
  local:
    webhook: {signature: none, delivery: X-Id}
    rules:
      - {when: payload.amount != null, start: {chart: order, input: {amount: payload.amount}}}
      - {when: payload.send != null, send: {instance: "'nothing'", event: COUNTED}}
`;

let made, server, browser;

before(async () => {
  made = project({ channel: false });
  appendFileSync(join(made.root, '.rawko/config.yaml'), TRIGGERS);
  server = await serve(made.root, { env: { RAWKO_TRUST: 'all' } });
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  made?.remove();
});

const deliver = (id, body) =>
  fetch(`${server.address}/v1/webhooks/local`, { method: 'POST', headers: { 'content-type': 'application/json', 'x-id': id }, body: JSON.stringify(body) });

test('deliveries appear as they arrive, once each', async () => {
  const { page, close } = await visit(browser, server.address, '#/triggers');
  await page.waitForSelector('.part >> nth=1');
  assert.match(await page.textContent('.scroll'), /nightly.*armed.*0 3 \* \* \* Europe\/Zurich.*next 20\d\d-.*not run yet/s);
  assert.equal((await deliver('d-1', { amount: 50 })).status, 200);
  await page.waitForSelector('td >> text=trigger:local:d-1');
  assert.equal((await (await deliver('d-1', { amount: 50 })).json()).outcome, 'duplicate');
  assert.equal((await deliver('d-2', { send: 1 })).status, 422);
  await page.waitForSelector('.pill >> text=failed');
  assert.match(await page.textContent('.scroll'), /instance `nothing` not found/);
  const { triggers } = await server.get('triggers');
  assert.equal(triggers.find((it) => it.name === 'local').fired, 1);
  await close();
});

test('nothing keeps a person with other means from using it', async () => {
  assert.deepEqual(await violations(browser, server.address, [['#/triggers', '.audit-table']]), []);
});
