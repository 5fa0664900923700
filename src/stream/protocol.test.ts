import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVENT_KINDS } from '../events/kinds.ts'
import { readMessage } from './protocol.ts'

async function faultsOf(text: string): Promise<string[]> {
  const read = await readMessage(text)
  return read.ok ? [] : read.faults.map(({ message }) => message)
}

const subscribe = (members: string) => `{"op":"subscribe","kinds":["block_added"],${members}}`
const LONG = '12345678901234567890'

test('resume_after is a whole number from 0 to 2^53, and nothing that only looks like one', async () => {
  const allowed = 'resume_after must be the seq of an event: a whole number from 0 to 9007199254740991.'
  for (const text of [
    '1e300',
    '-1',
    '0.5',
    LONG,
    '9007199254740992',
    `"5"`,
    '""',
    '[]',
    '[5]',
    '{}',
    'true',
  ]) {
    assert.deepEqual(await faultsOf(subscribe(`"resume_after":${text}`)), [allowed], text)
  }
  for (const text of ['0', '5', '9007199254740991', '1e3', 'null']) {
    assert.deepEqual(await faultsOf(subscribe(`"resume_after":${text}`)), [], text)
  }
})

test('an integer above 2^53 does not pass for the text of its digits', async () => {
  const faults = await faultsOf(`{"op":"subscribe","id":${LONG},"kinds":[${LONG}],"addresses":[${LONG}]}`)
  assert.deepEqual(faults, [
    'id must have 1 to 64 visible ASCII characters.',
    `kinds must be an array with at least one of ${EVENT_KINDS.join(', ')}.`,
    'addresses must be an array of texts.',
  ])
  assert.deepEqual(await faultsOf(`{"op":"ping","id":${LONG}}`), [faults[0]])
  assert.deepEqual(await faultsOf(`{"op":"ping","id":"${LONG}"}`), [])
})

test('a message has no more values than addresses fit into it', async () => {
  const address = `"kaspa:${'q'.repeat(61)}"`
  const count = Math.floor((1024 * 1024 - 100) / (address.length + 1))
  const full = subscribe(`"addresses":[${Array.from({ length: count }, () => address).join(',')}]`)
  assert.deepEqual(await faultsOf(full), [])
  const [fault, ...others] = await faultsOf(subscribe(`"addresses":[${'{},'.repeat(20_000)}{}]`))
  assert.match(fault ?? '', /more than 16384 values/)
  assert.deepEqual(others, [])
})

test('a message without kinds, or with another operation, is told what is allowed', async () => {
  for (const kinds of ['', ',"kinds":null', ',"kinds":"block_added"', ',"kinds":[5]']) {
    const read = await readMessage(`{"op":"subscribe"${kinds}}`)
    const [fault, ...others] = read.ok ? [] : read.faults
    assert.deepEqual([fault?.param, fault?.allowed, others], ['kinds', EVENT_KINDS, []], kinds)
    assert.match(fault?.message ?? '', /^kinds must be .*block_added/)
  }
  const read = await readMessage('{"op":"resume"}')
  assert.deepEqual(read.ok ? [] : read.faults.map(({ param, allowed }) => [param, allowed]), [
    ['op', ['subscribe', 'unsubscribe', 'ping']],
  ])
})
