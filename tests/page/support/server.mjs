// `rawko serve` as a real process. Apart, because tests stop it and start it again.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { RAWKO } from './project.mjs';

const PATIENCE_MS = 60_000;

/** A port that nobody listens on; a restart must have the same. */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

export async function serve(root, { port = null, env = {}, words = [] } = {}) {
  const own = port ?? (await freePort());
  const address = `http://127.0.0.1:${own}`;
  const child = spawn(RAWKO, ['serve', '--listen', `127.0.0.1:${own}`, ...words], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said = (said + text).slice(-20_000)));
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  await answering(address, child, () => said);
  return {
    address,
    port: own,
    said: () => said,
    /** Ends it as a person or a service manager would. */
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return ended;
    },
    post: (path, body) => ask(`${address}/v1/${path}`, body),
    get: (path) => ask(`${address}/v1/${path}`),
  };
}

async function answering(address, child, said) {
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    if (child.exitCode !== null) throw new Error(`rawko serve ended with ${child.exitCode}: ${said()}`);
    const answer = await fetch(`${address}/v1/health`).catch(() => null);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`rawko serve does not answer: ${said()}`);
}

async function ask(address, body) {
  const request =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(address, request);
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}
