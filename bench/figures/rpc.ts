import { readFileSync } from 'node:fs'
import { directLoad } from '../direct-load.ts'
import { type Figure, median, ratio } from '../frame.ts'
import { httpPost, load } from '../load.ts'
import { type BenchService, startBenchService, startWideNode } from '../processes.ts'

const CONCURRENCY = 32
/** As many sockets as the service opens for light calls. */
const SOCKETS = 4
const ROUND_MS = 1_500
const ROUNDS = 5
/** Callers that are not always busy: latency is what one call takes, not what a full queue takes. */
const PAUSE_MS = 10
const HUGE_BYTES = 50_000_000
const LIGHT = '{"jsonrpc":"2.0","id":1,"method":"getSinkBlueScore","params":{}}'
const HUGE = '{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":{"includeBlocks":true}}'

function serviceOver(url: string): Promise<BenchService> {
  const environment = { TAPELINE_TEST: 'off', TAPELINE_NODES: url, TAPELINE_NETWORK: 'testnet-10' }
  return startBenchService({ environment, keyFor: 'live' })
}

/** A light call through the service against the same call on the node's own socket. */
export async function lightCallFigures(): Promise<Figure[]> {
  const node = await startWideNode(1_000)
  const service = await serviceOver(node.url)
  const request = httpPost('/rpc', LIGHT, { 'X-API-Key': service.key })
  const direct = (pauseMs?: number) =>
    directLoad({
      url: node.url,
      sockets: SOCKETS,
      inFlight: CONCURRENCY,
      durationMs: ROUND_MS,
      method: 'getSinkBlueScore',
      ...(pauseMs === undefined ? {} : { pauseMs }),
    })
  const proxied = async (pauseMs?: number) => {
    const result = await load({
      port: service.port,
      connections: CONCURRENCY,
      durationMs: ROUND_MS,
      request: () => request,
      ...(pauseMs === undefined ? {} : { pauseMs }),
    })
    if (result.statuses.size !== 1 || !result.statuses.has(200)) {
      throw new Error(`answers were ${JSON.stringify([...result.statuses])}`)
    }
    return result
  }
  try {
    await proxied()
    const speed = await ratio(ROUNDS, {
      limit: async () => (await direct()).requestsPerSecond,
      subject: async () => (await proxied()).requestsPerSecond,
    })
    const added: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const own = median((await direct(PAUSE_MS)).latenciesMs)
      added.push(median((await proxied(PAUSE_MS)).latenciesMs) - own)
    }
    return [
      {
        name: `light call through /rpc / on the node's socket, ${CONCURRENCY} at once`,
        atLeast: 0.5,
        value: speed.ratio,
        detail: `${Math.round(speed.subject)} of ${Math.round(speed.limit)} calls/s`,
      },
      {
        name: `ms that /rpc adds to a light call, p50, ${CONCURRENCY} callers`,
        atMost: 0.35,
        value: median(added),
        detail: `rounds: ${added.map((ms) => ms.toFixed(2)).join(', ')} ms`,
      },
    ]
  } finally {
    await service.stop()
    await node.stop()
  }
}

/** A 50 MB answer: what it takes in memory, and how long it keeps others waiting. */
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

async function memoryOf(service: BenchService): Promise<Figure> {
  await load({
    port: service.port,
    connections: 1,
    durationMs: 500,
    request: () => httpPost('/rpc', LIGHT, { 'X-API-Key': service.key }),
  })
  const before = residentBytes(service.pid)
  let peak = before
  const timer = setInterval(() => {
    peak = Math.max(peak, residentBytes(service.pid))
  }, 5)
  const bytes = await askHuge(service)
  clearInterval(timer)
  return {
    name: 'memory that a 50 MB answer takes / its size',
    atMost: 4,
    value: (peak - before) / bytes,
    detail: `${Math.round((peak - before) / 1e6)} MB for ${Math.round(bytes / 1e6)} MB`,
  }
}

async function delayOf(service: BenchService): Promise<Figure> {
  const light = (durationMs: number) =>
    load({
      port: service.port,
      connections: 4,
      durationMs,
      request: () => httpPost('/rpc', LIGHT, { 'X-API-Key': service.key }),
      pauseMs: 5,
    })
  const worst: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    // The slowest without it is measured over the same time: a busy machine makes some call slow anyway.
    const usual = (await light(ROUND_MS)).latenciesMs.at(-1) ?? Number.NaN
    const meanwhile = light(ROUND_MS)
    await new Promise((resolve) => setTimeout(resolve, 200))
    await askHuge(service)
    worst.push(((await meanwhile).latenciesMs.at(-1) ?? Number.NaN) - usual)
  }
  return {
    name: 'ms that a 50 MB answer delays the slowest light call of another caller',
    atMost: 100,
    value: median(worst),
    detail: `rounds: ${worst.map((ms) => ms.toFixed(0)).join(', ')} ms`,
  }
}
