/** The control port of a sandbox: its switches over plain HTTP, for tests and operators. Loopback only. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type FaultSpec, type FaultSwitches, parseFault } from './faults.ts'
import { type HttpServer, readBody, startHttpServer, urlOf } from './http.ts'

export interface ControlRequest {
  readonly body: string
  /** The part of the path after the route's own. */
  readonly rest: string
  readonly query: URLSearchParams
}

/**
 * Maps `METHOD /path` to its answer. Everything that a route throws counts as the caller's mistake and becomes a 400.
 */
export type ControlRoutes = Record<string, (request: ControlRequest) => unknown>

export function startControlPort(port: number, routes: ControlRoutes): Promise<HttpServer> {
  async function answer(incoming: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const url = urlOf(incoming)
    const line = `${incoming.method} ${decodeURIComponent(url.pathname)}`
    const name = Object.keys(routes).find((route) => line === route || line.startsWith(`${route}/`))
    const route = name === undefined ? undefined : routes[name]
    if (name === undefined || route === undefined)
      return { status: 404, body: { error: 'no such route', routes: Object.keys(routes) } }
    const rest = line.slice(name.length + 1)
    const body = await route({ body: await readBody(incoming), rest, query: url.searchParams })
    return { status: 200, body }
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body } = await answer(incoming).catch((error: unknown) => ({
      status: 400,
      body: { error: error instanceof Error ? error.message : String(error) },
    }))
    response.writeHead(status, { 'content-type': 'application/json' })
    // Amounts and scores are strings here, because they may exceed 2^53.
    response.end(
      JSON.stringify(body, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    )
  }

  return startHttpServer({ port, handle })
}

/** The switches of the simulated venues. */
export const faultRoutes = (
  faults: FaultSwitches,
  known: Parameters<typeof parseFault>[1],
): ControlRoutes => ({
  'GET /faults': () => faults.list(),
  'POST /faults': ({ body }) => faults.set(parseFault(body, known) satisfies FaultSpec),
  'DELETE /faults': ({ rest }) => {
    faults.clear(rest === '' ? undefined : Number(rest))
    return faults.list()
  },
})
