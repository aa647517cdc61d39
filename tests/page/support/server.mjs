// `rawko serve` as a real process; with RAWKO_HOST=restate, a worker beside it. Apart, because tests stop it and start it again.
import { spawn } from 'node:child_process';
import { after } from 'node:test';
import { RAWKO, token } from './project.mjs';

const PATIENCE_MS = 60_000;

/** A process of the binary that works in a project, and what it has said. */
function start(root, words, env) {
  const child = spawn(RAWKO, words, { cwd: root, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said = (said + text).slice(-20_000)));
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  return {
    child,
    said: () => said,
    /** Ends it as a person or a service manager would. */
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return ended;
    },
  };
}

/** The workers of projects on Restate: they outlive the page's server, as they would anywhere. */
const workers = new Map();
after(() => Promise.all([...workers.values()].map(({ stop }) => stop())));

/** Takes the steps of instances on Restate; whoever serves the page does not. */
export async function startWorker(root, port = 0) {
  const { child, said, stop } = start(root, ['worker', '--listen', `127.0.0.1:${port}`], {});
  await until(child, said, 'rawko worker does not register', async () => said().includes('registered'));
  const worker = { port: Number(/ at http:\/\/127\.0\.0\.1:(\d+)/.exec(said())[1]), said, stop };
  workers.set(root, worker);
  return worker;
}

/** Serves a project, on a port that is free unless one is given: a restart must have the same. */
export async function serve(root, { port = 0, env = {}, words = [] } = {}) {
  if (process.env.RAWKO_HOST === 'restate' && !workers.has(root)) await startWorker(root);
  const { child, said, stop } = start(root, ['serve', '--listen', `127.0.0.1:${port}`, ...words], env);
  let address = null;
  await until(child, said, 'rawko serve does not answer', async () => {
    address = /^(http:\/\/127\.0\.0\.1:\d+)\n/m.exec(said())?.[1] ?? null;
    const answer = address && (await fetch(`${address}/v1/health`).catch(() => null));
    return answer?.ok;
  });
  return {
    address,
    port: Number(new URL(address).port),
    said,
    stop,
    worker: () => workers.get(root),
    post: (path, body) => ask(`${address}/v1/${path}`, body),
    get: (path) => ask(`${address}/v1/${path}`),
  };
}

async function until(child, said, trouble, isSo) {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${said()}`);
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${trouble}: ${said()}`);
}

async function ask(address, body) {
  const headers = { Authorization: `Bearer ${token()}`, 'Content-Type': 'application/json' };
  const request = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(address, request);
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}
