/** Traces as a collector of OpenTelemetry receives them: a request, what it reads and calls, and a delivery. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { type ChainService, startChainService } from '../fakes/chain-service.ts'
import { ask } from '../fakes/client.ts'
import { accept, type Receiver, startReceiver } from '../fakes/receiver.ts'

interface ReceivedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly status: { readonly code?: number }
}

interface TraceRequest {
  readonly resourceSpans: {
    readonly resource: { readonly attributes: ReceivedSpan['attributes'] }
    readonly scopeSpans: { readonly spans: ReceivedSpan[] }[]
  }[]
}

const TRACE = { id: '0af7651916cd43dd8448eb211c80319c', parent: 'b7ad6b7169203331' }
const requests: TraceRequest[] = []
let collector: Server
let receiver: Receiver
let chain: ChainService
let spans: ReceivedSpan[]

before(async () => {
  collector = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      assert.equal(`${request.method} ${request.url}`, 'POST /v1/traces')
      requests.push(JSON.parse(Buffer.concat(chunks).toString('utf8')) as TraceRequest)
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  receiver = await startReceiver(accept)
  chain = await startChainService({
    nodes: 1,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
      TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on',
    },
  })
  await chain.healthy(1)
  // Pending traces are sent at shutdown.
  await use().finally(() => chain.stop())
  spans = requests.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
  )
})
after(async () => {
  await receiver?.close()
  collector?.close()
})

async function use(): Promise<void> {
  const key = await chain.key()
  const { url } = chain.service
  const headers = { 'Content-Type': 'application/json' }
  const traceparent = `00-${TRACE.id}-${TRACE.parent}-01`
  const candles = `${url}/v1/candles?source=cexa&symbol=BTC&interval=1m`
  assert.equal((await ask(candles, { key, headers: { traceparent } })).status, 200)
  assert.equal((await ask(`${url}/v1/candles?symbol=NONE&interval=1m`, { key })).status, 400)
  assert.equal((await chain.call(key, 'getBlockDagInfo')).answer.status, 200)
  const body = JSON.stringify({ url: receiver.url, kinds: ['block_added'] })
  const created = await ask(`${url}/v1/webhooks`, { method: 'POST', key, headers, body })
  assert.equal(created.status, 201, created.text)
  const tried = await ask(`${url}/v1/webhooks/${created.json.id}/test`, { method: 'POST', key })
  assert.equal(tried.status, 200, tried.text)
}

const named = (name: string) => spans.filter((span) => span.name === name)

function attributesOf({ attributes }: Pick<ReceivedSpan, 'attributes'>): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

test('the spans are those of this service and its version', () => {
  const { 'service.name': name, 'service.version': version } = attributesOf(
    requests[0]?.resourceSpans[0]?.resource ?? { attributes: [] },
  )
  assert.deepEqual([name, version], ['tapeline', '0.0.0-test'])
})

test('a request continues the trace of its caller, and the page that it reads is part of it', () => {
  const [request, refused] = named('GET /v1/candles')
  assert.ok(request !== undefined && refused !== undefined)
  assert.deepEqual([request.traceId, request.parentSpanId], [TRACE.id, TRACE.parent])
  const { 'http.route': route, 'http.response.status_code': status } = attributesOf(request)
  assert.deepEqual([route, Number(status)], ['/v1/candles', 200])
  assert.notEqual(refused.traceId, TRACE.id)
  assert.equal(Number(attributesOf(refused)['http.response.status_code']), 400)
  const page = named('store page').find(({ traceId }) => traceId === TRACE.id)
  assert.equal(page?.parentSpanId, request.spanId)
  assert.equal(attributesOf(page)['tapeline.dataset'], 'candles')
})

test('a call to a node is part of its request; those that the service makes for itself are not recorded', () => {
  const [rpc] = named('POST /rpc')
  const calls = spans.filter(({ name }) => name.startsWith('node '))
  assert.deepEqual(
    calls.map(({ name, parentSpanId }) => [name, parentSpanId]),
    [['node getBlockDagInfo', rpc?.spanId]],
  )
})

test('an attempt to deliver has a span, without the path or the secrets of its receiver', () => {
  const [delivery] = named('deliver')
  assert.ok(delivery !== undefined)
  const attributes = attributesOf(delivery)
  assert.deepEqual(
    [attributes['server.address'], Number(attributes['http.response.status_code'])],
    ['127.0.0.1', 204],
  )
  assert.ok(!JSON.stringify(spans).includes('/hook') && !JSON.stringify(spans).includes('svc_'))
})
