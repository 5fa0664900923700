import type { AnyEndpoint } from '../../contract/endpoint.ts'

/**
 * How tools reach the service: one request to one declared endpoint, with the caller's key, through the gate. Inside
 * the service this calls the gate directly; over stdio it is an HTTP request to the service.
 */
export type EndpointCall = (request: EndpointRequest) => Promise<EndpointReply>

/** Tools know the declarations, not the services behind them. */
export type ToolEndpoint = AnyEndpoint<never>

export interface EndpointRequest {
  readonly endpoint: Pick<ToolEndpoint, 'method' | 'path'>
  readonly pathParams: Readonly<Record<string, string>>
  /** Without the question mark. */
  readonly query: string
  readonly body?: string
}

/** The headers that tools read; only these are passed between threads. */
export const READ_HEADERS = [
  'retry-after',
  'x-next-cursor',
  'x-credits-charged',
  'x-credits-remaining',
  'x-plan',
] as const
type ReadHeader = (typeof READ_HEADERS)[number]

export interface EndpointReply {
  readonly status: number
  readonly header: (name: ReadHeader) => string | undefined
  readonly text: string
}
