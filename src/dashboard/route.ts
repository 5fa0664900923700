import type { IncomingHttpHeaders } from 'node:http'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { SessionRecord } from '../accounts/users.ts'

/** The dashboard's own small API: no framework, no socket, no API key. */
export interface DashboardRequest {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly search: string
  readonly headers: IncomingHttpHeaders
  readonly address: string
  readonly body: Buffer | undefined
  /** Whether the browser has disconnected, so that nobody would read the answer. */
  readonly isGone?: () => boolean
}

/** The compressed forms of a file, by content encoding. */
export interface EncodedFile {
  get(encoding: string): Buffer | undefined
  set(encoding: string, bytes: Buffer): void
}

export interface DashboardReply {
  status: number
  /** Names and values, alternating. */
  headers: string[]
  body: string | Buffer | readonly Buffer[]
  /** The compressed forms of a body that never changes. */
  encoded?: EncodedFile
  /** To be called once, when the answer was sent or cannot be sent. */
  onSent?: () => void
  /** The account whose unread answers this one counts towards. */
  readBy?: string
}

/** What the user is shown when something failed. */
export class DashboardError extends Error {
  override readonly name = 'DashboardError'
  readonly status: number
  readonly code: string
  readonly headers: readonly string[]

  constructor(status: number, code: string, message: string, headers: readonly string[] = []) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

export interface RouteContext {
  readonly request: DashboardRequest
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** The value of the session cookie, signed in or not. */
  readonly token: string
}

export interface SignedIn extends RouteContext {
  readonly session: SessionRecord
  readonly accountId: string
}

type RouteAccess = 'open' | 'user' | 'operator'

/** A call of the dashboard. Every method except GET needs the CSRF token; the dispatcher enforces that. */
export interface DashboardRoute {
  readonly method: string
  readonly path: string
  readonly access: RouteAccess
  run(context: SignedIn): Promise<DashboardReply>
}

export const openRoute = routeFor<RouteContext>('open')
export const userRoute = routeFor<SignedIn>('user')
export const operatorRoute = routeFor<SignedIn>('operator')

function routeFor<Context>(access: RouteAccess) {
  return (name: `${string} ${string}`, run: (context: Context) => Promise<DashboardReply>) => {
    const [method = '', path = ''] = name.split(' ')
    return { method, path: `/dashboard/api/${path}`, access, run } as DashboardRoute
  }
}

export function json(value: unknown, status = 200, headers: readonly string[] = []): DashboardReply {
  return {
    status,
    headers: ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store', ...headers],
    body: JSON.stringify(value),
  }
}

export function readJsonBody<S extends TSchema>(schema: S, { body, headers }: DashboardRequest): Static<S> {
  if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) {
    throw new DashboardError(415, 'unsupported_media_type', 'The body must be JSON.')
  }
  let value: unknown
  try {
    value = JSON.parse(body?.toString('utf8') ?? '')
  } catch {
    throw new DashboardError(400, 'invalid_body', 'The body is not JSON.')
  }
  if (Value.Check(schema, value)) return value as Static<S>
  const [fault] = Value.Errors(schema, value)
  const where = fault?.instancePath.replace(/^\//, '') || 'The body'
  // TypeBox checks a member that the schema does not have against the schema `false`.
  const what = fault?.keyword === 'boolean' ? 'is not a field of this body' : fault?.message
  throw new DashboardError(422, 'invalid_param', `${where} ${what ?? 'is wrong'}.`)
}
