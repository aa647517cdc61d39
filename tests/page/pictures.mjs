// The pictures of the page in docs/pictures, taken from the real binary: `RAWKO_TRUST=all RAWKO_STATE_DIR=$(mktemp -d) RAWKO_BIN=…
// RAWKO_TOOLS=target/tools/browser node --experimental-default-type=module tests/page/pictures.mjs`. Not a test; here because it needs the
// same project, server and browser.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openBrowser, visit } from './support/browser.mjs';
import { project } from './support/project.mjs';
import { serve } from './support/server.mjs';

const OUT = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
const SIZE = { width: 1280, height: 800 };
const TASK = 'Leave punctuation out of slugs, and number those that are taken';

const NIGHTLY = `statechart:
  id: nightly_import
  version: "2.1.0"
  description: Fetches what suppliers sent, every night.
  initial: resting
  context: {runs: 0}
  states:
    resting:
      on: {RUN_NOW: importing, PAUSED: paused}
      after: {6h: importing}
    importing:
      after: {10m: resting}
    paused:
      on: {RESUMED: resting}
`;

const DOOR = `statechart:
  id: door
  version: "1.0.0"
  initial: closed
  context: {opened: 0}
  states:
    closed:
      on:
        OPENED:
          target: open
          actions: [count]
        LOCKED:
          target: locked
          guard: "context.opend > 3"
    open:
      on: {CLOSED: closed}
    locked:
      on: {UNLOCKED: closed}
    forgotten:
      on: {FOUND: closed}
  actions:
    count:
      type: assign
      context_updates: {opened: "context.opened + 1"}
`;

const SPEAKER = `import json, os, sys
LINES = {
    "importer": "Yesterday: the **supplier import** was fixed, 1,204 rows came in. Today: \`free_slug\`, which numbers a slug that is taken.",
    "ci": "All checks are green since 9:41. Two things from the review:\\n\\n- \`slug\` still keeps underscores\\n- the test for numbers is missing",
    "scribe": "Noted: the import is done; \`slug\` has two open points, and I keep them in the list of today.",
}
def say(**message):
    print(json.dumps(message), flush=True)
name = os.environ["RAWKO_AGENT"]
say(type="register", protocol=1, agent=name, observe=False)
asked = said = False
reported = set()
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "turn_granted":
        channel, turn = message["channel"], message["turn"]
        asked = asked or any(entry["kind"] == "person" for entry in message["messages"])
        reported.update(entry["from"] for entry in message["messages"] if entry["kind"] == "agent")
        # The scribe sums up what the others reported, and keeps the turn.
        is_due = name != "scribe" or len(reported - {name}) > 1
        if asked and is_due and not said:
            said = True
            say(type="message", channel=channel, turn=turn, text=LINES.get(name, "PASS"))
        if name != "scribe" or not said:
            say(type="turn_complete", channel=channel, turn=turn)
`;

const CHANNELS = `turns:
  defaultTimeoutSeconds: 300
  agents:
    importer: {command: [python3, speaker.py]}
    ci: {command: [python3, speaker.py]}
    scribe: {command: [python3, speaker.py]}
  channels:
    standup: {agents: [importer, ci, scribe]}
`;

function prepared() {
  const made = project({ channel: false });
  const config = join(made.root, '.rawko/config.yaml');
  const script = join(made.root, '.rawko/script.yaml');
  const change = (file, from, to) => writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
  change(config, 'providers:\n', 'providers:\n  prices: {demo/scripted: {input: 3, output: 15}}\n');
  change(config, /$/, CHANNELS);
  change(
    script,
    'text: I look at what is there.',
    'text: I look at what is there.\n      usage: {input_tokens: 4100, output_tokens: 180, cost_usd: 0.42}',
  );
  // The tester asks before it runs the tests.
  change(config, /$/, "permissions: {ask: ['Bash(python3:*)']}\n");
  made.write('.rawko/charts/nightly_import.yaml', NIGHTLY);
  made.write('speaker.py', SPEAKER);
  return made;
}

async function fill(server, made) {
  const order = (number, amount) =>
    server.post('instances', { chart: 'order', id: `order-${number}`, input: { amount } });
  const answer = (number, invoke, more) =>
    server.post(`instances/order-${number}/answer`, { invoke, approved: true, by: 'ada', ...more });
  const until = async (number, status) => {
    while ((await server.get(`instances/order-${number}`)).status !== status)
      await new Promise((resolve) => setTimeout(resolve, 100));
  };
  for (const [number, amount] of [
    [1040, 64],
    [1041, 18],
    [1042, 97],
    [1043, 250],
  ])
    await order(number, amount);
  await answer(1043, 'approval', { comment: 'a good customer' });
  await answer(1043, 'address', { data: { street: 'Main Road 1', carrier: 'Post' } });
  for (const number of [1040, 1041, 1042, 1043]) await until(number, 'ended');
  await server.post('instances', { chart: 'nightly_import', id: 'nightly-import' });
  made.write('card_service_is_down', '');
  await order(1044, 80);
  await until(1044, 'stalled');
  rmSync(join(made.root, 'card_service_is_down'));
  await order(1045, 480);
  await server.post('instances/order-1045/cancel', { reason: 'withdrawn' });
  await order(1046, 1250);
  await order(1047, 320);
  await answer(1047, 'approval', { by: 'bo' });
  await order(1048, 12);
  await order(1049, 45);
}

