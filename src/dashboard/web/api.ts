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
/** The signed-in user of this page; null for a visitor. */
let owner: string | null = null
let account: SessionView['account'] = null
let current: SessionView | undefined
/**
 * Session calls are numbered, so that an answer older than the last one taken cannot bring back a session that has
 * ended.
 */
let sent = 0
let takenUpTo = 0
let onOtherSession: () => void = () => {}
/** Notifies the other tabs of this browser of a sign-in or sign-out, because they share the cookie. */
const tabs = new BroadcastChannel('tapeline-session')

/** Called when the session has ended or belongs to another user, so the page has to load it again. */
export function whenSessionChanges(handler: () => void): void {
  onOtherSession = handler
  tabs.onmessage = handler
}

function take(session: SessionView): SessionView {
  current = session
  csrf = session.csrf
  owner = session.user?.email ?? null
  const before = account
  account = session.account
  if (before?.id !== account?.id) {
    ahead.clear()
    // The consent of one account does not apply to the next one in this tab. A page that has just loaded has no
    // previous account.
    if (before !== null) sessionStorage.removeItem(PAYS_KEY)
  }
  if (before?.id !== account?.id || before?.plan !== account?.plan) {
    left = null
    usedUpOn = undefined
    announceAllowance()
  }
  return session
}

async function send(
  method: string,
  path: string,
  body?: unknown,
  { isFreeOnly = false, isAgain = false } = {},
): Promise<Response> {
  const response = await fetch(`/dashboard/api/${path}`, {
    method,
    credentials: 'same-origin',
    headers: {
      ...(method === 'GET' ? {} : { 'X-CSRF-Token': csrf }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(isFreeOnly ? { 'X-View-Free-Only': 'true' } : {}),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new CallError(0, 'offline', 'The service cannot be reached.')
  })
  if (response.ok) return response
  const problem = (await response.json().catch(() => ({}))) as {
    error?: string
    message?: string
    reason?: string
  }
  if (isFreeOnly && problem.reason === 'allowance') {
    noteAllowance(response, true)
    throw usedUpError()
  }
  if (response.status === 401 && problem.error === 'signed_out') onOtherSession()
  if (problem.error === 'csrf' && !isAgain) {
    // The cookie was renewed in another tab or has expired, so the token is requested again.
    const before = owner
    await callSession('GET', 'session')
    if (owner === before) return send(method, path, body, { isFreeOnly, isAgain: true })
    onOtherSession()
    throw new CallError(403, 'other_session', 'Somebody else is signed in now. Nothing was changed.')
  }
  throw new CallError(response.status, problem.error ?? 'error', problem.message ?? 'That did not work.')
}

export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await send(method, path, body)
  return (await response.json()) as T
}

/** Session answers contain the token that the next change needs. */
export async function callSession(method: string, path: string, body?: unknown): Promise<SessionView> {
  const number = ++sent
  const session = await call<SessionView>(method, path, body)
  if (method === 'GET') {
    if (number <= takenUpTo && current !== undefined) return current
    takenUpTo = number
  } else {
    // Everything requested while the session changed may belong to the previous session.
    takenUpTo = sent
    tabs.postMessage('changed')
  }
  return take(session)
}

export interface Viewed<T> {
  value: T
  /** What the call would have cost with a key. */
  price: number
}

/** Views that have a price. */
const PRICED = /^\/v1\/(candles|funding|snapshots|markets|sources)/
const PAYS_KEY = 'tapeline-pay-for-views'
const today = () => new Date().toISOString().slice(0, 10)

let left: AllowanceView | null = null
/** The day on which the free views ran out; the next day has new ones. */
let usedUpOn: string | undefined
let onAllowance: () => void = () => {}
let announced = ''

const isUsedUp = () => usedUpOn === today()
const consent = () => `${today()} ${account?.id}`
/** Whether the user has agreed to pay for views of this account, in this tab and today. */
const isPaying = () => sessionStorage.getItem(PAYS_KEY) === consent()
const usedUpError = () => new CallError(402, 'allowance_used', 'Today’s free views are used up.')

/** What is left of the day's free views; null before the first view. */
export function allowance(): (AllowanceView & { isUsedUp: boolean; isPaying: boolean }) | null {
  return left && { ...left, isUsedUp: isUsedUp() && !isPaying(), isPaying: isUsedUp() && isPaying() }
}

export function whenAllowanceChanges(handler: () => void): () => void {
  onAllowance = handler
  return () => {
    onAllowance = () => {}
  }
}

export function payForViews(): void {
  sessionStorage.setItem(PAYS_KEY, consent())
  location.reload()
}

/** Views that are known to cost credits are not even requested; the server refuses the others (`X-View-Free-Only`). */
function mustAgree(path: string): boolean {
  return isUsedUp() && !isPaying() && PRICED.test(path)
}

/** @param isRefused the server refused the call because the allowance does not suffice */
function noteAllowance({ headers }: Response, isRefused = false): void {
  const limit = headers.get('X-View-Allowance')
  if (limit === null) return
  left = { limit: Number(limit), remaining: Number(headers.get('X-View-Allowance-Remaining')) }
  const charged = Number(headers.get('X-Credits-Charged'))
  const price = Number(headers.get('X-Credits-Price'))
  // A charged call shows that the allowance was too small. A cheaper call that is still free does not change that.
  if (isRefused || charged > 0 || (price > 0 && left.remaining < price)) usedUpOn = today()
  announceAllowance()
}

function announceAllowance(): void {
  const now = JSON.stringify(allowance())
  if (now === announced) return
  announced = now
  onAllowance()
}

/** Answers that arrived before the view that shows them; each is used once. */
const ahead = new Map<string, Promise<Viewed<unknown>>>()

/** Calls an endpoint of the service as the signed-in account. */
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
    throw usedUpError()
  }
  // A page that refreshes by itself must not spend credits without consent.
  const isFreeOnly = change === undefined && !isPaying()
  const response = await send(change?.method ?? 'GET', name, change?.body, { isFreeOnly })
  if (change === undefined) noteAllowance(response)
  return { value: (await response.json()) as T, price: Number(response.headers.get('X-Credits-Price') ?? 0) }
}

/** The session and the first chart, which the page's head requested before the code had loaded. */
export async function callStart(): Promise<SessionView> {
  const number = ++sent
  const { session, environment, views, allowance: given } = await call<StartView>('GET', START_CALL)
  if (number <= takenUpTo && current !== undefined) return current
  takenUpTo = number
  take(session)
  left = given
  usedUpOn = given?.used_up ? today() : undefined
  announceAllowance()
  for (const { path, price, value } of views) {
    const early = { value: JSON.parse(value) as unknown, price }
    ahead.set(`view/${environment}${path}`, Promise.resolve(early))
  }
  return session
}
