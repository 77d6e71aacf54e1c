// A model that proposes a refund, then says what came of it. It needs no network.
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { defineAgent } from "eve";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function answer(prompt) {
  const results = prompt.filter((message) => message.role === "tool").flatMap((message) => message.content);
  const result = results.find((part) => part.type === "tool-result");
  if (!result) {
    const input = JSON.stringify({ chargeId: "ch_1", amount: 12.5 });
    const call = { type: "tool-call", toolCallId: "call_1", toolName: "refund", input };
    return { content: [call], finishReason: { unified: "tool-calls", raw: undefined } };
  }
  const text = `It came to ${JSON.stringify(result.output)}`;
  return { content: [{ type: "text", text }], finishReason: { unified: "stop", raw: undefined } };
}

function chunks({ content, finishReason }) {
  const parts = content.flatMap((part) =>
    part.type === "text"
      ? [
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: part.text },
          { type: "text-end", id: "1" },
        ]
      : [part],
  );
  return [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }];
}

export default defineAgent({
  modelContextWindowTokens: 100_000,
  model: new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => ({ ...answer(prompt), usage, warnings: [] }),
    doStream: async ({ prompt }) => ({ stream: simulateReadableStream({ chunks: chunks(answer(prompt)) }) }),
  }),
});
