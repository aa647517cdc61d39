// A typed service that agents call as a tool. It writes down every call with its key.
import { appendFileSync } from "node:fs";

import { Services } from "rawko-sdk";

const text = (key) => ({ type: "object", properties: { [key]: { type: "string" } }, required: [key] });

function weather(place, call) {
  appendFileSync("calls.txt", `${place.city} ${call.key}\n`);
  return { sky: `rain in ${place.city}` };
}

await new Services({ name: "weather" }).service("weather", { input: text("city"), output: text("sky") }, weather).run();
