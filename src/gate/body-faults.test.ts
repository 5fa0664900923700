import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { faultsError } from '../core/errors.ts'
import { bodyFaults } from './body-faults.ts'

const Thing = Type.Object(
  {
    name: Type.String({ maxLength: 5 }),
    kind: Type.Optional(Type.Union([Type.Literal('a'), Type.Literal('b')])),
    list: Type.Array(Type.Object({ n: Type.Integer({ minimum: 0 }) }), { maxItems: 1_000 }),
  },
  { additionalProperties: false },
)
const paramsOf = (value: unknown) => bodyFaults(Thing, value).map(({ param }) => param)

test('a body that fits has no fault; each fault of another is named with its place', () => {
  assert.deepEqual(bodyFaults(Thing, { name: 'x', list: [{ n: 1 }] }), [])
  const wrong = { name: 'too long', kind: 'c', list: [{ n: 1 }, { n: -1 }, {}, 5], more: 1 }
  assert.deepEqual(paramsOf(wrong).sort(), ['kind', 'list.1.n', 'list.2.n', 'list.3', 'more', 'name'])
  assert.deepEqual(bodyFaults(Thing, wrong).find(({ param }) => param === 'kind')?.allowed, ['a', 'b'])
  assert.deepEqual(paramsOf({}).sort(), ['list', 'name'])
  assert.deepEqual(paramsOf([]), ['body'])
})

test('a list that is too long is one fault, and none of its entries is checked', () => {
  let looks = 0
  const entry = {
    get n() {
      looks++
      return -1
    },
  }
  const faults = bodyFaults(Thing, { name: 'x', list: new Array(200_000).fill(entry) })
  assert.deepEqual(
    faults.map(({ message }) => message),
    ['list has 200000 entries; at most 1000 are allowed.'],
  )
  assert.equal(looks, 0)
})

test('checking stops at 20 faults, and the error reports that', () => {
  let looks = 0
  const entry = {
    get n() {
      looks++
      return -1
    },
  }
  const faults = bodyFaults(Thing, { name: 'x', list: new Array(1_000).fill(entry) })
  assert.equal(faults.length, 20)
  assert.ok(looks < 200, `${looks} looks at entries`)
  const { message, detail } = faultsError(faults)
  assert.match(message, /Checking stopped after 20 faults: there may be more\.$/)
  assert.equal(detail.checking_stopped, true)
  assert.equal(faultsError(faults.slice(0, 19)).detail.checking_stopped, undefined)
})
