/**
 * Submits a signed transaction and determines its outcome.
 *
 *   send ──taken──▶ done
 *     ├──"already in the mempool", "already accepted"──▶ done: an earlier attempt arrived
 *     ├──refused──▶ refused; but when an earlier try got no answer, or its inputs are called missing or spent
 *     │             (a node soon forgets what it accepted), first look whether the network has it. It stays in doubt
 *     │             when nobody answered that look, or when the refusal is about the node and not the transaction
 *     └──no answer──▶ sent again until the deadline: the same bytes twice do no harm
 *
 * A transaction that the network has is never reported as failed; an unknown outcome is reported as in doubt.
 *
 * All submissions of all processes go to the first configured node that is well. Nodes tell each other of transactions
 * with a delay: another node would take a second spend of the same output, and a replacement would find less than it
 * replaces.
 */
import type { Transaction } from '../../../core/chain/transaction.ts'
import { writeTransaction } from '../../../core/chain/transaction-json.ts'
import { type Clock, elapsedMs } from '../../../kit/clock.ts'
import { nextTurn } from '../../../kit/time-slices.ts'
import { addressOfScript } from '../../../parser/script-address.ts'
import { transactionId } from '../../../parser/transaction-id.ts'
import type { ChainStore } from '../../../store/chain.ts'
import type { CallFailure } from '../../../upstreams/call-outcome.ts'
import { isAlreadyKnown, type NodeRefusal, type RefusalReason } from '../../../upstreams/classify.ts'
import type { Upstreams } from '../../../upstreams/pool.ts'
import type { ValidCall } from '../../../upstreams/validate-params.ts'

export type Sent =
  | {
      readonly ok: true
      readonly txId: string
      readonly attempts: number
      /** Where the network had it already, and so a node refused it; undefined for one that was taken now. */
      readonly known: KnownPlace | undefined
      /** That refusal, unless it is about an earlier attempt of this call. */
      readonly refusal: CallFailure | undefined
      /** The node's answer; ours where the answer itself got lost. */
      readonly bytes: Buffer
    }
  | {
      readonly ok: false
      readonly txId: string
      readonly attempts: number
      readonly failure: CallFailure
      /** The transaction may have reached the network all the same. */
      readonly inDoubt: boolean
    }

type KnownPlace = 'mempool' | 'accepted'

/** What a search found. `unanswered`: it may be there, nobody could tell. */
type Finding = KnownPlace | 'absent' | 'unanswered'

/** Once true, the caller has disconnected: nothing more is sent. */
type IsAbandoned = (() => boolean) | undefined

export type Submitter = ReturnType<typeof createSubmitter>

const SEND_DEADLINE_MS = 12_000
const PAUSE_MS = 250
const POLL_MS = 200
const LOOK_DEADLINE_MS = 2_000
const LOOKS = 3
/** Misses after which the same bytes are sent again, to learn whether they were accepted meanwhile. */
const MISSES_PER_PROBE = 5

/** A node also answers this for a transaction that was accepted too long ago to be remembered. */
const SPENT_INPUTS: readonly RefusalReason[] = ['orphan', 'double_spend']

/** Refusals that concern the transaction. All others concern the nodes. */
export const REJECTIONS: ReadonlySet<RefusalReason> = new Set([
  'double_spend',
  'orphan',
  'fee_too_low',
  'mass_too_large',
  'replacement_without_conflict',
  'replacement_with_many_conflicts',
  'replacement_fee_too_low',
  'mempool_full',
  'immature_spend',
  'not_standard',
  'rule_broken',
  'rejected',
])

/** Whether the node that did not answer will have refused it for the same reason. */
function isVerdict({ reason }: NodeRefusal): boolean {
  return REJECTIONS.has(reason) && reason !== 'mempool_full'
}

