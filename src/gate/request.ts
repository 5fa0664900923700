import type { IncomingHttpHeaders } from 'node:http'
import type { Alias, AnyEndpoint } from '../contract/endpoint.ts'
import type { Params } from '../contract/params.ts'

/** One path of the service: an endpoint under its own path or under an alias. */
export interface GateRoute<Services = unknown> {
  readonly method: string
  readonly path: string
  readonly endpoint: AnyEndpoint<Services>
  readonly bound: Alias['bound']
  readonly params: Params
  /** What usage and ledger call it. */
  readonly name: string
}

/** A request as the gate sees it: no framework, no socket. */
export interface GateRequest {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly search: string
  readonly pathParams: Readonly<Record<string, string>>
  readonly headers: IncomingHttpHeaders
  /** The caller's address, after the trusted proxies. */
  readonly address: string
  readonly body: Buffer | undefined
  /** Whether the caller has left: nobody reads the answer any more. */
  readonly isGone?: () => boolean
}

/** Names and values in turn, as `writeHead` takes them. */
export type HeaderList = string[]

/** A body in memory that is used again. */
export interface LentBody {
  /** To be called once when the body's bytes have left for good; they are written over afterwards. */
  readonly release: () => void
  /** So many bytes before the body's first one may be written over. */
  readonly room: number
}

export interface GateReply {
  status: number
  headers: HeaderList
  /** Parts are written one after another and never joined. */
  body: string | Buffer | readonly Buffer[]
  /** The tag of a body that nothing can change any more: its compressed forms are kept under it. */
  sealedTag?: string
  lent?: LentBody
  /** The answer's kind, for logs and metrics. */
  error?: string
  /** To be called once when the answer has left, or cannot leave any more. */
  onSent?: () => void
}
