// Follows a task while its agent writes, and continues it; prints the streamed text and the outcomes.
import { Client } from "rawko-sdk";

async function streamed(run) {
  let text = "";
  for await (const event of run) text += event.text ?? "";
  return text;
}

const client = new Client();
const run = await client.task("Write about greetings", { agent: "writer", max_iterations: 3 });
console.log("streamed", await streamed(run));
await run.result();
console.log("task", (await run.get()).outcome);
const continued = await run.say("Make it shorter");
console.log("streamed", await streamed(continued));
await continued.result();
console.log("continued", (await continued.get()).outcome);
