import { type Figure, ratio } from '../frame.ts'
import { httpGet, load } from '../load.ts'
import { startBare, startBenchService } from '../processes.ts'

const CONNECTIONS = 16
const ROUND_MS = 1_500
const ROUNDS = 7
/** The service has far more code to compile than the bare route. */
const WARM_ROUNDS = 10

/** An authenticated free request through the whole gate against a bare route with the same bytes. */
export async function gateFigures(): Promise<Figure[]> {
  // Without recorders, which would take processor time from both sides, but not equally.
  const service = await startBenchService({ environment: { TAPELINE_SANDBOX: 'off' } })
  const request = httpGet('/v1/symbols', { 'X-API-Key': service.key })
  const answer = await fetch(`http://127.0.0.1:${service.port}/v1/symbols`, {
    headers: { 'X-API-Key': service.key },
  })
  const bare = await startBare(await answer.text())
  const speed = async (port: number, text: string) => {
    const result = await load({ port, connections: CONNECTIONS, durationMs: ROUND_MS, request: () => text })
    if (result.statuses.size !== 1 || !result.statuses.has(200)) {
      throw new Error(`answers were ${JSON.stringify([...result.statuses])}`)
    }
    return result.requestsPerSecond
  }
  try {
    const measured = await ratio(
      ROUNDS,
      {
        limit: () => speed(bare.port, httpGet('/')),
        subject: () => speed(service.port, request),
      },
      WARM_ROUNDS,
    )
    return [
      {
        name: 'GET /v1/symbols through the gate / bare route',
        atLeast: 0.55,
        value: measured.ratio,
        detail: `${Math.round(measured.subject)} of ${Math.round(measured.limit)} requests/s`,
      },
    ]
  } finally {
    await service.stop()
    await bare.stop()
  }
}
