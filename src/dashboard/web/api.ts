import type { AllowanceView, EnvironmentName, SessionView, StartView } from '../wire.ts'
import { START_CALL } from './explorer/paths.ts'

/** Calls of the dashboard's own API. Every change carries the CSRF token of the session. */
export class CallError extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

let csrf = ''
/** Whose page this is; null for a visitor. */
let owner: string | null = null
let onOtherSession: () => void = () => {}
/** Notifies the other tabs of this browser of a sign-in or sign-out: they share the cookie. */
const tabs = new BroadcastChannel('tapeline-session')

/** The session has ended, or belongs to another user now: the page has to load it again. */
export function whenSessionChanges(handler: () => void): void {
  onOtherSession = handler
  tabs.onmessage = handler
}

function take(session: SessionView): SessionView {
  csrf = session.csrf
  owner = session.user?.email ?? null
  return session
}

async function send(method: string, path: string, body?: unknown, isAgain = false): Promise<Response> {
  const response = await fetch(`/dashboard/api/${path}`, {
    method,
    credentials: 'same-origin',
    headers: {
      ...(method === 'GET' ? {} : { 'X-CSRF-Token': csrf }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new CallError(0, 'offline', 'The service cannot be reached.')
  })
  if (response.ok) return response
  const problem = (await response.json().catch(() => ({}))) as { error?: string; message?: string }
  if (response.status === 401 && problem.error === 'signed_out') onOtherSession()
  if (problem.error === 'csrf' && !isAgain) {
    // The cookie was renewed in another tab, or has expired: its token is requested again.
    const before = owner
    await callSession('GET', 'session')
    if (owner === before) return send(method, path, body, true)
    onOtherSession()
    throw new CallError(403, 'other_session', 'Somebody else is signed in now. Nothing was changed.')
  }
  throw new CallError(response.status, problem.error ?? 'error', problem.message ?? 'That did not work.')
}

export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await send(method, path, body)
  return (await response.json()) as T
}

/** Session answers bring the token that the next change needs. */
export async function callSession(method: string, path: string, body?: unknown): Promise<SessionView> {
  const session = take(await call<SessionView>(method, path, body))
  if (method !== 'GET') tabs.postMessage('changed')
  return session
}

export interface Viewed<T> {
  value: T
  /** What a key would have paid. */
  price: number
}

/** Views that have a price. */
const PRICED = /^\/v1\/(candles|funding|snapshots|markets|sources)/
const PAYS_KEY = 'tapeline-pay-for-views'
const today = () => new Date().toISOString().slice(0, 10)

let left: AllowanceView | null = null
let isUsedUp = false
let onAllowance: () => void = () => {}

/** Whether the user has agreed, in this tab and today, to pay for views. */
const isPaying = () => sessionStorage.getItem(PAYS_KEY) === today()

/** What is left of the day's free views; null before the first. */
export function allowance(): (AllowanceView & { isUsedUp: boolean; isPaying: boolean }) | null {
  return left && { ...left, isUsedUp: isUsedUp && !isPaying(), isPaying: isUsedUp && isPaying() }
}

export function whenAllowanceChanges(handler: () => void): () => void {
  onAllowance = handler
  return () => {
    onAllowance = () => {}
  }
}

export function payForViews(): void {
  sessionStorage.setItem(PAYS_KEY, today())
  location.reload()
}

/** A page that refreshes by itself must not spend credits without consent. */
function mustAgree(path: string): boolean {
  return isUsedUp && !isPaying() && PRICED.test(path)
}

function noteAllowance({ headers }: Response): void {
  const limit = headers.get('X-View-Allowance')
  if (limit === null) return
  const before = JSON.stringify(allowance())
  left = { limit: Number(limit), remaining: Number(headers.get('X-View-Allowance-Remaining')) }
  const charged = Number(headers.get('X-Credits-Charged'))
  const price = Number(headers.get('X-Credits-Price'))
  // One that is charged has found the allowance too small; one that is free and priced has not.
  if (charged > 0) isUsedUp = true
  else if (price > 0) isUsedUp = left.remaining < price
  if (JSON.stringify(allowance()) !== before) onAllowance()
}

/** Answers that came before the view that shows them was there; each is used once. */
const ahead = new Map<string, Promise<Viewed<unknown>>>()

/** An endpoint of the service, as the signed-in account sees it. */
export async function view<T>(
  environment: EnvironmentName,
  path: string,
  change?: { method: string; body?: unknown },
): Promise<Viewed<T>> {
  const name = `view/${environment}${path}`
  const early = change === undefined ? ahead.get(name) : undefined
  if (early !== undefined) {
    ahead.delete(name)
    return early as Promise<Viewed<T>>
  }
  if (change === undefined && mustAgree(path)) {
    throw new CallError(402, 'allowance_used', 'Today’s free views are used up.')
  }
  const response = await send(change?.method ?? 'GET', name, change?.body)
  if (change === undefined) noteAllowance(response)
  return { value: (await response.json()) as T, price: Number(response.headers.get('X-Credits-Price') ?? 0) }
}

/** The session and the first chart, which the page's head has requested before the code had loaded. */
export async function callStart(): Promise<SessionView> {
  const { session, environment, views, allowance: given } = await call<StartView>('GET', START_CALL)
  take(session)
  left = given
  isUsedUp = given?.used_up ?? false
  for (const { path, price, value } of views) {
    const early = { value: JSON.parse(value) as unknown, price }
    ahead.set(`view/${environment}${path}`, Promise.resolve(early))
  }
  return session
}
