// The AI SDK with both of its providers of this protocol against a server. Its loop runs every tool
// that a response names.
//
// node ai_sdk.mjs BASE_URL KEY FOLDER, where `ai` and the providers are installed in FOLDER.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const [baseURL, apiKey, folder] = process.argv.slice(2)
const { resolve } = createRequire(path.resolve(folder, 'package.json'))
const load = (name) => import(pathToFileURL(resolve(name)))
const { generateText, jsonSchema, stepCountIs, streamText, tool } = await load('ai')
const { createOpenAI } = await load('@ai-sdk/openai')
const { createOpenResponses } = await load('@ai-sdk/open-responses')

const request = (scenario) =>
  JSON.stringify({ mode: 'run', target_date: '2026-10-16', dry_run: false, scenario })
const inputSchema = jsonSchema({ type: 'object', properties: {} })
let calls = []
const mine = (name) =>
  tool({ description: `The caller's ${name}.`, inputSchema, execute: () => calls.push(name) })

// What is sent with an answer: the provider for Open Responses has no previous_response_id.
let sending = {}
const named = async (url, options) => {
  const body = { ...JSON.parse(options.body), ...sending }
  if (sending.previous_response_id) body.input = body.input.slice(-1)
  return fetch(url, { ...options, body: JSON.stringify(body) })
}
const openai = createOpenAI({ baseURL, apiKey })
const openResponses = createOpenResponses({
  name: 'needsYou',
  url: `${baseURL}/responses`,
  apiKey,
  fetch: named,
})
const models = { openai: openai.responses('caller'), open_responses: openResponses('caller') }
const once = { maxRetries: 0 }
const asked = (found, name) => {
  const item = found.toolCalls.find((call) => call.toolName === name)
  assert.ok(item, `no ${name} among ${JSON.stringify(found.toolCalls)}`)
  return item
}

async function plainTurn(model) {
  const found = await generateText({ model, ...once, prompt: request('plain') })
  assert.match(found.text, /Nothing to decide/)
  const streamed = streamText({ model, ...once, system: 'Be brief.', prompt: request('plain') })
  assert.match(await streamed.text, /Nothing to decide/)
}

async function collidingTool(model) {
  const options = {
    model,
    ...once,
    tools: { load_ledger: mine('load_ledger') },
    stopWhen: stepCountIs(5),
    prompt: request('plain'),
  }
  const found = await generateText(options)
  assert.equal(found.steps.length, 1)
  assert.match(found.text, /Nothing to decide/)
  const streamed = streamText(options)
  assert.match(await streamed.text, /Nothing to decide/)
  assert.equal((await streamed.steps).length, 1)
  await generateText({ ...options, toolChoice: 'none' })
  assert.deepEqual(calls, [])
}

// A person decides outside of the loop: the tool has no code to run.
async function answeredCall(model, scenario, name, outputOf, expected) {
  const tools = { [name]: tool({ inputSchema }), load_ledger: mine('load_ledger') }
  const found = await generateText({ model, ...once, tools, prompt: request(scenario) })
  const call = asked(found, name)
  const previous = found.response.id ?? found.providerMetadata?.openai?.responseId
  const result = {
    type: 'tool-result',
    toolCallId: call.toolCallId,
    toolName: name,
    output: { type: 'text', value: outputOf(call.input) },
  }
  sending = { previous_response_id: previous }
  const done = await generateText({
    model,
    ...once,
    tools,
    messages: [
      { role: 'assistant', content: [{ type: 'tool-call', ...idOf(call), input: call.input }] },
      { role: 'tool', content: [result] },
    ],
    providerOptions: { openai: { previousResponseId: previous } },
  })
  sending = {}
  assert.match(done.text, expected)
  assert.deepEqual(calls, [])
}
const idOf = ({ toolCallId, toolName }) => ({ toolCallId, toolName })

const question = (model) =>
  answeredCall(model, 'ask', 'request_info', () => 'EU', /Reconciled EU for 2026-10-16/)
const approval = (model) =>
  answeredCall(
    model,
    'approve',
    'request_approval',
    ({ binding }) => JSON.stringify({ decision: 'Approve', binding }),
    /Reconciled Approve/,
  )

// The SDK's own approvals: it sends the answer with a reference to the request, and no other id.
async function approvalOfTheSdk(model) {
  const serverUrl = 'https://needs-you.invalid'
  const tools = {
    pay: openai.tools.mcp({ serverLabel: 'needs-you', serverUrl, requireApproval: 'always' }),
  }
  const prompt = { role: 'user', content: request('approve') }
  const found = await generateText({ model, ...once, tools, messages: [prompt] })
  const asks = found.content.find((part) => part.type === 'tool-approval-request')
  assert.ok(asks, JSON.stringify(found.content))
  const response = {
    type: 'tool-approval-response',
    approvalId: asks.approvalId,
    approved: true,
    providerExecuted: true,
  }
  const messages = [prompt, ...found.response.messages, { role: 'tool', content: [response] }]
  const done = await generateText({ model, ...once, tools, messages })
  assert.match(done.text, /Reconciled Approve/)
}

const checks = { plainTurn, collidingTool, question, approval, approvalOfTheSdk }
for (const [provider, model] of Object.entries(models)) {
  for (const [name, check] of Object.entries(checks)) {
    if (check === approvalOfTheSdk && provider !== 'openai') continue
    calls = []
    await check(model)
    console.log(`ok   ai_sdk_${provider}_${name}`)
  }
}
