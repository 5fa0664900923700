/** A small HTTP door for tests and people: faults, chain commands, the request log, the truth. Loopback only. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ignoreConnectionErrors } from '../../src/kit/socket-errors.ts'
import { TxRefusal } from './consensus/validate.ts'
import { NO_FAULTS, readFaults } from './faults.ts'
import { isNetworkId } from './networks.ts'
import type { RunningSandboxNode } from './running-node.ts'

const MAX_BODY_BYTES = 64 * 1024

type Body = Record<string, unknown>
type Route = (node: RunningSandboxNode, body: Body, rest: string, query: URLSearchParams) => unknown

class BadRequest extends Error {}

const CALLERS_FAULTS = [BadRequest, TxRefusal, RangeError, SyntaxError, URIError]

const ROUTES: Record<string, Route> = {
  'GET /status': (node) => node.status(),
  'GET /faults': (node) => node.faults(),
  'POST /faults': (node, body) => {
    const read = readFaults(body)
    if ('wrong' in read) throw new BadRequest(`not a fault or of the wrong type: ${read.wrong}`)
    if (typeof read.faults.network === 'string' && !isNetworkId(read.faults.network))
      throw new BadRequest('unknown network')
    node.setFaults(read.faults)
    return node.faults()
  },
  'DELETE /faults': (node) => {
    node.setFaults(NO_FAULTS)
    return node.faults()
  },
  'POST /die': (node) => {
    setImmediate(() => void node.die())
    return { dying: true }
  },
  'POST /reorganize': async (node, body) => {
    await node.reorganize(Number(body.depth ?? 10), body.doubleSpend === true)
    return {}
  },
  'POST /pay': async (node, body) => {
    if (typeof body.address !== 'string' || !/^\d+$/.test(String(body.amount))) {
      throw new BadRequest('address and amount (sompi) are needed')
    }
    return { transactionId: (await node.pay(body.address, BigInt(String(body.amount)))) ?? null }
  },
  'POST /dwell': async (node, body) => {
    await node.setDwell(Number(body.blocks ?? 0))
    return {}
  },
  'POST /notify': (node, body) => {
    const { kind } = body
    const hash = typeof body.hash === 'string' ? body.hash : node.truth.sink()
    if (kind !== 'conflict' && kind !== 'conflict_resolved' && kind !== 'utxo_set_override') {
      throw new BadRequest('kind is conflict, conflict_resolved or utxo_set_override')
    }
    node.publish(kind, hash)
    return {}
  },
  'GET /log': (node) => ({ counts: node.log.counts(), recent: node.log.recent() }),
  'DELETE /log': (node) => {
    node.log.clear()
    return {}
  },
  'GET /wallets': (node) => node.wallets(),
  'GET /truth/address': (node, _body, address) => node.truth.address(address),
  'GET /truth/transaction': (node, _body, id) => node.truth.transaction(id) ?? null,
  'GET /truth/chain': (node, _body, _rest, query) => node.truth.chain(query.get('from') ?? undefined),
}

export interface ControlServer {
  port: number
  close(): Promise<void>
}

export async function startControl(node: () => RunningSandboxNode, port: number): Promise<ControlServer> {
  const server = createServer((request, response) => void answer(node(), request, response))
  ignoreConnectionErrors(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(
  node: RunningSandboxNode,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const url = new URL(request.url ?? '/', 'http://control')
    const found = find(`${request.method} ${decodeURIComponent(url.pathname)}`)
    if (found === undefined)
      return reply(response, 404, { error: 'no such route', routes: Object.keys(ROUTES) })
    reply(response, 200, await found.route(node, await readBody(request), found.rest, url.searchParams))
  } catch (error) {
    const isCallers = CALLERS_FAULTS.some((kind) => error instanceof kind)
    reply(response, isCallers ? 400 : 500, { error: error instanceof Error ? error.message : String(error) })
  }
}

function find(line: string): { route: Route; rest: string } | undefined {
  for (const [name, route] of Object.entries(ROUTES)) {
    if (line === name) return { route, rest: '' }
    if (line.startsWith(`${name}/`)) return { route, rest: line.slice(name.length + 1) }
  }
  return undefined
}

async function readBody(request: IncomingMessage): Promise<Body> {
  let text = ''
  for await (const chunk of request) {
    text += String(chunk)
    if (text.length > MAX_BODY_BYTES) throw new BadRequest('body too large')
  }
  const body: unknown = text === '' ? {} : JSON.parse(text)
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new BadRequest('body must be an object')
  return body as Body
}

/** Amounts and scores are strings here: they may exceed 2^53. */
function reply(response: ServerResponse, status: number, value: unknown): void {
  const text = JSON.stringify(value, (_key, found: unknown) =>
    typeof found === 'bigint' ? String(found) : found,
  )
  response.writeHead(status, { 'content-type': 'application/json' }).end(text)
}
