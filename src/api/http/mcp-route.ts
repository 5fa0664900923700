import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { EndpointRoute } from '../../contract/endpoint.ts'
import { MAX_REQUEST_BODY_BYTES } from '../../contract/endpoint.ts'
import { ApiError } from '../../core/errors.ts'
import { errorReply, toApiError } from '../../gate/error-reply.ts'
import type { Gate } from '../../gate/gate.ts'
import type { McpGate } from '../../gate/mcp-gate.ts'
import type { GateReply } from '../../gate/request.ts'
import { ActiveCounts } from '../../kit/active-counts.ts'
import type { Logger } from '../../kit/log.ts'
import { gateCall } from '../mcp/call-gate.ts'
import type { McpHttp } from '../mcp/serve-http.ts'
import { requestAddress } from './caller-address.ts'
import type { Cors } from './cors.ts'
import { readMcpMessages } from './read-mcp-messages.ts'
import { sendCounted } from './send-counted.ts'
import { splitTarget } from './target.ts'
import { VARY } from './vary.ts'

export const MCP_PATH = '/mcp'

export interface McpOptions {
  readonly gate: McpGate
  readonly http: McpHttp
  /** How many requests are served at a time, and how long one may take. Tests set other values. */
  readonly maxInFlight?: number
  readonly requestMs?: number
}

const MAX_IN_FLIGHT = 200
/** An account gets a quarter of them, because some requests last until their time is over. */
const SHARE_OF_ACCOUNT = 4
const REQUEST_MS = 30_000
/**
 * The thread aborts a request this long after it was answered as too late. Timers of two threads are a few milliseconds
 * apart, so at the same moment its error could come first.
 */
const ABORT_AFTER_MS = 500
const BUSY_RETRY_SECONDS = 1
/** The headers that the SDK reads. It does not need the key or any other header. */
const PASSED_HEADERS = /^(accept|content-type|mcp-[a-z-]+)$/

interface McpContext<Services> extends McpOptions {
  readonly endpointGate: Gate<Services>
  readonly routes: readonly EndpointRoute<Services>[]
  readonly cors: Cors
  readonly nextId: () => string
  readonly log: Logger
  readonly observe: (status: number, seconds: number) => void
}

/** `POST /mcp`: only requests with a valid key reach the protocol. */
export function addMcp<Services>(app: FastifyInstance, context: McpContext<Services>): void {
  const { http, maxInFlight = MAX_IN_FLIGHT, requestMs = REQUEST_MS } = context
  const { unread } = context.endpointGate
  const maxOfAccount = Math.ceil(maxInFlight / SHARE_OF_ACCOUNT)
  const ofAccount = new ActiveCounts<string>()
  let inFlight = 0

  async function answer(request: FastifyRequest, id: string): Promise<GateReply> {
    const { search } = splitTarget(request.raw.url)
    const address = requestAddress(request)
    const { headers } = request
    const { key, accountId, count } = await context.gate.admit({ headers, search, address })
    unread.check(accountId)
    const body = readMcpMessages(request.body as Buffer | undefined, headers['content-encoding'])
    count(Array.isArray(body) ? body.length : 1)
    if (ofAccount.left(accountId, maxOfAccount) <= 0) throw busy(`${maxOfAccount} requests of this account`)
    if (inFlight >= maxInFlight) throw busy(`${maxInFlight} requests`)
    inFlight++
    const leave = ofAccount.add(accountId)
    const endsAt = performance.now() + requestMs
    // A timer may fire a fraction of a millisecond before its time, so the clock alone does not say what was answered.
    let isAnswered = false
    const isGone = () => isAnswered || request.raw.socket.destroyed || performance.now() > endsAt
    const call = gateCall(context.endpointGate, context.routes, { requestId: id, key, address, isGone })
    const onFault = (err: unknown) => context.log.error({ err, request: id }, 'a tool failed')
    const session = { call, isOver: isGone, onFault }
    const served = http
      .serve({ headers: passedOf(headers), body, session, endsInMs: requestMs + ABORT_AFTER_MS })
      .finally(() => {
        inFlight--
        leave()
      })
    const reply = await within(served, requestMs).finally(() => {
      isAnswered = true
    })
    const { status, contentType, body: text } = reply
    const type = contentType === null ? [] : ['Content-Type', contentType]
    return { status, headers: [...type, 'Cache-Control', 'no-store'], body: text, readBy: accountId }
  }

  app.route({
    method: 'POST',
    url: MCP_PATH,
    bodyLimit: MAX_REQUEST_BODY_BYTES,
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      const startedMs = performance.now()
      const id = context.nextId()
      const found = await answer(request, id).catch((error: unknown) => {
        const known = toApiError(error)
        if (known.kind === 'internal_error') context.log.error({ err: error, request: id }, 'MCP failed')
        return errorReply(known, id, request.headers.accept)
      })
      reply.hijack()
      const { cors } = context
      await sendCounted(request, reply.raw, found, { requestId: id, cors, vary: VARY.key, unread })
      context.observe(found.status, (performance.now() - startedMs) / 1000)
    },
  })
  app.addHook('onClose', () => http.close())
}

function passedOf(headers: FastifyRequest['headers']): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && PASSED_HEADERS.test(name)) passed[name] = value
  }
  return passed
}

function busy(requests: string): ApiError {
  const headers = [['Retry-After', String(BUSY_RETRY_SECONDS)]] as const
  const text = `${requests} are in progress with MCP. Try again in a moment.`
  return new ApiError('rate_limited', text, { retry_after: BUSY_RETRY_SECONDS }, headers)
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  const endsAt = performance.now() + ms
  const error = new ApiError('upstream_timeout', `The request took longer than ${ms / 1000} s.`)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(error), ms)
  })
  // On a busy machine both can be over in the same turn; the error of the abort must not replace the timeout.
  const inTime = work.catch((reason: unknown) => {
    throw performance.now() >= endsAt ? error : reason
  })
  try {
    return await Promise.race([inTime, late])
  } finally {
    clearTimeout(timer)
    inTime.catch(() => {})
  }
}
