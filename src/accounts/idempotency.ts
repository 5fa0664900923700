import { hash } from 'node:crypto'
import type { Environment } from '../core/environment.ts'
import { ApiError } from '../core/errors.ts'
import type { Plan } from '../core/plan.ts'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import { type Clock, elapsedMs, runEvery } from '../kit/clock.ts'
import type { SecretBox } from '../kit/secret-box.ts'
import type { AccountsStore, HeldClaim, IdempotencyClaim, StoredReply } from '../store/accounts.ts'
import { inTime, STORE_PATIENCE_MS } from './store-patience.ts'

/**
 * A repeated key with the same body gets the first answer again, for a day, whatever happens to the network. An answer
 * may contain a secret that is shown only once, so it is stored encrypted.
 */
export const REMEMBERED_MS = 24 * 3_600_000
/** The claim of a process that died is free again after this time. The claim of a running request is extended. */
const CLAIM_MS = 60_000
const EXTEND_MS = CLAIM_MS / 3
/** Marks an encrypted body. */
const SEALED = 'sealed:'
/** A longer answer is not stored, only the fact that there was one. */
const MAX_REPLY_BYTES = 65_536
/**
 * What may be stored for one account, per request per second that its plan allows: 50,000 entries and 20 MiB on the
 * free plan, ten times that on the business plan.
 */
const MAX_ENTRIES_PER_RATE = 10_000
const MAX_BYTES_PER_RATE = 4 * 1024 * 1024
const RETRY_AFTER_S = 60
/** While the store is unavailable, the end of a claim is retried at this interval, as long as the claim lasts. */
const WRITE_AGAIN_MS = 500
const MAX_WRITTEN_LATER = 10_000
const KEY_FORM = /^[\x21-\x7e]{1,255}$/

export type Idempotency = ReturnType<typeof createIdempotency>

interface FinishedReply {
  readonly status: number
  readonly headers: StoredReply['headers']
  readonly bytes: number
  /** Called only if the body is stored. */
  readonly body: () => string
}

export interface IdempotencyScope {
  accountId: string
  /** The same key in the other environment is a different key. */
  environment: Environment
  plan: Plan
  route: string
  key: string
  body: Buffer
}

/** An id for the request that is the same when it is repeated. */
export function keyedRequest({
  accountId,
  environment,
  route,
  key,
}: Pick<IdempotencyScope, 'accountId' | 'environment' | 'route' | 'key'>): string {
  return hash('sha256', JSON.stringify([`${accountId}/${environment}`, route, key]))
}

