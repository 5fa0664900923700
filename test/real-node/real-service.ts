/** The service in its live environment, with real nodes and a key for everything. */
import assert from 'node:assert/strict'
import { parseExact } from '../../sandbox/node/rpc/json.ts'
import { exactText } from '../fakes/chain-service.ts'
import { type Answer, ask } from '../fakes/client.ts'
import { startTestService, type TestService, WIDE_PLAN } from '../fakes/service.ts'
import { until } from '../until.ts'
import { NETWORK, NOBODY, type RealNode } from './real-node.ts'

export interface RealService {
  readonly service: TestService
  readonly key: string
  get(path: string): Promise<Answer>
  /** Integers of 64 bits are bigints. */
  post(path: string, body: unknown): Promise<Answer>
  /** One call through /rpc: its result or its error, integers exact. */
  rpc(method: string, params?: unknown): Promise<RpcAnswer>
  healthy(count: number): Promise<void>
  /** Waits until the index has reached the sink of the node, which must not move. */
  indexed(node: RealNode): Promise<void>
  stop(): Promise<void>
}

interface RpcAnswer {
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { reason?: string } }
}

/** So generous that no limit interferes with what a test is about. */
const PLAN = { ...WIDE_PLAN, heavyCallsInFlight: 10_000, creditsPerMonth: 9_000_000_000 }

export async function startRealService(
  nodes: readonly RealNode[],
  env: Record<string, string> = {},
  folder?: string,
): Promise<RealService> {
  const service = await startTestService({
    ...(folder === undefined ? {} : { folder }),
    plans: [PLAN],
    env: {
      TAPELINE_TEST: 'off',
      TAPELINE_NODES: nodes.map(({ url }) => url).join(','),
      TAPELINE_NETWORK: NETWORK,
      ...env,
    },
  })
  const key = await service.key({ environment: 'live' })
  const get = (path: string) => ask(`${service.url}${path}`, { key })
  const headers = { 'Content-Type': 'application/json' }
  const post = (path: string, body: unknown) =>
    ask(`${service.url}${path}`, { method: 'POST', key, headers, body: exactText(body) })
  const status = async () =>
    (await get('/v1/status')).json as { nodes?: { synced: boolean }[]; index?: { state: string } }
  return {
    service,
    key,
    get,
    post,
    async rpc(method, params = {}) {
      const answer = await post('/rpc', { jsonrpc: '2.0', id: 1, method, params })
      assert.equal(answer.status, 200, answer.text)
      return parseExact(answer.text) as RpcAnswer
    },
    async healthy(count) {
      const isSo = async () => {
        const { nodes: seen = [], index } = await status()
        return seen.filter(({ synced }) => synced).length === count && index?.state === 'running'
      }
      await until(`${count} healthy nodes and an index`, isSo, 60_000)
    },
    async indexed(node) {
      const { sink } = await node.rpc.call('getSink')
      const { block } = await node.rpc.call('getBlock', { hash: sink, includeTransactions: false })
      const { timestamp } = (block as { header: { timestamp: number } }).header
      const isSo = async () => {
        const { json } = await get(`/v1/addresses/${NOBODY}/transactions`)
        return Date.parse(String((json.coverage as { to?: string } | undefined)?.to)) === timestamp
      }
      await until(`the index at ${sink}`, isSo, 60_000)
    },
    stop: () => service.stop(),
  }
}
