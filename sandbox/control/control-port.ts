/** The control port of a sandbox: faults, truth and state over plain HTTP, for tests and operators. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ignoreConnectionErrors } from '../../src/kit/socket-errors.ts'
import { listen, readBody } from '../exchanges/server/http-server.ts'

export interface ControlPort {
  readonly port: number
  close(): Promise<void>
}

export interface ControlOptions<Spec> {
  readonly port: number
  readonly faults: { set(spec: Spec): unknown; list(): unknown; clear(id?: number): void }
  /** Throws on what is no fault. */
  readonly parseFault: (text: string) => Spec
  /** Undefined for what it does not know; throws on bad parameters. */
  readonly askTruth: (what: string, query: URLSearchParams) => unknown
  readonly state: () => unknown
}

export async function startControlPort<Spec>(options: ControlOptions<Spec>): Promise<ControlPort> {
  const { faults } = options

  async function answer(incoming: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const url = new URL(incoming.url ?? '/', 'http://loopback')
    const [, first, second] = url.pathname.split('/')
    const method = incoming.method ?? 'GET'
    if (first === 'faults' && method === 'POST')
      return { status: 201, body: faults.set(options.parseFault(await readBody(incoming))) }
    if (first === 'faults' && method === 'GET') return { status: 200, body: faults.list() }
    if (first === 'faults' && method === 'DELETE') {
      faults.clear(second === undefined ? undefined : Number(second))
      return { status: 200, body: faults.list() }
    }
    if (first === 'state' && method === 'GET') return { status: 200, body: options.state() }
    const told =
      first === 'truth' && method === 'GET' ? options.askTruth(second ?? '', url.searchParams) : undefined
    return told === undefined
      ? { status: 404, body: { error: 'unknown route' } }
      : { status: 200, body: told }
  }

  const server = createServer((incoming, response) => {
    answer(incoming)
      .catch((error: unknown) => ({
        status: 400,
        body: { error: error instanceof Error ? error.message : String(error) },
      }))
      .then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(JSON.stringify(body))
      })
  })
  ignoreConnectionErrors(server)
  await listen(server, options.port)
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
