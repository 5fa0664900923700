/**
 * Submits a signed transaction and determines its outcome.
 *
 *   send ──accepted──▶ done
 *     ├──"already in the mempool", "already accepted"──▶ done: an earlier attempt arrived
 *     ├──refused──▶ refused. But if an earlier attempt got no answer, or the node reports missing or spent inputs (a
 *     │             node soon forgets what it accepted), the network is searched for the transaction first. After an
 *     │             attempt without an answer, the outcome stays in doubt if nobody answers that search, or if the
 *     │             refusal concerns the node and not the transaction
 *     └──no answer, or one without the transaction's id──▶ searched for if it was answered, then sent again until the
 *                   deadline; sending the same bytes twice is harmless
 *
 * A transaction that the network has is never reported as failed; an unknown outcome is reported as in doubt.
 *
 * All submissions of all processes go to the first configured node that is healthy. Nodes relay transactions with a
 * delay, so another node could accept a second spend of the same output, or not know the transaction that a replacement
 * replaces.
 */
import type { Transaction } from '../../../core/chain/transaction.ts'
import { writeTransaction } from '../../../core/chain/transaction-json.ts'
import { StoreUnavailableError } from '../../../core/store-unavailable.ts'
import { type Clock, elapsedMs } from '../../../kit/clock.ts'
import { type JsonReading, parseExactInSlices } from '../../../kit/exact-json.ts'
import { elementsOf, hasList } from '../../../kit/json-slices.ts'
import { nextTurn } from '../../../kit/time-slices.ts'
import { addressOfScript } from '../../../parser/script-address.ts'
import { transactionId } from '../../../parser/transaction-id.ts'
import type { ChainStore } from '../../../store/chain.ts'
import type { CallFailure } from '../../../upstreams/call-outcome.ts'
import { isAlreadyKnown, type NodeRefusal, type RefusalReason } from '../../../upstreams/classify.ts'
import type { Upstreams } from '../../../upstreams/pool.ts'
import type { ValidCall } from '../../../upstreams/validate-params.ts'
import { readMempoolEntry, TRANSACTION_ANSWER_LIMITS } from './mempool-entry.ts'

export type Sent =
  | {
      readonly ok: true
      readonly txId: string
      readonly attempts: number
      /**
       * Where the network already had the transaction, so that a node refused it; undefined if it was accepted just
       * now.
       */
      readonly known: KnownPlace | undefined
      /** The refusal, unless it may be due to an earlier attempt of this call. */
      readonly refusal: CallFailure | undefined
      /** The node's answer, or an equivalent one if the network already had the transaction. */
      readonly bytes: Buffer
    }
  | {
      readonly ok: false
      readonly txId: string
      readonly attempts: number
      readonly failure: CallFailure
      /** The transaction may nevertheless have reached the network. */
      readonly inDoubt: boolean
    }

type KnownPlace = 'mempool' | 'accepted'

/** The result of a search; `unanswered` means that no node could tell. */
type Finding = KnownPlace | 'absent' | 'unanswered'

/** True once the caller has disconnected; nothing more is sent from then on. */
type IsAbandoned = (() => boolean) | undefined

export type Submitter = ReturnType<typeof createSubmitter>

const SEND_DEADLINE_MS = 12_000
const PAUSE_MS = 250
const POLL_MS = 200
const LOOK_DEADLINE_MS = 2_000
const LOOKS = 3
/** After this many misses the same bytes are sent again, to learn whether they have been accepted in the meantime. */
const MISSES_PER_PROBE = 5

/** A node also gives these reasons for a transaction that it accepted too long ago to remember. */
const SPENT_INPUTS: readonly RefusalReason[] = ['orphan', 'double_spend']

/** Refusals that concern the transaction. All others concern the node. */
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

/** Whether a node that did not answer would have refused the transaction for the same reason. */
function isVerdict({ reason }: NodeRefusal): boolean {
  return REJECTIONS.has(reason) && reason !== 'mempool_full'
}

