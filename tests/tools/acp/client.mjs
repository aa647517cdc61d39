// An editor for tests: drives `rawko acp` with the official client library. Usage:
//   node client.mjs LIBRARY RAWKO DIRECTORY STEPS
// STEPS is a JSON list: {"new": true}, {"load": ID}, {"prompt": TEXT, "answers": [OPTION, "dismiss" or "fail"…], "killAt": "permission",
// "cancelAt": "tool_call"}. Prints one JSON object: what each step led to.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [library, rawko, cwd, text] = process.argv.slice(2);
const acp = await import(pathToFileURL(library).href);
const { agent: toAgent, client: toClient } = acp.methods;
const results = [];
let session = null;
let child = null;
let current = null;

async function connected(work) {
  child = spawn(rawko, ["acp"], { cwd, stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  await acp
    .client({ name: "editor" })
    .onRequest(toClient.session.requestPermission, ({ params }) => permission(params))
    .onNotification(toClient.session.update, ({ params }) => update(params))
    .connectWith(stream, async (agent) => {
      const about = await agent.request(toAgent.initialize, {
        protocolVersion: acp.PROTOCOL_VERSION,
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      });
      results.push({ initialized: about });
      await work(agent);
    });
  child.stdin.end();
  results.push({ exit: await ended });
}

async function permission(params) {
  current.permissions.push(params);
  if (current.step.killAt === "permission") {
    child.kill("SIGKILL");
    return await new Promise(() => {});
  }
  if (current.step.cancelAt === "permission") {
    current.agent.notify(toAgent.session.cancel, { sessionId: session });
    return { outcome: { outcome: "cancelled" } };
  }
  const wanted = current.step.answers?.[current.permissions.length - 1] ?? "reject";
  if (wanted === "dismiss") return { outcome: { outcome: "cancelled" } };
  if (wanted === "fail") throw new Error("this client has no dialog");
  return { outcome: { outcome: "selected", optionId: wanted } };
}

function update(params) {
  current.updates.push(params.update);
  if (current.step.cancelAt === params.update.sessionUpdate && !current.isCancelled) {
    current.isCancelled = true;
    current.agent.notify(toAgent.session.cancel, { sessionId: session });
  }
}

async function play(agent, step) {
  current = { step, agent, updates: [], permissions: [] };
  const result = { updates: current.updates, permissions: current.permissions };
  try {
    if (step.new) {
      session = (await agent.request(toAgent.session.new, { cwd, mcpServers: [] })).sessionId;
    } else if (step.load) {
      session = step.load;
      result.response = await agent.request(toAgent.session.load, { sessionId: session, cwd, mcpServers: [] });
    } else {
      const prompt = [{ type: "text", text: step.prompt }];
      result.response = await agent.request(toAgent.session.prompt, { sessionId: session, prompt });
    }
  } catch (error) {
    result.error = { code: error.code ?? null, message: String(error.message ?? error) };
  }
  result.session = session;
  results.push(result);
}

try {
  await connected(async (agent) => {
    for (const step of JSON.parse(text)) {
      await play(agent, step);
    }
  });
} catch (error) {
  results.push({ closed: String(error.message ?? error) });
}
console.log(JSON.stringify(results));
process.exit(0);
