import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PlanFileError } from './plan-file.ts'
import { planBook } from './plans.ts'

const refused = (file: unknown) => {
  try {
    planBook(file)
  } catch (error) {
    assert.ok(error instanceof PlanFileError)
    return error.message
  }
  return undefined
}
const entry = (fields: object) => ({ plans: [{ name: 'team', extends: 'business', ...fields }] })

test('a plan of the file states what differs from the one that it extends', () => {
  const plans = planBook(
    entry({ requestsPerSecond: 7, historyDays: { trades: null, candles: 3 }, finestCandle: '1h' }),
  )
  const { historyDays, ...team } = plans.get('team')
  const { historyDays: parentDays, ...parent } = plans.get('business')
  assert.deepEqual(team, {
    ...parent,
    name: 'team',
    requestsPerSecond: 7,
    requestsPerMinute: 420,
    finestCandle: '1h',
  })
  assert.deepEqual(historyDays, { ...parentDays, trades: null, candles: 3 })
})

test('a rate per minute is inherited, unless the plan has a rate of its own', () => {
  const plans = planBook({
    plans: [
      { name: 'slow', extends: 'free', requestsPerSecond: 3, requestsPerMinute: 5 },
      { name: 'slower', extends: 'slow', creditsPerMonth: 7 },
      { name: 'fast', extends: 'slow', requestsPerSecond: 10 },
    ],
  })
  const perMinute = (name: string) => plans.get(name).requestsPerMinute
  assert.deepEqual(['slow', 'slower', 'fast'].map(perMinute), [5, 5, 600])
})

test('every field of the file is checked, and a fault names its place', () => {
  const faults: [object | string | null, RegExp][] = [
    [null, /^plans file: \/ must be an object$/],
    [[], /^plans file: \/ must be an object$/],
    ['plans', /^plans file: \/ must be an object$/],
    [{}, /^plans file: \/ needs plans$/],
    [{ plans: {} }, /^plans file: \/plans must be an array$/],
    [{ plans: [], more: 1 }, /^plans file: \/more is not known$/],
    [{ plans: [null] }, /^plans file: \/plans\/0 must be an object$/],
    [{ plans: [{ tier: 'pro' }] }, /^plans file: \/plans\/0 needs name$/],
    [{ plans: [{ name: 'free' }, { name: 'Gold' }] }, /^plans file: \/plans\/1\/name must be a text like /],
    [{ plans: [{ name: 'new' }] }, /plan "new" extends "new", which is none of free, developer, business$/],
    [entry({ extends: 7 }), /\/plans\/0\/extends must be a text/],
    [entry({ tier: 'gold' }), /\/plans\/0\/tier must be one of free, pro, business$/],
    [entry({ creditsPerMonth: -1 }), /\/plans\/0\/creditsPerMonth must be an integer from 0 to /],
    [entry({ creditsPerMonth: 2 ** 53 }), /creditsPerMonth must be an integer/],
    [entry({ creditsPerMonth: '5' }), /creditsPerMonth must be an integer/],
    [entry({ requestsPerSecond: 0 }), /requestsPerSecond must be an integer from 1 to 100000$/],
    [entry({ requestsPerSecond: 1.5 }), /requestsPerSecond must be an integer/],
    [entry({ requestsPerMinute: 6_000_001 }), /requestsPerMinute must be an integer from 1 to 6000000$/],
    [entry({ maxRowsPerRequest: 10_001 }), /maxRowsPerRequest must be an integer from 1 to 10000$/],
    [entry({ historyDays: { rows: 1 } }), /\/plans\/0\/historyDays\/rows is not known$/],
    [entry({ historyDays: { trades: -1 } }), /\/plans\/0\/historyDays\/trades must be an integer from 0 to /],
    [entry({ historyDays: [] }), /\/plans\/0\/historyDays must be an object$/],
    [entry({ finestCandle: '2h' }), /\/plans\/0\/finestCandle must be one of /],
    [entry({ webhookAddresses: null }), /\/plans\/0\/webhookAddresses must be an integer/],
    [entry({ constructor: 1 }), /\/plans\/0\/constructor is not known$/],
  ]
  for (const [file, message] of faults) assert.match(String(refused(file)), message, JSON.stringify(file))
  assert.equal(refused(undefined), undefined)
  assert.equal(refused({ plans: [] }), undefined)
})
