import { hash } from 'node:crypto'
import { ApiError } from '../core/errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { SecretBox } from '../kit/secret-box.ts'
import type { AccountsStore, StoredReply } from '../store/accounts.ts'

/**
 * The same key with the same body gives the first answer again, for a day, whatever happens to the network. An
 * answer may carry a secret that is shown once, so it is stored sealed.
 */
const REMEMBERED_MS = 24 * 3_600_000
/** A claim of a process that died is free again after this time. */
const CLAIM_MS = 60_000
/** Stands before a sealed body; answers of older releases have none and expire within a day. */
const SEALED = 'sealed:'
const KEY_FORM = /^[\x21-\x7e]{1,255}$/

export interface Idempotency {
  /** The stored answer, or undefined when the caller now holds the claim and has to settle it. */
  begin(claim: IdempotencyScope): Promise<StoredReply | undefined>
  finish(scope: IdempotencyScope, reply: StoredReply): Promise<void>
  release(scope: IdempotencyScope): Promise<void>
}

export interface IdempotencyScope {
  /** Whose key it is: two accounts may use the same text. */
  owner: string
  route: string
  key: string
  body: Buffer
}

export function createIdempotency(deps: { store: AccountsStore; clock: Clock; box: SecretBox }): Idempotency {
  const { store, clock, box } = deps
  const idOf = (scope: IdempotencyScope) =>
    hash('sha256', JSON.stringify([scope.owner, scope.route, scope.key]), 'hex')
  const opened = (body: string) => (body.startsWith(SEALED) ? box.open(body.slice(SEALED.length)) : body)
  return {
    async begin(scope) {
      if (!KEY_FORM.test(scope.key)) {
        throw new ApiError('invalid_param', 'Idempotency-Key must have 1 to 255 visible ASCII characters.', {
          param: 'Idempotency-Key',
        })
      }
      const nowMs = clock.now()
      const claim = await store.claimIdempotency({
        id: idOf(scope),
        bodyHash: hash('sha256', scope.body, 'hex'),
        nowMs,
        claimedUntilMs: nowMs + CLAIM_MS,
        expiresAtMs: nowMs + REMEMBERED_MS,
      })
      if (claim.state === 'done') return { ...claim.reply, body: opened(claim.reply.body) }
      if (claim.state === 'in_progress') {
        throw new ApiError('idempotency_in_progress', 'A request with this Idempotency-Key is in progress.')
      }
      if (claim.state === 'other_body') {
        throw new ApiError('idempotency_conflict', 'This Idempotency-Key was used with another body.')
      }
      return undefined
    },
    finish: (scope, reply) =>
      store.finishIdempotency(idOf(scope), { ...reply, body: SEALED + box.seal(reply.body) }),
    release: (scope) => store.releaseIdempotency(idOf(scope)),
  }
}
