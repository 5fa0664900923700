/** The control port: faults, truth and state over plain HTTP, in the manner of the sandbox exchanges. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseSymbol } from '../../core/symbol.ts'
import { listen, readBody } from '../exchanges/server/http-server.ts'
import { FAULT_KINDS, type FaultKind, type FaultSpec, type Faults, VENUES } from './server/faults.ts'
import { askTruth, type Truth } from './truth.ts'

export async function startControlPort(options: {
  port: number
  faults: Faults
  truth: Truth
  state: () => unknown
}): Promise<{ readonly port: number; close(): Promise<void> }> {
  const { faults, truth } = options

  async function answer(incoming: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const url = new URL(incoming.url ?? '/', 'http://loopback')
    const [, first, second] = url.pathname.split('/')
    const method = incoming.method ?? 'GET'
    if (first === 'faults' && method === 'POST')
      return { status: 201, body: faults.set(parseFault(await readBody(incoming))) }
    if (first === 'faults' && method === 'GET') return { status: 200, body: faults.list() }
    if (first === 'faults' && method === 'DELETE') {
      faults.clear(second === undefined ? undefined : Number(second))
      return { status: 200, body: faults.list() }
    }
    if (first === 'state' && method === 'GET') return { status: 200, body: options.state() }
    const told =
      first === 'truth' && method === 'GET' ? askTruth(truth, second ?? '', url.searchParams) : undefined
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

const NUMBERS = ['provider', 'durationMs', 'count', 'delayMs', 'status', 'retryAfterS'] as const

/** Every field is checked: a fault that silently does nothing would make a test pass for the wrong reason. */
export function parseFault(text: string): FaultSpec {
  const value = JSON.parse(text) as Record<string, unknown>
  if (typeof value !== 'object' || value === null) throw new RangeError('a fault is an object')
  const unknown = Object.keys(value).find(
    (key) => !['kind', 'venue', 'symbol', 'channel', ...NUMBERS].includes(key),
  )
  if (unknown !== undefined) throw new RangeError(`unknown field ${unknown}`)
  const kind = Object.keys(FAULT_KINDS).find((known) => known === value.kind) as FaultKind | undefined
  const venue = VENUES.find((known) => known === value.venue)
  if (kind === undefined) throw new RangeError(`kind must be one of ${Object.keys(FAULT_KINDS).join(', ')}`)
  if (venue === undefined) throw new RangeError(`venue must be one of ${VENUES.join(', ')}`)
  const spec: FaultSpec = { kind, venue }
  if (value.symbol !== undefined) {
    const symbol = typeof value.symbol === 'string' ? parseSymbol(value.symbol) : undefined
    if (symbol === undefined) throw new RangeError('unknown symbol')
    spec.symbol = symbol
  }
  if (value.channel !== undefined) {
    if (typeof value.channel !== 'string') throw new RangeError('channel must be text')
    spec.channel = value.channel
  }
  for (const name of NUMBERS) {
    const number = value[name]
    if (number === undefined) continue
    if (typeof number !== 'number' || !Number.isFinite(number))
      throw new RangeError(`${name} must be a number`)
    spec[name] = number
  }
  return spec
}
