import { type Static, Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { MAX_TRANSACTION_JSON_BYTES, readTransaction } from '../../../core/chain/transaction-json.ts'
import { ApiError, faultsError } from '../../../core/errors.ts'
import { flagField, integerField, textField } from '../../../core/rows/fields.ts'
import { nextTurn } from '../../../kit/time-slices.ts'
import { endpoint } from '../services.ts'
import { refusalDetail } from './refusal-detail.ts'
import { REJECTIONS, type Sent } from './submit-transaction.ts'
import { SignedTransaction } from './transaction-schema.ts'
import { upstreamError } from './upstream-error.ts'

const SubmitRequest = Type.Object(
  {
    transaction: SignedTransaction,
    allow_orphan: Type.Optional(
      flagField(
        'Take it before its parents are known. Not together with `replace_by_fee`: a replacement is never taken as an orphan.',
      ),
    ),
    replace_by_fee: Type.Optional(
      flagField('Replace the one transaction in the mempool that it conflicts with.'),
    ),
    wait_for_mempool: Type.Optional(flagField('Answer when the network shows the transaction.')),
    wait_timeout_seconds: Type.Optional(
      Type.Number({ minimum: 0.5, maximum: 30, default: 5, description: 'How long to wait for that.' }),
    ),
  },
  { additionalProperties: false },
)
type SubmitRequest = Static<typeof SubmitRequest>

const SubmitResult = Type.Object({
  tx_id: textField('Id of the transaction, computed here.'),
  submitted: flagField('Whether the network has it.'),
  mempool_seen: flagField(
    'Whether it was seen in a mempool; false for one that had left it by acceptance before.',
  ),
  already_accepted: flagField('Whether the network had accepted it before this call.'),
  attempts: integerField('Calls to nodes; all looks at the mempool together are one.'),
  credits_used: integerField(
    'Price of this answer. `X-Credits-Charged` is what was charged: less where the balance does not cover it.',
  ),
})

/** The node's call for replacements has no such option, and ignoring it would do less than was requested. */
const NO_ORPHAN = {
  path: 'allow_orphan',
  message: 'cannot be true together with replace_by_fee: a replacement is never taken as an orphan',
}

const cost = base(10).per('attempt', 5)
const DEFAULT_WAIT_SECONDS = 5

export const submit = endpoint({
  path: 'POST /v1/transactions/submit',
  doc: {
    tag: 'node',
    summary: 'Submit a signed transaction',
    description:
      'Hands the transaction to a node and to another one where the first does not answer. "Already in the mempool" and "already accepted" are success, so sending the same transaction again does no harm. A refusal is 422 `transaction_rejected`, with `reason` and what the node said about it (`required_fee_sompi`, `other_tx_id`, `mass_limit` …). When a node that did not answer may have taken it, the error has `in_doubt: true` and `tx_id`.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'submit' },
  body: {
    name: 'SubmitRequest',
    schema: SubmitRequest,
    // This transaction has already been accepted, so sending it again succeeds and moves no coins.
    example: ({ transaction }) => (transaction === undefined ? undefined : { transaction }),
    maxBytes: () => MAX_TRANSACTION_JSON_BYTES,
  },
  demand: (body) => {
    const { wait_for_mempool: wait = false } = body as SubmitRequest
    return { requests: 1, units: { attempt: wait ? 2 : 1 }, heavyCalls: 0 }
  },
  cost,
  returns: object('SubmitResult', SubmitResult),
  errors: ['transaction_rejected', 'upstream_error', 'upstream_unavailable', 'upstream_timeout'],
  run: async ({ body, services, isGone }) => {
    const request = body as SubmitRequest
    const { upstreams, submitter } = services.chain
    await nextTurn()
    const read = readTransaction(request.transaction)
    if (!read.ok) throw bodyError(read.faults)
    if (request.replace_by_fee === true && request.allow_orphan === true) throw bodyError([NO_ORPHAN])
    const { transaction } = request
    const prepared =
      request.replace_by_fee === true
        ? upstreams.prepare('submitTransactionReplacement', { transaction })
        : upstreams.prepare('submitTransaction', { transaction, allowOrphan: request.allow_orphan ?? false })
    if (!prepared.ok) throw bodyError(prepared.faults)
    // Validating and hashing a large transaction take milliseconds each, so other requests run in between.
    await nextTurn()
    const sent = await submitter.send(prepared.call, read.transaction, isGone)
    if (!sent.ok) throw refusalOf(sent)
    const wait = request.wait_for_mempool === true
    const waitMs = (request.wait_timeout_seconds ?? DEFAULT_WAIT_SECONDS) * 1000
    // There is no need to wait for a transaction that the network already has.
    const isWaited = wait && sent.known === undefined
    const seen =
      sent.known === 'mempool' ||
      (isWaited && (await submitter.waitUntilSeen(read.transaction, waitMs, isGone)))
    const attempts = sent.attempts + (isWaited ? 1 : 0)
    const value = {
      tx_id: sent.txId,
      submitted: true,
      mempool_seen: seen,
      // If there is no refusal, an earlier attempt of this call may have been accepted and its answer lost.
      already_accepted: sent.known === 'accepted' && sent.refusal !== undefined,
      attempts,
      credits_used: cost.charge({ attempt: attempts }),
    }
    return { kind: 'object', value, units: { attempt: attempts } }
  },
})

function bodyError(faults: readonly { path: string; message: string }[]): ApiError {
  return faultsError(
    faults.map(({ path, message }) => ({
      param: path,
      error: 'invalid_param' as const,
      message: `${path} ${message}.`,
    })),
  )
}

function refusalOf(sent: Sent & { ok: false }): ApiError {
  const { failure, txId } = sent
  if (failure.kind === 'refused' && REJECTIONS.has(failure.refusal.reason) && !sent.inDoubt) {
    const detail = Object.entries(refusalDetail(failure.refusal)).map(([name, value]) => [name, plain(value)])
    const message = `The node refused the transaction: ${failure.refusal.text}.`
    return new ApiError('transaction_rejected', message, { ...Object.fromEntries(detail), tx_id: txId })
  }
  return upstreamError(failure, { tx_id: txId, in_doubt: sent.inDoubt })
}

/** Amounts are integers; those above 2^53 are text. */
function plain(value: string | number | bigint): string | number {
  if (typeof value !== 'bigint') return value
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : String(value)
}
