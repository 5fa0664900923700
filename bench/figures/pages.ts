import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CANDLES, fillCandles } from '../fill-candles.ts'
import { type Figure, ratio } from '../frame.ts'
import { httpGet, load } from '../load.ts'
import { type BenchService, startBare, startBenchService } from '../processes.ts'

const MINUTE_MS = 60_000
const CONNECTIONS = 16
const ROUND_MS = 1_000
const ROUNDS = 5
/** The service has far more code to compile than the bare route. */
const WARM_ROUNDS = 12

/** Candle pages through the whole gate against a bare route that returns the same bytes. */
export async function pageFigures(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-pages-'))
  const startMs = await fillCandles(folder)
  const service = await startBenchService({ folder, environment: { TAPELINE_SANDBOX: 'off' } })
  try {
    return [
      ...(await measurePages(service, startMs, 100, { uncached: 0.35, repeated: 0.6, unchanged: 0.55 })),
      ...(await measurePages(service, startMs, 1_000, { uncached: 0.4, repeated: 0.7 })),
    ]
  } finally {
    await service.stop()
  }
}

async function measurePages(
  service: BenchService,
  startMs: number,
  rows: number,
  bounds: { uncached: number; repeated: number; unchanged?: number },
): Promise<Figure[]> {
  const path = (offset: number) => {
    const from = new Date(startMs + offset * MINUTE_MS).toISOString()
    const to = new Date(startMs + (offset + rows) * MINUTE_MS).toISOString()
    return `/v1/candles?symbol=BTC&source=cexa&interval=1m&limit=${rows}&start=${from}&end=${to}`
  }
  const headers = { 'X-API-Key': service.key }
  const answer = await fetch(`http://127.0.0.1:${service.port}${path(0)}`, { headers })
  const etag = answer.headers.get('etag') ?? ''
  const bare = await startBare(await answer.text())
  const bareUnchanged = await startBare('')
  let offset = 1
  const fresh = () => httpGet(path(offset++ % (CANDLES - rows)), headers)
  const same = httpGet(path(0), headers)
  const tagged = httpGet(path(0), { ...headers, 'If-None-Match': etag })
  const speed = async (port: number, request: () => string, status: number) => {
    const result = await load({ port, connections: CONNECTIONS, durationMs: ROUND_MS, request })
    if (result.statuses.size !== 1 || !result.statuses.has(status)) {
      throw new Error(`answers were ${JSON.stringify([...result.statuses])}`)
    }
    return result.requestsPerSecond
  }
  const measure = async (
    name: string,
    atLeast: number,
    request: () => string,
    status: number,
    port: number,
  ): Promise<Figure> => {
    const measured = await ratio(
      ROUNDS,
      {
        limit: () => speed(port, () => httpGet('/'), 200),
        subject: () => speed(service.port, request, status),
      },
      WARM_ROUNDS,
    )
    const detail = `${Math.round(measured.subject)} of ${Math.round(measured.limit)} requests/s`
    return { name: `${rows}-row page, ${name} / bare route`, atLeast, value: measured.ratio, detail }
  }
  try {
    const figures = [
      await measure('uncached', bounds.uncached, fresh, 200, bare.port),
      await measure('repeated', bounds.repeated, () => same, 200, bare.port),
    ]
    if (bounds.unchanged !== undefined) {
      figures.push(await measure('304', bounds.unchanged, () => tagged, 304, bareUnchanged.port))
    }
    return figures
  } finally {
    await bare.stop()
    await bareUnchanged.stop()
  }
}
