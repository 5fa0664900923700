/** Must hold: a call is shown as a program with every digit of what was typed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readBody } from '../../src/dashboard/web/docs/body.ts'
import { snippet, streamCommand } from '../../src/dashboard/web/snippets.ts'

const TYPED =
  '{\n  "method": "m",\n  "params": { "nonce": 13546744073709551615, "rate": 0.10, "list": [1, {}], "none": null }\n}'

const shown = (language: Parameters<typeof snippet>[0], bodyText: string) =>
  snippet(
    language,
    {
      method: 'POST',
      template: '/rpc',
      pathParams: {},
      query: {},
      isList: false,
      body: readBody(bodyText).value,
      bodyText,
    },
    'http://x',
  )

test('integers of 64 bits keep their digits in every language', () => {
  assert.ok(shown('curl', TYPED).includes(`-d '${TYPED}'`))
  assert.match(shown('TypeScript', TYPED), /"nonce": 13546744073709551615n,\n {4}"rate": 0\.1,/)
  assert.match(
    shown('Python', TYPED),
    /"nonce": 13546744073709551615, "rate": 0\.1, "list": \[1, \{\}\], "none": None/,
  )
})

test('a body without such integers is written as JSON is', () => {
  const body = { a: [1, 'two', { b: null }], c: {}, d: [], 'e f': true }
  assert.ok(shown('TypeScript', JSON.stringify(body)).includes(`(${JSON.stringify(body, null, 2)})`))
})

test('the command for the stream takes the key from the same variable as all others, and stays connected', () => {
  assert.equal(
    streamCommand(`{"op":"subscribe","addresses":["it's"]}`, 'https://x'),
    `npx wscat -c "wss://x/v1/ws?api_key=$TAPELINE_KEY" -w 86400 -x '{"op":"subscribe","addresses":["it'\\''s"]}'`,
  )
})

test('text that is not JSON is a problem', () => {
  assert.deepEqual(readBody('{'), { problem: 'The body is not JSON.' })
})
