// Messages about requests that wait: sent once to a webhook, retried, and answered by their link in a browser without a login.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, violations, visit } from './support/browser.mjs';
import { project } from './support/project.mjs';
import { serve } from './support/server.mjs';

let made, server, browser, hook, home, env;
const heard = [];
const waiting = [];
let refusals = 1;
/** Requests of the receiver that never responds. */
const hanging = new Set();

/** The next message that the webhook accepts and a test asks for. */
const message = (fits) =>
  new Promise((resolve) => {
    const found = heard.find(fits);
    if (found) resolve(found);
    else waiting.push({ fits, resolve });
  });

before(async () => {
  hook = createServer((request, response) => {
    if (request.url === '/slow') {
      hanging.add(request);
      return void response.once('close', () => hanging.delete(request));
    }
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => {
      if (refusals > 0) {
        refusals -= 1;
        return response.writeHead(503).end();
      }
      const one = { path: request.url, key: request.headers['idempotency-key'], ...JSON.parse(body) };
      heard.push(one);
      for (const it of waiting.splice(0)) if (it.fits(one)) it.resolve(one);
        else waiting.push(it);
      return response.writeHead(200).end('ok');
    });
    return undefined;
  });
  await new Promise((resolve) => hook.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${hook.address().port}`;
  home = mkdtempSync(join(tmpdir(), 'rawko-notify-'));
  mkdirSync(join(home, 'rawko'));
  writeFileSync(
    join(home, 'rawko/config.yaml'),
    `server:\n  notify:\n    - {name: slow, url: '${address}/slow'}\n    - {name: team, env: TEAM_HOOK, links_for: 1h}\n    - {name: ops, url: '${address}/ops', format: json}\n`,
  );
  env = { XDG_CONFIG_HOME: home, TEAM_HOOK: `${address}/team` };
  made = project({ channel: false });
  server = await serve(made.root, { env });
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  hook?.closeAllConnections();
  hook?.close();
  made?.remove();
  rmSync(home, { recursive: true, force: true });
});

const of = (id, path) => (it) => it.path === path && JSON.stringify(it).includes(id);

test('a request is sent to each receiver, again after a failure, and answered by its link', async () => {
  await server.post('instances', { chart: 'order', id: 'order-1', input: { amount: 250 } });
  const [slack, json] = await Promise.all([message(of('order-1', '/team')), message(of('order-1', '/ops'))]);
  assert.equal(hanging.size, 1, 'a receiver that does not respond delays no other');
  assert.match(slack.text, /^\*Pay 250\?\*\n/);
  assert.deepEqual([json.title, json.instance, json.invoke, json.link], ['Pay 250?', 'order-1', 'approval', null]);
  assert.ok(slack.key && slack.key !== json.key);
  const link = /<(\S+)\|Answer>/.exec(slack.text)[1];
  assert.ok(link.startsWith(`${server.address}/#/answer/`), link);
  const { page, close } = await visit(browser, server.address, link.slice(server.address.length + 1), { stranger: true, expected: [/409/] });
  await page.waitForSelector('.ask:has-text("Pay 250?")');
  assert.equal(await page.locator('.nav').isVisible(), false, 'nothing else is shown');
  await page.click('role=button[name=Approve]');
  await page.waitForSelector('text=Answered');
  const shown = await server.get('instances/order-1');
  assert.deepEqual([shown.configuration, shown.context.approver], [['addressing'], 'link:team']);
  await page.reload();
  await page.waitForSelector('text=Already answered');
  await close();
});

test('a form is filled in by its link', async () => {
  const slack = await message((it) => it.path === '/team' && it.text.includes('Where to?'));
  const link = /<(\S+)\|Answer>/.exec(slack.text)[1];
  const hash = link.slice(server.address.length + 1);
  const views = [[hash, '.ask']];
  const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
  for (const options of [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { ...phone, colorScheme: 'dark' }])
    assert.deepEqual(await violations(browser, server.address, views, { stranger: true, ...options }), []);
  const { page, close } = await visit(browser, server.address, hash, { stranger: true });
  await page.fill('.ask input[type=text] >> nth=0', 'Main Street 1');
  await page.selectOption('.ask select', { label: 'Post' });
  await page.click('role=button[name=Submit]');
  await page.waitForSelector('text=Answered');
  await close();
});

test('a link that was changed does not work, and logs nobody in', async () => {
  const slack = await message(of('order-1', '/team'));
  const link = /<(\S+)\|Answer>/.exec(slack.text)[1];
  const { page, close } = await visit(browser, server.address, `${link.slice(server.address.length + 1, -2)}00`, { stranger: true, expected: [/401/] });
  await page.waitForSelector('text=This link does not work');
  await page.goto(`${server.address}/#/approvals`);
  await page.waitForSelector('text=Log in to rawko');
  await close();
});

test('a restart sends nothing again', async () => {
  await server.post('instances', { chart: 'order', id: 'order-2', input: { amount: 900 } });
  await Promise.all([message(of('order-2', '/team')), message(of('order-2', '/ops'))]);
  const { port } = server;
  await server.stop();
  server = await serve(made.root, { port, env });
  await server.post('instances', { chart: 'order', id: 'order-3', input: { amount: 901 } });
  await Promise.all([message(of('order-3', '/team')), message(of('order-3', '/ops'))]);
  const count = (id, path) => heard.filter(of(id, path)).length;
  assert.deepEqual([count('order-2', '/team'), count('order-2', '/ops'), count('order-3', '/team')], [1, 1, 1]);
});
