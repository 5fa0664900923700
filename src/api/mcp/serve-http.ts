import { createMcpHandler } from '@modelcontextprotocol/server'
import { type McpService, type McpSession, mcpServerFactory } from './server.ts'

/** One HTTP request of the protocol, with its parsed body. */
export interface McpHttpRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly session: McpSession
  /** After this time nobody waits for the answer. */
  readonly endsInMs: number
}

export interface McpHttpReply {
  readonly status: number
  readonly contentType: string | null
  readonly body: string
}

/** The interface for the route. */
export interface McpHttp {
  serve(request: McpHttpRequest): Promise<McpHttpReply>
  close(): Promise<void>
}

/** Streamable HTTP without sessions, in both revisions of the protocol. Each request gets its own server. */
export function createMcpHttp(service: McpService) {
  const serverFor = mcpServerFactory(service)
  const handler = createMcpHandler(
    ({ authInfo }) => serverFor(sessionOf(authInfo)),
    // Nothing changes while the service runs, so there is nothing to subscribe to.
    { maxSubscriptions: 0, keepAliveMs: 0 },
  )
  return {
    async serve({ headers, body, session, endsInMs }: McpHttpRequest): Promise<McpHttpReply> {
      const end = new AbortController()
      const request = new Request('http://service/mcp', {
        method: 'POST',
        headers: { ...headers },
        body: JSON.stringify(body),
        signal: end.signal,
      })
      // The key has already been checked, and the gate checks it for every call, so the SDK needs none.
      const authInfo = { token: '', clientId: '', scopes: [], extra: { session } }
      const answer = async () => {
        const response = await handler.fetch(request, { parsedBody: body, authInfo })
        return {
          status: response.status,
          contentType: response.headers.get('content-type'),
          body: await response.text(),
        }
      }
      return settledWithin(answer(), endsInMs, end)
    },
    close: () => handler.close(),
  }
}

/**
 * The SDK never ends the answer to a batch that cancels one of its own requests, so it is ended when its time is over.
 */
async function settledWithin<T>(answer: Promise<T>, ms: number, end: AbortController): Promise<T> {
  const over = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    over.reject(new Error('the time of the request is over'))
    end.abort()
  }, ms)
  try {
    return await Promise.race([answer, over.promise])
  } finally {
    clearTimeout(timer)
    answer.catch(() => {})
  }
}

/** The SDK passes on what `serve` gave it. */
function sessionOf(authInfo: { extra?: Record<string, unknown> } | undefined): McpSession {
  const session = authInfo?.extra?.session
  if (session === undefined) throw new Error('a request without a session')
  return session as McpSession
}