export function createSubmitter(deps: {
  upstreams: Upstreams
  index: Pick<ChainStore, 'transaction'>
  clock: Clock
}) {
  const { upstreams, index, clock } = deps

  /** Undefined while the store is away, which must not make a transaction that was sent look like a failure. */
  async function isConfirmed(txId: string): Promise<boolean | undefined> {
    try {
      return (await index.transaction(txId))?.status === 'confirmed'
    } catch (error) {
      if (error instanceof StoreUnavailableError) return undefined
      throw error
    }
  }

  /** Undefined if nobody answered. */
  async function inMempool(txId: string, deadlineMs: number): Promise<boolean | undefined> {
    const params = { transactionId: txId, includeOrphanPool: true }
    const found = await upstreams.callRaw('getMempoolEntry', params, { deadlineMs, asConfigured: true })
    if (found.ok) {
      const answer = await parseAnswer(found.bytes)
      return (answer.ok && (await readMempoolEntry(answer.value, txId)) !== undefined) || undefined
    }
    const { failure } = found
    return failure.kind === 'refused' && failure.refusal.reason === 'transaction_not_found'
      ? false
      : undefined
  }

  /** An unspent output of the transaction proves that it was accepted. Undefined if nobody answered. */
  async function isAccepted(transaction: Transaction, txId: string): Promise<boolean | undefined> {
    const addresses = transaction.outputs.flatMap(
      ({ scriptPublicKey }) => addressOfScript(scriptPublicKey, upstreams.network) ?? [],
    )
    const [first] = addresses
    if (first === undefined) return undefined
    const params = { addresses: [first] }
    const found = await upstreams.callRaw('getUtxosByAddresses', params, { deadlineMs: LOOK_DEADLINE_MS })
    if (!found.ok || !(await hasList(found.bytes, 'entries'))) return undefined
    // In turns of the loop, because an address can have a hundred megabytes of outputs.
    for await (const entry of elementsOf(found.bytes, 'entries')) if (entry.includes(txId)) return true
    return false
  }

  async function lookOnce(transaction: Transaction, txId: string): Promise<Finding> {
    const pooled = await inMempool(txId, LOOK_DEADLINE_MS)
    if (pooled) return 'mempool'
    const accepted = await isAccepted(transaction, txId)
    if (accepted) return 'accepted'
    return pooled === undefined || accepted === undefined ? 'unanswered' : 'absent'
  }

  /** Where the network has a transaction that a node has just refused. */
  async function findKnown(
    refusal: NodeRefusal,
    transaction: Transaction,
    inDoubt: boolean,
  ): Promise<Finding> {
    if (isAlreadyKnown(refusal)) return refusal.reason === 'already_in_mempool' ? 'mempool' : 'accepted'
    const forgotten = SPENT_INPUTS.includes(refusal.reason)
    if (!inDoubt && !forgotten) return 'absent'
    const txId = idOf(transaction)
    const confirmed = await isConfirmed(txId)
    if (confirmed) return 'accepted'
    let finding = await lookOnce(transaction, txId)
    for (let looks = 1; inDoubt && looks < LOOKS && !isKnown(finding); looks++) {
      await clock.sleep(PAUSE_MS)
      finding = await lookOnce(transaction, txId)
    }
    return confirmed === undefined && finding === 'absent' ? 'unanswered' : finding
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
      inDoubt ||= outcome.inDoubt || outcome.ok
      if (outcome.ok) {
        if ((await answeredId(outcome.bytes)) === txId)
          return { ok: true, txId, attempts, known: undefined, refusal: undefined, bytes: outcome.bytes }
        const known = await lookOnce(transaction, txId)
        if (isKnown(known))
          return { ok: true, txId, attempts, known, refusal: undefined, bytes: idAnswer(txId) }
      }
      const failure: CallFailure = outcome.ok
        ? { kind: 'malformed_answer', detail: 'not the id of the transaction', node: outcome.node }
        : outcome.failure
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

  /** True if the network has the transaction, false if it refuses it, undefined if that is unknown. */
  async function probe(
    call: ValidCall,
    transaction: Transaction,
    deadlineMs: number,
  ): Promise<boolean | undefined> {
    const outcome = await upstreams.sendRaw(call, { deadlineMs, asConfigured: true })
    if (outcome.ok) return (await answeredId(outcome.bytes)) === idOf(transaction) || undefined
    if (outcome.failure.kind !== 'refused') return undefined
    const { refusal } = outcome.failure
    const finding = await findKnown(refusal, transaction, false)
    if (isKnown(finding)) return true
    return finding === 'absent' && isVerdict(refusal) ? false : undefined
  }

  /** Whether a submitted transaction was seen in time, either in the mempool or accepted. */
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
      // A transaction may be accepted between two polls and is then no longer in any mempool.
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

/** Hashing a large transaction takes a few milliseconds, so it is done once. */
function idOf(transaction: Transaction): string {
  const known = ids.get(transaction)
  if (known !== undefined) return known
  const id = transactionId(transaction)
  ids.set(transaction, id)
  return id
}

/** The id that a node names in its answer to a submission. */
async function answeredId(bytes: Buffer): Promise<unknown> {
  const answer = await parseAnswer(bytes)
  return answer.ok ? (answer.value as { transactionId?: unknown } | null)?.transactionId : undefined
}

/** An answer that is larger than one with a transaction can be is unreadable, and not even decoded. */
async function parseAnswer(bytes: Buffer): Promise<JsonReading> {
  const { maxChars } = TRANSACTION_ANSWER_LIMITS
  if (bytes.length > maxChars) return { ok: false, message: `longer than ${maxChars} bytes`, at: maxChars }
  return parseExactInSlices(bytes.toString('utf8'), TRANSACTION_ANSWER_LIMITS)
}

function idAnswer(txId: string): Buffer {
  return Buffer.from(`{"transactionId":"${txId}"}`)
}
