/** Serves MCP in a thread, which is started with the first request. */

import { READ_HEADERS } from '../api/mcp/endpoint-call.ts'
import type { McpHttp } from '../api/mcp/serve-http.ts'
import type { McpSession } from '../api/mcp/server.ts'
import { threadCalls } from '../kit/thread-calls.ts'
import type { McpThreadCalls, McpThreadData, McpThreadEvent, PassedReply } from './mcp-thread.ts'

const FILE = new URL('./mcp-thread.ts', import.meta.url)
const CLOSE_WITHIN_MS = 1_000

export function startMcpWorker(data: McpThreadData): McpHttp {
  const sessions = new Map<number, McpSession>()
  let nextId = 1
  const thread = threadCalls<McpThreadCalls>(FILE, {
    name: 'MCP server',
    data,
    startOnCall: true,
    onEvent: (message) => {
      const event = message as McpThreadEvent
      const session = sessions.get(event.id)
      if (event.kind === 'fault') session?.onFault(event.error)
      else {
        void answerOf(event, session)
          .then((answer) => thread.call('answer', [event.callId, answer]))
          // A thread that has ended no longer needs the answer.
          .catch(() => {})
      }
    },
  })
  return {
    async serve({ headers, body, session, endsInMs }) {
      const id = nextId++
      sessions.set(id, session)
      try {
        return await thread.call('serve', [{ id, headers, bodyText: JSON.stringify(body), endsInMs }])
      } finally {
        sessions.delete(id)
      }
    },
    close: () => thread.close(CLOSE_WITHIN_MS),
  }
}

async function answerOf(
  { request }: Extract<McpThreadEvent, { kind: 'call' }>,
  session: McpSession | undefined,
): Promise<PassedReply> {
  if (session === undefined) return { error: 'the request is over' }
  try {
    const { status, text, header } = await session.call(request)
    const headers: Record<string, string> = {}
    for (const name of READ_HEADERS) {
      const value = header(name)
      if (value !== undefined) headers[name] = value
    }
    return { status, text, headers, isOver: session.isOver() }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}