export function createSubmitter(deps: {
  upstreams: Upstreams
  index: Pick<ChainStore, 'transaction'>
  clock: Clock
}) {
  const { upstreams, index, clock } = deps
  const isConfirmed = async (txId: string) => (await index.transaction(txId))?.status === 'confirmed'

  /** Undefined: nobody answered. */
  async function inMempool(txId: string, deadlineMs: number): Promise<boolean | undefined> {
    const params = { transactionId: txId, includeOrphanPool: true }
    const found = await upstreams.callRaw('getMempoolEntry', params, { deadlineMs, asConfigured: true })
    if (found.ok) return true
    const { failure } = found
    return failure.kind === 'refused' && failure.refusal.reason === 'transaction_not_found'
      ? false
      : undefined
  }

  /** An unspent output of the transaction proves that it was accepted. Undefined: nobody answered. */
  async function isAccepted(transaction: Transaction, txId: string): Promise<boolean | undefined> {
    const addresses = transaction.outputs.flatMap(
      ({ scriptPublicKey }) => addressOfScript(scriptPublicKey, upstreams.network) ?? [],
    )
    const [first] = addresses
    if (first === undefined) return undefined
    const params = { addresses: [first] }
    const found = await upstreams.callRaw('getUtxosByAddresses', params, { deadlineMs: LOOK_DEADLINE_MS })
    return found.ok ? found.bytes.includes(txId) : undefined
  }

  async function lookOnce(transaction: Transaction, txId: string): Promise<Finding> {
    const pooled = await inMempool(txId, LOOK_DEADLINE_MS)
    if (pooled) return 'mempool'
    const accepted = await isAccepted(transaction, txId)
    if (accepted) return 'accepted'
    return pooled === undefined || accepted === undefined ? 'unanswered' : 'absent'
  }

  /** Where the network has what a node has just refused. */
  async function findKnown(
    refusal: NodeRefusal,
    transaction: Transaction,
    inDoubt: boolean,
  ): Promise<Finding> {
    if (isAlreadyKnown(refusal)) return refusal.reason === 'already_in_mempool' ? 'mempool' : 'accepted'
    const forgotten = SPENT_INPUTS.includes(refusal.reason)
    if (!inDoubt && !forgotten) return 'absent'
    const txId = idOf(transaction)
    if (await isConfirmed(txId)) return 'accepted'
    let finding = await lookOnce(transaction, txId)
    for (let looks = 1; inDoubt && looks < LOOKS && !isKnown(finding); looks++) {
      await clock.sleep(PAUSE_MS)
      finding = await lookOnce(transaction, txId)
    }
    return finding
  }

  /** `call` is a valid submitTransaction or submitTransactionReplacement of this transaction. */
  async function send(call: ValidCall, transaction: Transaction, isAbandoned?: IsAbandoned): Promise<Sent> {
    const txId = idOf(transaction)
    await nextTurn()
    const endsAtMs = elapsedMs(clock) + SEND_DEADLINE_MS
    let attempts = 0
    let inDoubt = false
    for (;;) {
      const deadlineMs = Math.max(PAUSE_MS, endsAtMs - elapsedMs(clock))
      const outcome = await upstreams.sendRaw(call, { deadlineMs, isAbandoned, asConfigured: true })
      attempts += outcome.attempts
      inDoubt ||= outcome.inDoubt
      if (outcome.ok)
        return { ok: true, txId, attempts, known: undefined, refusal: undefined, bytes: outcome.bytes }
      const { failure } = outcome
      if (failure.kind === 'refused') {
        const finding = await findKnown(failure.refusal, transaction, inDoubt)
        if (isKnown(finding)) {
          const refusal = inDoubt ? undefined : failure
          return { ok: true, txId, attempts, known: finding, refusal, bytes: idAnswer(txId) }
        }
        const isSettled = finding === 'absent' && isVerdict(failure.refusal)
        return { ok: false, txId, attempts, failure, inDoubt: inDoubt && !isSettled }
      }
      const left = failure.kind === 'cancelled'
      if (left || !inDoubt || endsAtMs - elapsedMs(clock) < PAUSE_MS * 2) {
        return { ok: false, txId, attempts, failure, inDoubt }
      }
      await clock.sleep(PAUSE_MS)
    }
  }

  /** True: the network has it. False: it refuses it. Undefined: unknown. */
  async function probe(
    call: ValidCall,
    transaction: Transaction,
    deadlineMs: number,
  ): Promise<boolean | undefined> {
    const outcome = await upstreams.sendRaw(call, { deadlineMs, asConfigured: true })
    if (outcome.ok) return true
    if (outcome.failure.kind !== 'refused') return undefined
    return isKnown(await findKnown(outcome.failure.refusal, transaction, false))
  }

  /** Whether a transaction that a node has taken was shown within the time: in the mempool, or out of it by acceptance. */
  async function waitUntilSeen(
    transaction: Transaction,
    waitMs: number,
    isAbandoned?: IsAbandoned,
  ): Promise<boolean> {
    const txId = idOf(transaction)
    const prepared = upstreams.prepare('submitTransaction', { transaction: writeTransaction(transaction) })
    const endsAtMs = elapsedMs(clock) + waitMs
    const leftMs = () => endsAtMs - elapsedMs(clock)
    for (let misses = 0; leftMs() > 0 && !isAbandoned?.(); misses++) {
      if (await inMempool(txId, Math.min(LOOK_DEADLINE_MS, leftMs()))) return true
      // A transaction may be accepted between two polls: then it is in no mempool any more.
      if (prepared.ok && misses % MISSES_PER_PROBE === 1 && leftMs() > 0) {
        const known = await probe(prepared.call, transaction, Math.min(LOOK_DEADLINE_MS, leftMs()))
        if (known !== undefined) return known
      }
      if (leftMs() > 0) await clock.sleep(Math.min(POLL_MS, leftMs()))
    }
    return false
  }

  return { send, waitUntilSeen }
}

function isKnown(finding: Finding): finding is KnownPlace {
  return finding === 'mempool' || finding === 'accepted'
}

const ids = new WeakMap<Transaction, string>()

/** Hashing a large transaction takes a few milliseconds: once is enough. */
function idOf(transaction: Transaction): string {
  const known = ids.get(transaction)
  if (known !== undefined) return known
  const id = transactionId(transaction)
  ids.set(transaction, id)
  return id
}

function idAnswer(txId: string): Buffer {
  return Buffer.from(`{"transactionId":"${txId}"}`)
}
