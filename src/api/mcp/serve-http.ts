import { createMcpHandler } from '@modelcontextprotocol/server'
import { type McpService, type McpSession, mcpServerFactory } from './server.ts'

/** One HTTP request of the protocol, its body parsed. */
export interface McpHttpRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly session: McpSession
}

export interface McpHttpReply {
  readonly status: number
  readonly contentType: string | null
  readonly body: string
}

/** As the route sees it; nobody waits for an answer after `endsInMs`. */
export interface McpHttp {
  serve(request: McpHttpRequest & { readonly endsInMs: number }): Promise<McpHttpReply>
  close(): Promise<void>
}

/** Streamable HTTP without sessions, in both revisions of the protocol: each request has a server of its own. */
export function createMcpHttp(service: McpService) {
  const serverFor = mcpServerFactory(service)
  const handler = createMcpHandler(
    ({ authInfo }) => serverFor(sessionOf(authInfo)),
    // Nothing changes while the service runs, so there is nothing to subscribe to.
    { maxSubscriptions: 0, keepAliveMs: 0 },
  )
  return {
    async serve({ headers, body, session }: McpHttpRequest): Promise<McpHttpReply> {
      const request = new Request('http://service/mcp', {
        method: 'POST',
        headers: { ...headers },
        body: JSON.stringify(body),
      })
      // The key was checked before and is checked by the gate for every call; the SDK needs none.
      const authInfo = { token: '', clientId: '', scopes: [], extra: { session } }
      const response = await handler.fetch(request, { parsedBody: body, authInfo })
      return {
        status: response.status,
        contentType: response.headers.get('content-type'),
        body: await response.text(),
      }
    },
    close: () => handler.close(),
  }
}

/** The SDK hands over what `serve` gave it. */
function sessionOf(authInfo: { extra?: Record<string, unknown> } | undefined): McpSession {
  const session = authInfo?.extra?.session
  if (session === undefined) throw new Error('a request without a session')
  return session as McpSession
}
