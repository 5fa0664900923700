/** No single request or message blocks others, whatever it contains. `npm run bench` has the tight bound. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { measureHolds } from '../fakes/loop-hold.ts'

const SEED = Number(process.env.TAPELINE_SOAK_SEED ?? randomBytes(4).readUInt32LE())
const SOAK = process.env.TAPELINE_SOAK === 'on'
/** A loose bound: the code is not compiled yet, and the machine is shared. */
const MAX_HOLD_MS = 100

test(`no hostile input holds the loop, and none gets a long answer (seed ${SEED})`, async () => {
  const holds = await measureHolds(SEED, SOAK ? 5 : 3, SOAK ? 0 : MAX_HOLD_MS)
  const long = holds.filter(({ ms }) => ms > MAX_HOLD_MS)
  assert.deepEqual(
    long.map(({ name, ms }) => `${name}: ${ms.toFixed(0)} ms`),
    [],
  )
  for (const { name, outcome, maxAnswerChars = Number.POSITIVE_INFINITY } of holds) {
    assert.doesNotMatch(outcome, /^(failed|5(?!03))/, `${name}: ${outcome}`)
    const [, chars] = /^\d{3} (\d+)/.exec(outcome) ?? []
    assert.ok(Number(chars ?? 0) <= maxAnswerChars, `${name}: an answer of ${chars} characters`)
  }
})
