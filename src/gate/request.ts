import type { IncomingHttpHeaders } from 'node:http'

/** A request independent of framework and socket. */
export interface GateRequest {
  readonly id: string
  readonly method: string
  /** That of the resource (`filledPath`), however the request spells it. */
  readonly path: string
  readonly search: string
  readonly pathParams: Readonly<Record<string, string>>
  readonly headers: IncomingHttpHeaders
  /** The caller's address, behind the trusted proxies. */
  readonly address: string
  readonly body: Buffer | undefined
  /** Whether the caller has disconnected, so that nobody would read the answer. */
  readonly isGone?: () => boolean
}

/** Alternating names and values, as `writeHead` expects them. */
export type HeaderList = string[]

/** A body in a pooled buffer. */
export interface LentBody {
  /** To be called once when the bytes have been sent; the buffer is then reused. */
  readonly release: () => void
  /** Free bytes before the body, for the head of the response. */
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
  /** Parts are written one after another and never concatenated. */
  body: string | Buffer | readonly Buffer[]
  /** The compressed forms of a page in the page cache or of a shared document. */
  encoded?: EncodedForms
  lent?: LentBody
  /** The public code of an error, for logs and metrics. */
  error?: string
  /** To be called once when the answer has been sent or cannot be sent. */
  onSent?: () => void
  /** The account that the unread bytes of the answer count against. */
  readBy?: string
}
