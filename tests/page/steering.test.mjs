// A task as a person lives with it: followed, asked for permission, asked a question, steered, paused, its diff read, undone and
// done again, continued, forked; another one that stops at a limit, which is raised. Models answer from a script.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, violations, visit } from './support/browser.mjs';
import { serve } from './support/server.mjs';

const SETTINGS = `governance: {allow: ['agent:*']}
providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}
memories: {remember: false}
phases: {validate: {checks: []}}
permissions: {ask: ['Bash(touch:*)']}
`;

const SCRIPT = `
- agent: worker
  steps:
    - text: I make the file.
      tool_calls: [{name: Bash, input: {command: touch made.txt}}]
    - text: Now I need its colour.
      tool_calls: [{name: AskUser, input: {question: Which colour?, options: [red, blue]}}]
    - expect: "Use a capital letter"
      text: A capital letter it is.
      tool_calls: [{name: Write, input: {path: colour.txt, content: "Blue\\n"}}, {name: Edit, input: {path: notes.md, old_string: "colour: none", new_string: "colour: Blue"}}]
    - text: Both files are **written**.
- agent: toucher
  steps:
    - tool_calls: [{name: Bash, input: {command: touch again.txt}}]
    - tool_calls: [{name: Bash, input: {command: touch again.txt}}]
    - text: Touched twice.
- agent: starter
  steps: [{text: I have begun.}]
- agent: finisher
  steps: [{text: I have finished.}]
`;

const agent = (name, next) =>
  `---\nname: ${name}\nwhenToUse: For what a ${name} does.\ntransitions: {onSuccess: ${next}}\n---\nYou are the ${name}.\n`;

let root, server, browser;
const file = (name) => join(root, name);

before(async () => {
  root = mkdtempSync(join(tmpdir(), 'rawko-page-'));
  mkdirSync(file('.rawko/agents'), { recursive: true });
  writeFileSync(file('.rawko/config.yaml'), SETTINGS);
  writeFileSync(file('.rawko/script.yaml'), SCRIPT);
  writeFileSync(file('notes.md'), '# Notes\n\ncolour: none\n');
  for (const [name, next] of [['worker', 'complete'], ['toucher', 'complete'], ['starter', 'finisher'], ['finisher', 'complete']])
    writeFileSync(file(`.rawko/agents/${name}.md`), agent(name, next));
  // Rules of `Always allow` are written there, by the server, and read by a worker.
  process.env.XDG_CONFIG_HOME = file('own');
  server = await serve(root);
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(root, { recursive: true, force: true });
});

/** What axe finds in views: light and dark, on a desk and on a phone. */
async function found(views, act) {
  const desk = { viewport: { width: 1360, height: 860 } };
  const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
  const all = [];
  for (const options of [{ ...desk, colorScheme: 'light' }, { ...phone, colorScheme: 'dark' }])
    all.push(...(await violations(browser, server.address, views, { ...options, act })));
  return all;
}

const pill = (word) => `.instance-title .pill:has-text("${word}")`;