export function createIdempotency(deps: { store: AccountsStore; box: SecretBox; clock: Clock }) {
  const { store, box, clock } = deps
  let writtenLater = 0
  /** Claims that the store has not answered yet, oldest first. */
  const asked = new Set<{ readonly sinceMs: number }>()

  /**
   * Refuses new claims while the store is too slow, because each would wait for all before it. A claim that is answered
   * after its caller has left is released.
   */
  async function claimInTime(claim: Parameters<AccountsStore['claimIdempotency']>[0]) {
    const sinceMs = elapsedMs(clock)
    const [oldest] = asked
    if (oldest !== undefined && sinceMs - oldest.sinceMs >= STORE_PATIENCE_MS)
      throw new StoreUnavailableError('Too many calls wait for the store.')
    const entry = { sinceMs }
    asked.add(entry)
    const call = store.claimIdempotency(claim).finally(() => asked.delete(entry))
    let hasLeft = false
    const giveBack = async (answer: IdempotencyClaim) => {
      if (hasLeft && answer.state === 'fresh')
        await store.releaseIdempotency({ id: claim.id, claim: answer.claim })
    }
    // If the release fails, the claim expires.
    call.then(giveBack).catch(() => {})
    return inTime(clock, call).catch((error: unknown) => {
      hasLeft = true
      throw error
    })
  }

  async function write(act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || writtenLater >= MAX_WRITTEN_LATER) throw error
      writtenLater++
      void writeLater(act).finally(() => writtenLater--)
    }
  }

  async function writeLater(act: () => Promise<void>): Promise<void> {
    for (let waitedMs = 0; waitedMs < CLAIM_MS / 2; waitedMs += WRITE_AGAIN_MS) {
      await clock.sleep(WRITE_AGAIN_MS)
      const isWritten = await act().then(
        () => true,
        (error) => !(error instanceof StoreUnavailableError),
      )
      if (isWritten) return
    }
  }

  const opened = (body: string) => (body.startsWith(SEALED) ? box.open(body.slice(SEALED.length)) : body)
  return {
    /** The stored answer, or the claim that the caller now holds and must finish or release. */
    async begin(
      scope: IdempotencyScope,
    ): Promise<{ readonly stored: StoredReply } | { readonly stored?: never; readonly held: HeldClaim }> {
      if (!KEY_FORM.test(scope.key)) {
        throw new ApiError('invalid_param', 'Idempotency-Key must have 1 to 255 visible ASCII characters.', {
          param: 'Idempotency-Key',
        })
      }
      const id = keyedRequest(scope)
      const claim = await claimInTime({
        id,
        accountId: scope.accountId,
        maxEntries: MAX_ENTRIES_PER_RATE * scope.plan.requestsPerSecond,
        bodyHash: hash('sha256', scope.body),
        claimMs: CLAIM_MS,
        rememberedMs: REMEMBERED_MS,
      })
      if (claim.state === 'done') {
        if (claim.reply.omitted !== undefined) throw notKept(claim.reply.omitted)
        return { stored: { ...claim.reply, body: opened(claim.reply.body) } }
      }
      if (claim.state === 'full') throw tooMany()
      if (claim.state === 'in_progress') {
        throw new ApiError('idempotency_in_progress', 'A request with this Idempotency-Key is in progress.')
      }
      if (claim.state === 'other_body') {
        throw new ApiError('idempotency_conflict', 'This Idempotency-Key was used with another body.')
      }
      return { held: { id, claim: claim.claim } }
    },
    /**
     * Extends the claim while its request runs, which may take longer than a claim lasts. The returned function stops
     * it.
     */
    keep(held: HeldClaim): () => void {
      return runEvery(clock, EXTEND_MS, () => {
        // If one extension fails, there are further ones before the claim expires.
        store.extendIdempotency(held, CLAIM_MS).catch(() => {})
      })
    },
    /**
     * Stores the answer, or why it cannot be repeated; either way the request does not run a second time. Resolves when
     * that is written, or when the caller should no longer wait.
     * @param onLost called if nothing could be written: the request was carried out and charged, but the claim stays
     * until it expires
     */
    async finish(
      held: HeldClaim,
      plan: Plan,
      { status, headers, bytes, body }: FinishedReply,
      onLost: (error: unknown) => void,
    ): Promise<void> {
      const isTooLarge = bytes > MAX_REPLY_BYTES
      const reply: StoredReply = isTooLarge
        ? { status, headers: [], body: '', omitted: 'too_large' }
        : { status, headers, body: SEALED + box.seal(body()) }
      const maxBytes = MAX_BYTES_PER_RATE * plan.requestsPerSecond
      const written = write(() => store.finishIdempotency(held, reply, maxBytes)).catch(onLost)
      await inTime(clock, written).catch(() => {})
    },
    /** Resolves when the release is written, or when the caller should no longer wait. */
    async release(held: HeldClaim): Promise<void> {
      const written = write(() => store.releaseIdempotency(held))
      await inTime(clock, written).catch((error: unknown) => {
        if (!(error instanceof StoreUnavailableError)) throw error
      })
    },
  }
}

function notKept(why: NonNullable<StoredReply['omitted']>): ApiError {
  const detail =
    why === 'too_large'
      ? `its answer was longer than ${MAX_REPLY_BYTES} bytes and is not kept`
      : 'its answer is not kept, because the answers of this account take up all the room that its plan gives'
  return new ApiError(
    'idempotency_in_progress',
    `The request with this Idempotency-Key was carried out; ${detail}. It is not carried out again.`,
    { reason: why === 'too_large' ? 'reply_too_large' : 'reply_quota' },
  )
}

function tooMany(): ApiError {
  return new ApiError(
    'rate_limited',
    'The account has used as many Idempotency-Keys in 24 hours as its plan allows. Nothing was carried out.',
    { reason: 'idempotency_quota', retry_after: RETRY_AFTER_S },
    [['Retry-After', String(RETRY_AFTER_S)]],
  )
}
