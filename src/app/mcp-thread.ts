/**
 * The thread that handles MCP. Its library takes half a second to load and milliseconds per message, for which no other
 * request should wait. Endpoints run in the main thread, through the gate; this thread has only the declarations.
 */
import { workerData } from 'node:worker_threads'
import { ENDPOINTS } from '../api/endpoints/list.ts'
import type { EndpointReply, EndpointRequest } from '../api/mcp/endpoint-call.ts'
import { createMcpHttp, type McpHttpReply, type McpHttpRequest } from '../api/mcp/serve-http.ts'
import { serveCalls } from '../kit/thread-calls.ts'

export interface McpThreadData {
  readonly version: string
}

export interface McpThreadCalls {
  /** The body is passed as text, because deeply nested values can be parsed but not copied between threads. */
  serve(
    request: Omit<McpHttpRequest, 'session' | 'body'> & { id: number; bodyText: string },
  ): Promise<McpHttpReply>
  /** The answer to a `call` event of this thread. */
  answer(callId: number, answer: PassedReply): void
}

export type PassedReply =
  | {
      readonly status: number
      readonly text: string
      readonly headers: Record<string, string>
      readonly isOver: boolean
    }
  | { readonly error: string }

/** What the thread requests and reports by itself; `id` is that of the request it serves. */
export type McpThreadEvent =
  | { readonly kind: 'call'; readonly id: number; readonly callId: number; readonly request: EndpointRequest }
  | { readonly kind: 'fault'; readonly id: number; readonly error: unknown }

const mcp = createMcpHttp({ version: (workerData as McpThreadData).version, endpoints: ENDPOINTS })
const asked = new Map<number, (answer: PassedReply) => void>()
let nextCallId = 1

const side = serveCalls<McpThreadCalls>(
  {
    serve({ id, endsInMs, headers, bodyText }) {
      const endsAtMs = performance.now() + endsInMs
      let isGone = false
      const call = async ({ endpoint, pathParams, query, body }: EndpointRequest): Promise<EndpointReply> => {
        const callId = nextCallId++
        const { method, path } = endpoint
        const answer = await new Promise<PassedReply>((resolve) => {
          asked.set(callId, resolve)
          const plain = {
            endpoint: { method, path },
            pathParams,
            query,
            ...(body === undefined ? {} : { body }),
          }
          side.post({ kind: 'call', id, callId, request: plain } satisfies McpThreadEvent)
        })
        if ('error' in answer) throw new Error(answer.error)
        isGone ||= answer.isOver
        const { status, text, headers } = answer
        return { status, text, header: (name) => headers[name] }
      }
      const session = {
        call,
        isOver: () => isGone || performance.now() > endsAtMs,
        onFault: (error: unknown) => side.post({ kind: 'fault', id, error } satisfies McpThreadEvent),
      }
      return mcp.serve({ headers, body: JSON.parse(bodyText), session, endsInMs })
    },
    answer(callId, answer) {
      asked.get(callId)?.(answer)
      asked.delete(callId)
    },
  },
  { close: () => mcp.close() },
)
