import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TSchema, Type } from 'typebox'
import { ApiError } from '../core/errors.ts'
import { BUILT_IN_PLANS } from '../core/plan.ts'
import { readRequestBody } from './read-body.ts'

const [plan] = BUILT_IN_PLANS
const Amount = Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^[0-9]{1,20}$' })])
const Thing = Type.Object(
  {
    hash: Type.Optional(Type.String({ pattern: '^[0-9a-f]{20}$' })),
    amount: Type.Optional(Amount),
    count: Type.Optional(Type.Integer()),
    share: Type.Optional(Type.Number()),
    time: Type.Optional(Type.Union([Type.String(), Type.Number()])),
    flag: Type.Optional(Type.Boolean()),
    list: Type.Optional(Type.Array(Type.Object({ amount: Amount, name: Type.Optional(Type.String()) }))),
  },
  { additionalProperties: false },
)

function read(text: string, schema: TSchema = Thing): unknown {
  if (plan === undefined) throw new Error('no plan')
  const sent = { contentType: 'application/json', contentEncoding: undefined, body: Buffer.from(text), plan }
  return readRequestBody({ name: 'Thing', schema, example: {} }, sent, {})
}

const LONG = '12345678901234567890'

test('an integer above 2^53 is precise where a number or decimal text is taken', () => {
  assert.deepEqual(read(`{"amount":${LONG}}`), { amount: LONG })
  assert.deepEqual(read(`{"amount":9007199254740993}`), { amount: '9007199254740993' })
  assert.deepEqual(read(`{"amount":9007199254740991}`), { amount: 9007199254740991 })
  assert.deepEqual(read(`{"list":[{"amount":1},{"amount":${LONG}}]}`), {
    list: [{ amount: 1 }, { amount: LONG }],
  })
})

test('anywhere else it is refused with its name, and does not pass for text', () => {
  const places = {
    hash: `{"hash":${LONG}}`,
    count: `{"count":${LONG}}`,
    share: `{"share":${LONG}}`,
    time: `{"time":${LONG}}`,
    flag: `{"flag":${LONG}}`,
    amount: `{"amount":-${LONG}}`,
    'list.0.name': `{"list":[{"amount":1,"name":${LONG}}]}`,
    list: `{"list":${LONG}}`,
    other: `{"other":${LONG}}`,
    body: LONG,
  }
  for (const [param, text] of Object.entries(places)) {
    assert.throws(
      () => read(text),
      (error) => error instanceof ApiError && error.kind === 'invalid_param' && error.detail.param === param,
      text,
    )
  }
  assert.equal((read(`{"hash":"${LONG}"}`) as { hash: string }).hash, LONG)
})

test('a body with too many values is refused without its items being read', async () => {
  const text = `{"list":[${'{},'.repeat(100_000)}{}]}`
  const sent = { contentType: 'application/json', contentEncoding: undefined, body: Buffer.from(text) }
  assert.ok(plan)
  const spec = { name: 'Thing', schema: Thing, example: {}, maxBytes: () => 1024 * 1024 }
  await assert.rejects(async () => readRequestBody(spec, { ...sent, plan }, {}), /more than 65536 values/)
})
