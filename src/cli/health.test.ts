import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { CommandError } from './command.ts'
import { checkHealth } from './health.ts'

test('a service that answers is healthy although a part of it does not work, and then not ready', async (t) => {
  const server = createServer(({ url }, response) => {
    response.statusCode = url === '/health' ? 200 : 503
    response.end('{"parts":[{"name":"live recorders","detail":"cexa is stale"}]}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  assert.equal(await checkHealth(address, false), `${address} is healthy.`)
  await assert.rejects(
    checkHealth(address, true),
    (error) => error instanceof CommandError && /is not ready: .*cexa is stale/.test(error.message),
  )
})
