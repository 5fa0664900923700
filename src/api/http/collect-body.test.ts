import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { collectBody } from './collect-body.ts'

const parts = (count: number) => Readable.from(Array.from({ length: count }, (_, at) => Buffer.of(at % 251)))

test('a body is the same in one piece and in many', async () => {
  const whole = Buffer.from(Array.from({ length: 9_000 }, (_, at) => at % 251))
  assert.deepEqual(await collectBody(Readable.from([whole]), 9_000, 9_000), whole)
  assert.deepEqual(await collectBody(parts(9_000), 9_000, 0), whole)
  assert.equal((await collectBody(Readable.from([]), 10, 0)).length, 0)
})

test('a body that is too long is refused: at once where its length is declared, otherwise at the byte', async () => {
  await assert.rejects(collectBody(parts(11), 10, 0), /larger than 10 bytes/)
  const declared = parts(1)
  await assert.rejects(collectBody(declared, 10, 11), /larger than 10 bytes/)
  assert.equal(declared.listenerCount('data'), 0)
})

test('a body whose connection ends is an error of the caller', async () => {
  const stream = new Readable({ read() {} })
  stream.push('abc')
  const body = collectBody(stream, 10, 0)
  stream.destroy()
  await assert.rejects(body, /ended too early/)
})
