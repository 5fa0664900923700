import type { Credential } from '../accounts/key-ring.ts'
import type { ApiError } from '../core/errors.ts'
import { publicCode } from '../core/errors.ts'
import { DAY_MS } from '../core/time.ts'
import type { Clock } from '../kit/clock.ts'
import { Lru } from '../kit/lru.ts'
import { KEY_PARAMS } from './read-input.ts'
import type { GateRequest } from './request.ts'

interface Call {
  readonly atMs: number
  readonly requestId: string
  readonly method: string
  /** Path and query, without the key. */
  readonly target: string
  readonly keyId: string
  readonly environment: string
}

export interface FailedCall extends Call {
  readonly status: number
  readonly code: string
  readonly message: string
  /** How many times in a row the same call failed. */
  readonly times: number
}

export interface SlowCall extends Call {
  readonly durationMs: number
}

interface CallsOfAccount {
  failed: FailedCall[]
  slowest: SlowCall[]
}

/** Faster calls are not worth inspecting and cost nothing here. */
export const SLOW_MS = 5
const MAX_ACCOUNTS = 1_000
const MAX_FAILED = 30
const MAX_SLOWEST = 10
const MAX_TARGET = 300
const MAX_MESSAGE = 300
const KEPT_MS = DAY_MS

export type RecentCalls = ReturnType<typeof createRecentCalls>

/**
 * The errors and the slowest calls of each account in the last 24 hours, for an operator who helps a customer. Kept in
 * the memory of this process, for a limited number of accounts, errors and calls.
 */
export function createRecentCalls(clock: Clock) {
  const accounts = new Lru<string, CallsOfAccount>({ maxEntries: MAX_ACCOUNTS })

  const callsOf = (accountId: string) => {
    const found = accounts.get(accountId)
    if (found !== undefined) return found
    const created: CallsOfAccount = { failed: [], slowest: [] }
    accounts.set(accountId, created)
    return created
  }
  const callOf = (request: GateRequest, { keyId, environment }: Credential): Call => ({
    atMs: clock.now(),
    requestId: request.id,
    method: request.method,
    target: targetOf(request),
    keyId,
    environment,
  })
  const isRecent = ({ atMs }: Call) => atMs > clock.now() - KEPT_MS

  return {
    failed(request: GateRequest, credential: Credential, error: ApiError): void {
      const { failed } = callsOf(credential.accountId)
      const call = {
        ...callOf(request, credential),
        status: error.status,
        code: publicCode(error.kind),
        message: error.message.slice(0, MAX_MESSAGE),
        times: 1,
      }
      const last = failed.at(-1)
      // A client that repeats its mistake does not push other errors out.
      if (last !== undefined && isSame(last, call))
        failed[failed.length - 1] = { ...call, times: last.times + 1 }
      else failed.push(call)
      if (failed.length > MAX_FAILED) failed.shift()
    },
    finished(request: GateRequest, credential: Credential, durationMs: number): void {
      if (durationMs < SLOW_MS) return
      const own = callsOf(credential.accountId)
      const recent = own.slowest.filter(isRecent)
      const last = recent[MAX_SLOWEST - 1]
      if (last !== undefined && last.durationMs >= durationMs) return
      own.slowest = [...recent, { ...callOf(request, credential), durationMs }]
        .sort((a, b) => b.durationMs - a.durationMs)
        .slice(0, MAX_SLOWEST)
    },
    /** The newest error and the slowest call first. */
    of(accountId: string): { failed: FailedCall[]; slowest: SlowCall[] } {
      const { failed = [], slowest = [] } = accounts.get(accountId) ?? {}
      return { failed: failed.filter(isRecent).reverse(), slowest: slowest.filter(isRecent) }
    },
  }
}

function isSame(a: FailedCall, b: FailedCall): boolean {
  return a.target === b.target && a.method === b.method && a.code === b.code && a.keyId === b.keyId
}

/** Leaves out a key in the query, which is a secret. */
function targetOf({ path, search }: GateRequest): string {
  const query = search
    .replace(/^\?/, '')
    .split('&', 50)
    .filter((pair) => pair !== '' && !KEY_PARAMS.includes(decoded(pair.split('=', 1)[0] ?? '')))
    .join('&')
  const target = query === '' ? path : `${path}?${query}`
  return target.slice(0, MAX_TARGET)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
