import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { ApiError } from '../../core/errors.ts'
import { createBodyMemory } from './body-memory.ts'
import { collectBody } from './collect-body.ts'

const KILOBYTE = 1_024
const BODY = 64 * KILOBYTE

/** A body that has arrived except for its last byte. */
function unfinished(bytes: number): Readable {
  const stream = new Readable({ read() {} })
  stream.push(Buffer.alloc(bytes - 1))
  return stream
}

const isRefused = (error: unknown) => error instanceof ApiError && error.status === 503
const turn = () => new Promise(setImmediate)

test('bodies that do not end have a bound of one address and of all; one that ends makes room', async () => {
  const memory = createBodyMemory({
    bodyLimitBytes: BODY,
    maxBytes: 8 * BODY,
    isProxy: (a) => a === '10.0.0.1',
  })
  const send = (address: string) => {
    const stream = unfinished(BODY)
    const body = collectBody(stream, BODY, BODY, memory.roomFor(address))
    body.catch(() => {})
    return { stream, body }
  }
  const [first] = [send('192.0.2.1'), send('192.0.2.1')]
  await turn()
  await assert.rejects(send('192.0.2.1').body, isRefused)
  for (const address of ['192.0.2.2', '192.0.2.2', '10.0.0.1', '10.0.0.1', '10.0.0.1', '10.0.0.1']) {
    send(address)
    await turn()
  }
  await assert.rejects(send('192.0.2.3').body, isRefused)
  first?.stream.push(Buffer.of(7))
  first?.stream.push(null)
  assert.equal((await first?.body)?.length, BODY)
  const next = send('192.0.2.1')
  await turn()
  next.stream.destroy()
  await assert.rejects(next.body, /ended too early/)
  send('192.0.2.3')
  await turn()
  await assert.rejects(send('192.0.2.3').body, isRefused)
})

test('a short body needs no room, and one of the full length always has it', async () => {
  const memory = createBodyMemory({ bodyLimitBytes: 100 * BODY, maxBytes: BODY, isProxy: () => false })
  const room = memory.roomFor('192.0.2.1')
  room.grow(100 * BODY)
  assert.throws(() => memory.roomFor('192.0.2.1').grow(1), isRefused)
  const short = collectBody(Readable.from([Buffer.alloc(KILOBYTE)]), BODY, 0, memory.roomFor('192.0.2.1'))
  assert.equal((await short).length, KILOBYTE)
})
