import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMcpHttp } from './serve-http.ts'

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' }
const CANCELLED = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }

test('a batch that cancels a request of its own ends with its time, and others are served', async () => {
  const mcp = createMcpHttp({ version: '1.0.0', endpoints: [] })
  const session = { call: () => assert.fail('nothing is read'), isOver: () => false, onFault: () => {} }
  const serve = (body: unknown, endsInMs: number) => mcp.serve({ headers: HEADERS, body, session, endsInMs })
  assert.match((await serve([PING], 10_000)).body, /"id":1/)
  const late = AbortSignal.timeout(5_000)
  const isHeld = new Promise((_, reject) => late.addEventListener('abort', () => reject(new Error('held'))))
  await assert.rejects(Promise.race([serve([PING, CANCELLED], 50), isHeld]), /time of the request is over/)
  assert.match((await serve([PING], 10_000)).body, /"id":1/)
  await mcp.close()
})
