import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Services } from '../endpoints/services.ts'
import { servedOpenapi } from './served-openapi.ts'

test('while the values of examples are slow to come, all wait for one document; then it is made again', async () => {
  let nowMs = 0
  let reads = 0
  const slow = Promise.withResolvers<never>()
  const list = () => {
    reads++
    return slow.promise
  }
  const services = { market: { store: { markets: { list } } } } as unknown as Services
  const read = servedOpenapi({ services: { test: services }, now: () => nowMs })
  const first = read()
  nowMs += 60_000
  const second = read()
  assert.equal(reads, 1)
  slow.reject(new Error('the store is away'))
  const document = await first
  assert.equal(await second, document)
  assert.ok('paths' in (JSON.parse(String(document)) as object))
  assert.equal(await read(), document)
  nowMs += 2_000
  await read()
  assert.equal(reads, 2)
})
