import { Client, Services } from "rawko-sdk";

const text = { type: "string" };
const draft = { type: "object", properties: { text }, required: ["text"] };
const published = { type: "object", properties: { url: text }, required: ["url"] };

const services = new Services(); // RAWKO_URL: address, RAWKO_TOKEN: identity
services.service("publish", { input: draft, output: published }, async ({ text }) => {
  return { url: `https://example.test/${text}` };
});

await services.start();
const article = await new Client().start("article", { topic: "greetings" });
console.log((await article.result()).url);
await services.stop();
