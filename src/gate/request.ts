import type { IncomingHttpHeaders } from 'node:http'

/** A request without framework or socket. */
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
  /** Whether the caller has disconnected, so that nobody would read the answer. */
  readonly isGone?: () => boolean
}

/** Alternating names and values, as `writeHead` takes them. */
export type HeaderList = string[]

/** A body in a pooled buffer. */
export interface LentBody {
  /** To be called once when the bytes were sent; the buffer is then reused. */
  readonly release: () => void
  /** Free bytes in front of the body, for the head of the response. */
  readonly room: number
}

/** The compressed forms of a stored page, by content encoding. */
export interface EncodedForms {
  get(encoding: string): Buffer | undefined
  set(encoding: string, bytes: Buffer): unknown
}

export interface GateReply {
  status: number
  headers: HeaderList
  /** Parts are written one after another and never joined. */
  body: string | Buffer | readonly Buffer[]
  /** Of a page in the page cache or a shared document: its compressed forms. */
  encoded?: EncodedForms
  lent?: LentBody
  /** The answer's kind, for logs and metrics. */
  error?: string
  /** To be called once when the answer was sent or cannot be sent. */
  onSent?: () => void
  /** The account that has to read it, where it can be long. */
  readBy?: string
}
