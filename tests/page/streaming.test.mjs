// An agent's words and calls are on the page while they come, before anything of them is in the journal. The model is a real
// server in a provider's format, which holds back until the page has been looked at.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, visit } from './support/browser.mjs';
import { serve } from './support/server.mjs';

const TALK = `statechart:
  id: talk
  initial: talking
  states:
    talking:
      invoke: {id: talker, src: "agent:talker", input: {prompt: "'What is in the file?'"}, onDone: done, onError: failed}
    done: {type: final}
    failed: {type: final}
`;

let root, model, server, browser;

/** Answers two completions: a call of a tool, then words; each waits in the middle until it is let go. */
function slowModel() {
  const [held, asked] = [[], []];
  const piece = (delta, finish = null) => ({ choices: [{ index: 0, delta, finish_reason: finish }] });
  const call = { index: 0, id: 'c1', type: 'function', function: { name: 'Read', arguments: '{"path": "note.txt"}' } };
  const answers = [
    { before: piece({ content: 'First I look' }), after: [piece({ content: ' into it.' }), piece({ tool_calls: [call] }), piece({}, 'tool_calls')] },
    { before: piece({ content: 'It says' }), after: [piece({ content: ' **hello**.' }), piece({}, 'stop')] },
  ];
  const http = createServer((request, response) => {
    const { before: early, after: late } = answers.shift();
    request.resume();
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const write = (data) => response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
    write(early);
    held.push(() => {
      late.forEach(write);
      write('[DONE]');
      response.end();
    });
    asked.shift()?.();
  });
  const letGo = async () => {
    if (!held.length) await new Promise((resolve) => asked.push(resolve));
    held.shift()();
  };
  return { http, letGo };
}

before(async () => {
  model = slowModel();
  await new Promise((resolve) => model.http.listen(0, '127.0.0.1', resolve));
  root = mkdtempSync(join(tmpdir(), 'rawko-page-'));
  const write = (name, text) => writeFileSync(join(root, name), text);
  for (const folder of ['.rawko/agents', '.rawko/charts']) mkdirSync(join(root, folder), { recursive: true });
  write('note.txt', 'hello\n');
  write('.rawko/charts/talk.yaml', TALK);
  write('.rawko/agents/talker.md', '---\nname: talker\nmodel: slow/any\ntools: {allowed: [Read]}\n---\nYou talk.\n');
  const address = `http://127.0.0.1:${model.http.address().port}/v1`;
  write(
    '.rawko/config.yaml',
    `providers:\n  slow: {kind: openai, base_url: "${address}", context_tokens: 32768}\ngovernance: {allow: ["agent:*", "model:*", "tool:*", "work:*"]}\n`,
  );
  server = await serve(root);
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  model?.http.close();
  if (root) rmSync(root, { recursive: true, force: true });
});

test('words are read while they come, then stand in the transcript with the call between them', async () => {
  await server.post('instances', { chart: 'talk', id: 't-1' });
  const { page, close } = await visit(browser, server.address, '#/instances/t-1');
  await page.getByRole('tab', { name: 'Transcript' }).click();
  await page.waitForSelector('text=Live');
  const spoken = async () => (await server.get('instances/t-1/transcript')).turns.filter((it) => it.kind === 'says');

  // Opened in the middle of a sentence, a page has its beginning.
  await page.waitForSelector('.streaming .turn.live:has-text("First I look")');
  const late = await visit(browser, server.address, '#/instances/t-1?tab=transcript');
  await late.page.waitForSelector('.streaming .turn.live:has-text("First I look")');
  await late.close();

  await model.letGo();
  await page.waitForSelector('.streaming .turn.live:has-text("It says")');
  assert.deepEqual((await spoken()).map((it) => it.text), ['First I look into it.'], 'the rest is not in the journal yet');
  assert.doesNotMatch(await page.textContent('.streaming'), /hello/);
  assert.equal(await page.textContent('.streaming .turn.live strong'), 'talker', 'who speaks');

  await model.letGo();
  await page.waitForSelector('.pill:has-text("succeeded")');
  await page.waitForFunction(() => !document.querySelector('.streaming .turn.live'));
  const told = await page.textContent('.transcript');
  assert.match(told, /First I look into it\.[\s\S]*Read[\s\S]*note\.txt[\s\S]*It says hello\./);
  assert.equal(await page.locator('.transcript strong', { hasText: 'hello' }).count(), 1, 'as it is meant');
  await close();
});
