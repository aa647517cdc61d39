// A project for the tests of the page: the demo with its agents, an order that asks a person, a channel with an agent that
// is a real process. Apart, so that every test says only what it is about.
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const RAWKO = process.env.RAWKO_BIN;

const ORDER = `statechart:
  id: order
  version: "1.0.0"
  description: Large orders are asked about, then the card is charged.
  initial: checking
  context: {amount: 0, approver: null, receipt: null, street: null}
  states:
    checking:
      always:
        - {target: charging, guard: context.amount <= 100}
        - target: asking
    asking:
      invoke:
        id: approval
        src: human
        input: {title: "'Pay ' + string(context.amount) + '?'", customer: "'Ada'", expires: "'24h'"}
        onDone:
          - {target: addressing, guard: event.data.approved, actions: [remember_approver]}
          - {target: rejected, actions: [remember_approver]}
        onError: rejected
      on: {WITHDRAWN: rejected}
    addressing:
      invoke:
        id: address
        src: human
        input:
          title: "'Where to?'"
          form: >-
            {type: 'object', required: ['street', 'carrier'], properties: {street: {type: 'string', title: 'Street'},
            floor: {type: 'integer', minimum: 0}, carrier: {enum: ['Post', 'Parcel']}, express: {type: 'boolean'}}}
        onDone:
          target: charging
          actions:
            - {type: assign, context_updates: {street: event.data.data.street}}
        onError: rejected
    charging:
      invoke:
        id: payment
        src: charge_card
        input: {amount: context.amount}
        onDone:
          target: paid
          actions:
            - {type: assign, context_updates: {receipt: event.data.receipt}}
    paid: {type: final, output: {receipt: context.receipt}}
    rejected: {type: final, output: {by: context.approver}}
  actions:
    remember_approver: {type: assign, context_updates: {approver: event.data.by}}
`;

const CHARGE = `import json, os, sys, time
call = json.load(sys.stdin)
while os.path.exists("card_service_is_slow"):
    time.sleep(0.05)
if os.path.exists("card_service_is_down"):
    sys.exit("no route to the card service")
print(json.dumps({"receipt": "r-" + str(call["input"]["amount"])}))
`;

const COUNTER = `statechart:
  id: counter
  version: "1.0.0"
  initial: counting
  context: {count: 0}
  states:
    counting:
      on:
        COUNTED:
          actions:
            - {type: assign, context_updates: {count: context.count + 1}}
        STOPPED: stopped
      after:
        1h: stopped
    stopped: {type: final}
`;

/** Echoes what people say, and ends its turn. */
const ECHO = `import json, os, sys
def say(**message):
    print(json.dumps(message), flush=True)
say(type="register", protocol=1, agent=os.environ["RAWKO_AGENT"], observe=False)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "turn_granted":
        channel, turn = message["channel"], message["turn"]
        heard = [entry["text"] for entry in message["messages"] if entry["kind"] == "person"]
        if heard:
            say(type="message", channel=channel, turn=turn, text="I heard \`" + heard[-1] + "\`.")
        say(type="turn_complete", channel=channel, turn=turn)
`;

const SETTINGS = `
services:
  charge_card: {command: [python3, charge_card.py], on_restart: retry}
`;

const CHANNEL = `turns:
  agents:
    echo: {command: [python3, echo.py]}
  channels:
    standup: {agents: [echo]}
`;

/** Makes a project in a directory of its own; a channel is an instance, too, so some want none. `remove` takes it away again. */
export function project({ channel = true } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'rawko-page-'));
  const write = (name, text) => writeFileSync(join(root, name), text);
  rawko(root, 'init', '--demo', '.');
  mkdirSync(join(root, '.rawko/charts'), { recursive: true });
  write('.rawko/charts/order.yaml', ORDER);
  write('.rawko/charts/counter.yaml', COUNTER);
  write('charge_card.py', CHARGE);
  write('echo.py', ECHO);
  const config = join(root, '.rawko/config.yaml');
  execFileSync('sed', ['-i', 's/allow: \\["agent:\\*", /allow: ["charge_card", "agent:*", /', config]);
  appendFileSync(config, SETTINGS + (channel ? CHANNEL : ''));
  return { root, write, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** The operator's token, once a command has created it. */
export const token = () => readFileSync(join(process.env.RAWKO_STATE_DIR, 'operator.token'), 'utf8').trim();

/** Runs the binary in a project. */
export function rawko(root, ...words) {
  return execFileSync(RAWKO, words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
