/** The real service in its live environment, with simulated nodes in this process. */
import {
  type RunningSandboxChain,
  type RunningSandboxNode,
  type SandboxChainOptions,
  startSandboxChain,
  startSandboxNode,
} from '../../sandbox/node/run.ts'
import { type Answer, ask } from './client.ts'
import type { KeyRequest } from './keys.ts'
import { startTestService, type TestService } from './service.ts'

export interface RpcReply {
  readonly jsonrpc: string
  readonly id: unknown
  readonly result?: Record<string, unknown>
  readonly error?: { code: number; message: string; data?: Record<string, unknown> }
}

export interface ChainService {
  readonly service: TestService
  readonly nodes: readonly RunningSandboxNode[]
  readonly chain: RunningSandboxChain
  key(request?: KeyRequest): Promise<string>
  /** POST /rpc with the given body. */
  post(body: string | Buffer, key: string, headers?: Record<string, string>): Promise<Answer>
  /** One call; `params` may contain bigints. */
  call(key: string, method: string, params?: unknown): Promise<{ answer: Answer; reply: RpcReply }>
  submit(key: string, body: string, headers?: Record<string, string>): Promise<Answer>
  get(path: string, key: string): Promise<Answer>
  /** Resolves when the service considers this many nodes healthy. */
  healthy(count: number): Promise<void>
  stop(): Promise<void>
}

export interface ChainServiceOptions {
  nodes?: number
  chain?: SandboxChainOptions
  plans?: readonly object[]
  /** Prepares the nodes before the service starts. */
  prepare?: (nodes: readonly RunningSandboxNode[]) => Promise<void> | void
  env?: Record<string, string>
}

export async function startChainService(options: ChainServiceOptions = {}): Promise<ChainService> {
  const chain = await startSandboxChain({ seed: 5, transactionsPerSecond: 5, ...options.chain })
  const names = Array.from({ length: options.nodes ?? 2 }, (_, index) => `node-${index}`)
  const nodes = await Promise.all(names.map((name) => startSandboxNode({ name, chain })))
  await options.prepare?.(nodes)
  const service = await startTestService({
    ...(options.plans ? { plans: options.plans } : {}),
    env: {
      TAPELINE_TEST: 'off',
      TAPELINE_NODES: nodes.map(({ url }) => url).join(','),
      TAPELINE_NETWORK: 'testnet-10',
      ...options.env,
    },
  })
  const json = { 'Content-Type': 'application/json' }
  const post: ChainService['post'] = (body, key, headers = {}) =>
    ask(`${service.url}/rpc`, { method: 'POST', key, body, headers: { ...json, ...headers } })
  const get = (path: string, key: string) => ask(`${service.url}${path}`, { key })
  return {
    service,
    nodes,
    chain,
    key: (request = {}) => service.key({ environment: 'live', ...request }),
    post,
    async call(key, method, params = {}) {
      const answer = await post(exactText({ jsonrpc: '2.0', id: 1, method, params }), key)
      return { answer, reply: answer.json as unknown as RpcReply }
    },
    submit: (key, body, headers = {}) =>
      ask(`${service.url}/v1/transactions/submit`, {
        method: 'POST',
        key,
        body,
        headers: { ...json, ...headers },
      }),
    get,
    async healthy(count) {
      const key = await service.key({ environment: 'live' })
      const endsAt = performance.now() + 60_000
      for (;;) {
        const { nodes: seen = [] } = (await get('/v1/status', key)).json as { nodes?: { synced: boolean }[] }
        if (seen.filter(({ synced }) => synced).length === count) return
        if (performance.now() > endsAt) throw new Error(`not ${count} healthy nodes: ${JSON.stringify(seen)}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    async stop() {
      await service.stop()
      for (const node of nodes) await node.close().catch(() => {})
      await chain.close()
    },
  }
}

/** JSON with bigints as plain integers. */
export function exactText(value: unknown): string {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
  return JSON.stringify(value, (_name, found: unknown) =>
    typeof found === 'bigint' ? rawJSON(String(found)) : found,
  )
}
