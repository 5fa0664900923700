/** The served document on a running sandbox: every operation works as a page with "Try it out" would send it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { signedUp } from '../dashboard/session.ts'
import { ask } from '../fakes/client.ts'
import { documentSchemas } from '../fakes/document-schemas.ts'
import { expandDocument } from '../fakes/expand-document.ts'
import { type Receiver, startReceiver } from '../fakes/receiver.ts'
import { useSandboxService } from '../fakes/sandbox-service.ts'
import { type Document, type Tried, tryAll } from '../fakes/try-it.ts'

/** All values exist half a minute after the start, a covenant last; a loaded machine takes longer. */
const START_MS = 120_000

const sandbox = useSandboxService()
let receiver: Receiver
let document: Document
let tried: Tried[]

before(async () => {
  receiver = await startReceiver()
  const { service, key } = await sandbox()
  const endsAt = performance.now() + START_MS
  for (;;) {
    const books = await ask(`${service.url}/v1/perpdex/snapshots?symbol=BTC&limit=1`, { key })
    document = expandDocument((await ask(`${service.url}/openapi.json`)).json as unknown as Document)
    const ready = await ask(`${service.url}/ready`)
    if (books.status === 200 && ready.status === 200 && withoutExample(document).length === 0) break
    if (performance.now() > endsAt)
      throw new Error(`no values for ${withoutExample(document)}; ready: ${ready.status}`)
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  tried = await tryAll(service.url, key, document, { receiver: receiver.url })
})
after(() => receiver?.close())

/** What a person would have to fill in. The id of a webhook comes from the answer that creates it. */
function withoutExample({ paths }: Document): string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      // A time is required too, although it may be given under another name.
      const params = operation.parameters.filter(
        ({ name, required, example }) =>
          (required || (name === 'time' && path.endsWith('/at'))) && example === undefined && name !== 'id',
      )
      const body = operation.requestBody?.content['application/json']
      const missing = [...params.map(({ name }) => name), ...(body && !body.example ? ['body'] : [])]
      return missing.map((name) => `${method} ${path} ${name}`)
    }),
  )
}

test('every operation succeeds as the document fills it in', () => {
  const failed = tried.flatMap(({ name, answer }) =>
    answer.status >= 200 && answer.status < 300
      ? []
      : [`${name}: ${answer.status} ${answer.text.slice(0, 300)}`],
  )
  assert.deepEqual(failed, [])
  const operations = Object.values(document.paths).reduce(
    (sum, methods) => sum + Object.keys(methods).length,
    0,
  )
  assert.equal(tried.length, operations)
})

test('every answer fits the schema that the document gives for it', () => {
  const schemas = documentSchemas(document)
  const wrong = tried.flatMap(({ name, path, method, answer }) => {
    const pointer = [
      'paths',
      path,
      method,
      'responses',
      String(answer.status),
      'content',
      'application/json',
      'schema',
    ]
    const faults = schemas.faultsAt(pointer, answer.json)
    return faults === '' ? [] : [`${name}: ${faults}`]
  })
  assert.deepEqual(wrong, [])
})

test('every list has the headers of a list', () => {
  const lists = tried.filter(({ operation }) => operation['x-row-schema'] !== undefined)
  assert.ok(lists.length > 25, String(lists.length))
  for (const { name, answer } of lists) {
    for (const header of ['etag', 'x-rows-returned', 'x-rows-capped', 'x-coverage-complete', 'x-clamped']) {
      assert.ok(answer.headers.has(header), `${name} ${header}`)
    }
    const { meta, next_cursor } = answer.json as { meta?: { next_cursor: string }; next_cursor?: string }
    const cursor = (meta === undefined ? next_cursor : meta.next_cursor) ?? null
    assert.equal(answer.headers.get('x-next-cursor'), cursor, name)
    assert.equal(answer.headers.has('link'), cursor !== null, name)
  }
})

test('heavy calls from the page take no slot for longer than they last', async () => {
  const { service } = await sandbox()
  const user = await signedUp(service.url, 'heavy@example.com')
  const body = { jsonrpc: '2.0', id: 1, method: 'getMempoolEntries', params: {} }
  // More calls than any plan allows at the same time.
  for (let n = 0; n < 12; n++) {
    const answer = await user.call('POST', 'try/test/rpc', body)
    assert.equal(answer.status, 200, answer.text.slice(0, 300))
  }
})
