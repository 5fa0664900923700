import { readFileSync } from 'node:fs'
import { type Figure, median, ratio } from '../frame.ts'
import { httpPost, type LoadResult, load } from '../load.ts'
import { type BenchService, startBenchService, startSandboxNode, startWideNode } from '../processes.ts'
import { socketCall, socketWire } from '../socket-wire.ts'

/** Callers that each hold one connection, on both sides. */
const CONCURRENCY = 32
/** How long they wait between calls when latency is measured: about 3,000 calls a second together. */
const PAUSE_MS = 10
const ROUND_MS = 1_500
const ROUNDS = 7
const HUGE_BYTES = 50_000_000
const HUGE_ROUNDS = 5
const METHOD = 'getSinkBlueScore'
const LIGHT = `{"jsonrpc":"2.0","id":1,"method":"${METHOD}","params":{}}`
const HUGE = '{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":{"includeBlocks":true}}'

function serviceOver(url: string): Promise<BenchService> {
  const environment = { TAPELINE_TEST: 'off', TAPELINE_NODES: url, TAPELINE_NETWORK: 'testnet-10' }
  return startBenchService({ environment, keyFor: 'live' })
}

function checked(result: LoadResult): LoadResult {
  if (result.statuses.size === 1 && result.statuses.has(200)) return result
  throw new Error(`answers were ${JSON.stringify([...result.statuses])}`)
}

/**
 * A light call through the service compared with the same call on the node's own socket, by the same client. The
 * bounds apply to a node that computes its answers; a node with prepared answers shows the service alone.
 */
export async function lightCallFigures(): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [name, bounded, startNode] of [
    ['sandbox node', true, startSandboxNode],
    ['node of ready texts', false, () => startWideNode(1_000)],
  ] as const) {
    const node = await startNode()
    const service = await serviceOver(node.url)
    try {
      figures.push(...(await lightCalls(name, bounded, node.port, service)))
    } finally {
      await service.stop()
      await node.stop()
    }
  }
  return figures
}

/**
 * Throughput is measured with callers that never pause. Latency is measured with callers that pause, because a queue
 * that never empties says nothing about a single call: among 32 callers that never pause, each waits for the 31 others,
 * so its latency is just the throughput again (shown without a bound).
 */
async function lightCalls(
  name: string,
  bounded: boolean,
  nodePort: number,
  service: BenchService,
): Promise<Figure[]> {
  const frame = socketCall(METHOD)
  const request = httpPost('/rpc', LIGHT, { 'X-API-Key': service.key })
  const full = await bothWays(undefined)
  const paced = await bothWays(PAUSE_MS)

  async function bothWays(pauseMs: number | undefined) {
    const common = {
      connections: CONCURRENCY,
      durationMs: ROUND_MS,
      ...(pauseMs === undefined ? {} : { pauseMs }),
    }
    const direct: number[] = []
    const proxied: number[] = []
    const measure = async (result: Promise<LoadResult>, p50s: number[]) => {
      const { latenciesMs, requestsPerSecond } = checked(await result)
      p50s.push(median(latenciesMs))
      return requestsPerSecond
    }
    const speed = await ratio(ROUNDS, {
      limit: () =>
        measure(load({ ...common, port: nodePort, request: () => frame, wire: socketWire }), direct),
      subject: () => measure(load({ ...common, port: service.port, request: () => request }), proxied),
    })
    // Calls before the rounds were only for warming up.
    const own = direct.slice(-ROUNDS)
    const addedMs = proxied.slice(-ROUNDS).map((ms, round) => ms - (own[round] ?? Number.NaN))
    return { speed, addedMs, directMs: median(own) }
  }

  const timeOf = ({ addedMs, directMs }: typeof paced) =>
    `rounds: ${addedMs.map((ms) => ms.toFixed(2)).join(', ')} ms; direct ${directMs.toFixed(2)} ms`
  return [
    {
      name: `light call through /rpc / on the socket of a ${name}, ${CONCURRENCY} at once`,
      ...(bounded ? { atLeast: 0.5 } : {}),
      value: full.speed.ratio,
      detail: `${Math.round(full.speed.subject)} of ${Math.round(full.speed.limit)} calls/s`,
    },
    {
      name: `ms that /rpc adds to it, p50 of ${CONCURRENCY} callers (${name})`,
      ...(bounded ? { atMost: 0.35 } : {}),
      value: median(paced.addedMs),
      detail: `${Math.round(paced.speed.subject)} calls/s; ${timeOf(paced)}`,
    },
    {
      name: `ms that /rpc adds to it when nobody pauses (${name})`,
      value: median(full.addedMs),
      detail: timeOf(full),
    },
  ]
}

/** A 50 MB answer: how much memory it takes, and how long it keeps others waiting. */
export async function heavyCallFigures(): Promise<Figure[]> {
  const node = await startWideNode(HUGE_BYTES)
  const service = await serviceOver(node.url)
  try {
    return [await memoryOf(service), await delayOf(service)]
  } finally {
    await service.stop()
    await node.stop()
  }
}

async function askHuge(service: BenchService): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${service.port}/rpc`, {
    method: 'POST',
    headers: {
      'X-API-Key': service.key,
      'Content-Type': 'application/json',
      'Accept-Encoding': 'identity',
    },
    body: HUGE,
  })
  let bytes = 0
  for await (const chunk of response.body ?? []) bytes += chunk.length
  if (bytes < HUGE_BYTES) throw new Error(`the answer has ${bytes} bytes only`)
  return bytes
}

function residentBytes(pid: number): number {
  const [, pages = '0'] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')
  return Number(pages) * 4_096
}

/** The most that is resident at any time, over several such answers one after another. */
async function memoryOf(service: BenchService): Promise<Figure> {
  const request = httpPost('/rpc', LIGHT, { 'X-API-Key': service.key })
  await load({ port: service.port, connections: 1, durationMs: 500, request: () => request })
  const before = residentBytes(service.pid)
  let peak = before
  const timer = setInterval(() => {
    peak = Math.max(peak, residentBytes(service.pid))
  }, 5)
  let bytes = 0
  for (let round = 0; round < HUGE_ROUNDS; round++) bytes = await askHuge(service)
  clearInterval(timer)
  return {
    name: 'memory that 50 MB answers take / the size of one',
    atMost: 4,
    value: (peak - before) / bytes,
    detail: `${Math.round((peak - before) / 1e6)} MB for ${Math.round(bytes / 1e6)} MB`,
  }
}

/** The slowest of all light calls of another customer while such an answer was being sent. */
async function delayOf(service: BenchService): Promise<Figure> {
  const request = httpPost('/rpc', LIGHT, { 'X-API-Key': service.otherKey() })
  const light = (durationMs: number) =>
    load({ port: service.port, connections: 4, durationMs, request: () => request, pauseMs: 5 })
  await light(ROUND_MS)
  const worst: number[] = []
  for (let round = 0; round < HUGE_ROUNDS; round++) {
    const meanwhile = light(ROUND_MS)
    await new Promise((resolve) => setTimeout(resolve, 200))
    await askHuge(service)
    worst.push(checked(await meanwhile).latenciesMs.at(-1) ?? Number.NaN)
  }
  return {
    name: "ms of another customer's slowest light call beside a 50 MB answer",
    atMost: 100,
    value: Math.max(...worst),
    detail: `rounds: ${worst.map((ms) => ms.toFixed(0)).join(', ')} ms`,
  }
}