test('a task is followed, steered, paused, answered, undone and continued', async (t) => {
  await server.post('tasks', { task: 'Choose a colour\nand write it down', id: 'colour', agent: 'worker' });
  const { page, close } = await visit(browser, server.address, '#/tasks', { expected: [/409/] });
  await page.click('.virtual-row:has-text("Choose a colour")');

  await t.test('its title is what was asked, and the agent at work is named', async () => {
    await page.waitForSelector('h1:has-text("Choose a colour")');
    await page.waitForSelector('.turn:has-text("I make the file.")');
    assert.match(await page.textContent('.head-facts'), /worker/);
  });

  await t.test('a permission shows the command, and is given', async () => {
    await page.waitForSelector('.talk-asks .ask-command:has-text("touch made.txt")');
    assert.equal(existsSync(file('made.txt')), false);
    const list = await visit(browser, server.address, '#/approvals');
    await list.page.waitForSelector('.ask-group:has-text("Choose a colour") .ask:has-text("touch made.txt") .ask-message:has-text("I make the file.")');
    assert.deepEqual(await found([['#/tasks/colour', '.talk-asks .ask-command'], ['#/approvals', '.ask-message']]), []);
    await page.click('.talk-asks >> text=Approve');
    await page.waitForSelector('.talk-asks h2:has-text("Which colour?")');
    assert.ok(existsSync(file('made.txt')));
    // It was answered on another page; the next request has the words before it.
    await list.page.waitForSelector('.ask:has-text("Which colour?") .ask-message:has-text("Now I need its colour.")');
    assert.equal(await list.page.locator('.ask').count(), 1);
    await list.close();
    assert.deepEqual(await found([['#/tasks/colour', '.talk-asks .ask-options'], ['#/approvals', '.ask-message']]), []);
  });

  await t.test('a message reaches the agent, and is in the conversation', async () => {
    await page.fill('.steer textarea', 'Use a capital letter');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.turn.kind-message:has-text("Use a capital letter")');
  });

  await t.test('it is paused and resumed', async () => {
    await page.click('.head-acts >> text=Pause');
    await page.waitForSelector(pill('paused'));
    await page.click('.head-acts >> text=Resume');
    await page.waitForSelector(pill('waiting for a person'));
  });

  await t.test('a question is answered by a suggestion', async () => {
    await page.click('.talk-asks .ask-options >> text=blue');
    await page.waitForSelector(pill('succeeded'));
    await page.waitForSelector('.turn:has-text("Both files are written.")');
  });

  await t.test('calls stand with their results, and edits show their lines', async () => {
    const call = page.locator('.turn.kind-calls:has-text("Bash touch made.txt")');
    assert.equal(await call.count(), 1);
    assert.equal(await page.locator('.turn.kind-gets').count(), 0, 'no result stands apart');
    // The line number is that of the file.
    await page.waitForSelector('.turn.kind-calls:has-text("Edit notes.md") .line.new:has-text("colour: Blue") [data-number="3"]');
  });

  await t.test('the changes are read, file by file, by step and side by side', async () => {
    await page.click('role=tab[name=/Changes/]');
    await page.waitForSelector('.file-row:has-text("notes.md")');
    assert.equal(await page.locator('.file-row').count(), 3);
    await page.click('.file-row:has-text("notes.md")');
    await page.waitForSelector('.file-diff .line.gone:has-text("colour: none")');
    await page.click('text=Side by side');
    await page.waitForSelector('.patch.split .patch-text.new:has-text("colour: Blue")');
    const step = await page.locator('.changes-bar select option:has-text("Write")').getAttribute('value');
    await page.selectOption('.changes-bar select', step);
    await page.waitForFunction(() => document.querySelectorAll('.file-row').length === 1);
    await page.waitForSelector('.file-row:has-text("colour.txt")');
    await page.selectOption('.changes-bar select', '');
    await page.waitForFunction(() => document.querySelectorAll('.file-row').length === 3);
    await page.click('text=Inline');
  });

  await t.test('they are undone, and done again', async () => {
    await page.click('.changes-bar button:has-text("Undo")');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('.changes >> text=every change was taken back');
    assert.equal(existsSync(file('colour.txt')), false);
    assert.match(readFileSync(file('notes.md'), 'utf8'), /colour: none/);
    await page.click('.changes-bar button:has-text("Redo")');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('.file-row:has-text("colour.txt")');
    assert.equal(readFileSync(file('colour.txt'), 'utf8'), 'Blue\n');
  });

  await t.test('a file that a person changed since is not overwritten', async () => {
    writeFileSync(file('notes.md'), '# Mine\n');
    await page.click('.changes-bar button:has-text("Undo")');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('dialog .problem:has-text("notes.md")');
    await page.keyboard.press('Escape');
    assert.equal(readFileSync(file('notes.md'), 'utf8'), '# Mine\n');
    assert.ok(existsSync(file('colour.txt')), 'nothing was undone');
  });

  await t.test('the chart shows the path taken; the whole chart fits, and the rest is faded', async () => {
    await page.click('role=tab[name=Chart]');
    await page.waitForFunction(() => {
      const shadow = document.querySelector('.drawing-content')?.shadowRoot;
      return shadow?.querySelector('[data-node="complete"]') && !shadow.querySelector('[data-node="at_limit"]');
    });
    await page.click('.task-extent >> text=Whole chart');
    await page.waitForFunction(() => {
      const shadow = document.querySelector('.drawing-content')?.shadowRoot;
      const off = shadow?.querySelector('[data-node="at_limit"]')?.classList.contains('off');
      return off && shadow.querySelector('[data-node="complete"]:not(.off)');
    });
    const [inner, outer] = await page.evaluate(() => {
      const box = (element) => element.getBoundingClientRect();
      return [box(document.querySelector('.drawing-content').shadowRoot.querySelector('svg')), box(document.querySelector('.drawing-frame'))].map(({ width, height }) => ({ width, height }));
    });
    assert.ok(inner.width <= outer.width && inner.height <= outer.height, JSON.stringify([inner, outer]));
  });

  await t.test('it is forked', async () => {
    await page.click('.head-acts >> text=Fork');
    await page.fill('dialog input', 'colour-again');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('.lineage:has-text("forked from colour")');
    await page.goBack();
    await page.waitForSelector('.crumbs:has-text("colour")');
  });

  await t.test('an ended task is followed up', async () => {
    await page.fill('.steer textarea', 'Now choose a shape');
    await page.click('.steer >> text=Continue');
    await page.waitForSelector('h1:has-text("Now choose a shape")');
    const id = decodeURIComponent(/tasks\/([^?]+)/.exec(page.url())[1]);
    assert.match((await server.get(`instances/${encodeURIComponent(id)}`)).context.task, /This continues an earlier task \(colour/);
  });
  await close();
});

test('a permission is given for good, and the rule is in the settings', async () => {
  await server.post('tasks', { task: 'Touch a file twice', id: 'touching', agent: 'toucher' });
  const { page, close } = await visit(browser, server.address, '#/tasks/touching');
  await page.waitForSelector('.talk-asks .ask-command:has-text("touch again.txt")');
  await page.click('.talk-asks >> text=Always allow');
  await page.waitForSelector('.turn:has-text("Touched twice.")');
  assert.match(readFileSync(join(root, 'own/rawko/config.yaml'), 'utf8'), /Bash\(touch again\.txt\)/);
  await close();
});

test('a limit is raised where a task stopped at it', async () => {
  await server.post('tasks', { task: 'Begin and finish', id: 'limited', agent: 'starter', max_iterations: 1 });
  const { page, close } = await visit(browser, server.address, '#/tasks/limited', { expected: [/422/] });
  await page.waitForSelector(pill('limit reached'));
  await page.click('.head-acts >> text=Raise limit');
  await page.fill('dialog input >> nth=0', '1');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('dialog .problem:has-text("1 iteration")');
  await page.fill('dialog input >> nth=0', '3');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.lineage:has-text("forked from limited")');
  await page.waitForSelector(pill('succeeded'));
  await page.waitForSelector('.turn:has-text("I have finished.")');
  await close();
});

const VIEWS = [
  ['#/tasks', '.virtual-row'],
  ['#/tasks/colour', '.turn.kind-calls'],
  ['#/tasks/colour?tab=overview', '.overview .agent-runs'],
  ['#/tasks/colour?tab=changes', '.file-diff .patch'],
  ['#/tasks/colour?tab=chart', '.drawing-content'],
  ['#/tasks/limited', '.warn-card, .turn'],
];

for (const scheme of ['light', 'dark']) {
  for (const [name, viewport] of [['a desk', { width: 1360, height: 860 }], ['a phone', { width: 360, height: 740 }]]) {
    test(`axe finds nothing on a task: ${scheme}, ${name}`, async () => {
      const phone = viewport.width < 500 ? { isMobile: true, hasTouch: true } : {};
      assert.deepEqual(await violations(browser, server.address, VIEWS, { colorScheme: scheme, viewport, ...phone }), []);
    });
  }
}

test('axe finds nothing in the dialogs of a task', async () => {
  const dialogs = [
    ['#/tasks/colour', '.head-acts >> text=Fork'],
    ['#/tasks/limited', '.head-acts >> text=Raise limit'],
    ['#/tasks/colour?tab=changes', '.changes-bar button:has-text("Undo")'],
  ];
  for (const [hash, button] of dialogs) {
    const act = (page) => page.click(button).then(() => page.waitForSelector('dialog'));
    assert.deepEqual(await found([[hash, '.instance-title .pill']], act), [], hash);
  }
});

for (const width of [360, 800, 1360]) {
  test(`the chart of a task has room at a width of ${width}`, async () => {
    const { page, close } = await visit(browser, server.address, '#/tasks/colour?tab=chart', { viewport: { width, height: 740 } });
    await page.waitForFunction(() => document.querySelector('.drawing-content')?.shadowRoot?.querySelector('.state'));
    const box = await page.locator('.task-chart .drawing-card').boundingBox();
    assert.ok(box.width > 250 && box.height > 150, JSON.stringify(box));
    await page.waitForFunction(() => {
      const tab = document.querySelector('[role=tab][aria-selected=true]').getBoundingClientRect();
      return tab.left >= 0 && tab.right <= innerWidth + 1;
    });
    await close();
  });
}

test('no task view is wider than a phone', async () => {
  const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
  const { page, close } = await visit(browser, server.address, '', phone);
  for (const [hash, ready] of VIEWS) {
    await page.goto(`${server.address}/${hash}`);
    await page.waitForSelector(ready);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, hash);
  }
  await close();
});