const made = prepared();
const server = await serve(made.root);
const browser = await openBrowser();

async function picture(name, hash, ready, { act, ...options } = {}) {
  const { page, close } = await visit(browser, server.address, hash, {
    viewport: SIZE,
    colorScheme: 'light',
    reducedMotion: 'no-preference',
    ...options,
  });
  await page.waitForSelector(ready);
  await act?.(page);
  await page.waitForTimeout(1200);
  const file = join(OUT, `page-${name}.png`);
  await page.screenshot({ path: file });
  process.stdout.write(`${name}: ${Math.round(statSync(file).size / 1024)} KB\n`);
  await close();
}

try {
  await fill(server, made);
  const task = (id, text, more) => server.post('tasks', { task: text, id, ...more });
  await task('changelog', 'Write the changelog of the release', { agent: 'planner', max_iterations: 1 });
  await task('links', 'Find dead links in the guide', { agent: 'planner', max_iterations: 2 });
  await server.post('instances/links/cancel', { reason: 'not now' });
  await task('slugs', TASK);
  await picture('task', '#/tasks/slugs', '.talk-asks .ask', { act: (page) => page.waitForSelector('.overview .agent-runs') });
  await picture('changes', '#/tasks/slugs?tab=changes', '.file-diff .patch', {
    viewport: { width: 1560, height: 860 },
    act: async (page) => {
      await page.click('text=Side by side');
      await page.waitForSelector('.patch.split');
    },
  });
  await picture('tasks', '#/tasks', '.virtual-row:has-text("changelog")');
  await picture('instances', '#/instances', '.virtual-row:has-text("order-1041")');
  await picture('step', '#/instances/order-1043?tab=step&step=2', '.story-lines li');
  await picture('approvals', '#/approvals', '.ask >> nth=2');
  await picture('approval', '#/instances/order-1047', '.ask', { colorScheme: 'dark' });
  await server.post('channels/standup/messages', { text: 'Good morning. What is new?', by: 'kim' });
  await picture('channel', '#/channels/standup', '.message.by-agent >> nth=2');
  await picture('chart', '#/charts/new', '.verdict', {
    act: async (page) => {
      await page.fill('.editor-text', DOOR);
      await page.waitForSelector('.finding:has-text("forgotten")');
      await page.click('h1');
    },
  });
  await picture('studio', '#/charts/order?tab=simulate', '.sim-line', {
    viewport: { width: 1560, height: 900 },
    act: async (page) => {
      const dialog = async (values) => {
        for (const [selector, value] of Object.entries(values)) await page.fill(`dialog ${selector}`, value);
        await page.click('dialog button[type=submit]');
        await page.waitForSelector('dialog', { state: 'detached' });
      };
      await page.click('.simulator >> text=Input…');
      await dialog({ textarea: '{"amount": 250}' });
      await page.waitForSelector('.sim-line:has-text("asking")');
      await page.click('role=button[name="Done… approval"]');
      await dialog({ textarea: '{"approved": true, "by": "ada"}' });
      await page.waitForSelector('.sim-line[aria-current=step]:has-text("addressing")');
    },
  });
  await picture('suggestions', '#/charts/order', '.verdict', {
    colorScheme: 'dark',
    act: async (page) => {
      const text = await page.inputValue('.editor-text');
      await page.fill('.editor-text', text.replace('    charging:\n', '    charging:\n      on: {CANCELLED: re}\n'));
      await page.waitForSelector('.finding');
      await page.evaluate(() => {
        const area = document.querySelector('.editor-text');
        const at = area.value.indexOf('CANCELLED: re') + 'CANCELLED: re'.length;
        area.focus();
        area.setSelectionRange(at, at);
        area.scrollTop = 440;
      });
      await page.waitForTimeout(300);
      await page.keyboard.press('Control+Space');
      await page.waitForSelector('.hints [role=option]');
    },
  });
  await picture('agent', '#/agents/developer', '.agent-page .card >> nth=2');
} finally {
  await browser.close();
  await server.stop();
  made.remove();
}
