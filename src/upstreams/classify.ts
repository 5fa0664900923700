/**
 * Classifies a node's error text. The wire gives every error the code 0, so the text is the only source; this file is
 * the only one that reads it. The texts are those of rusty-kaspa 2.0 (`rpc/core/src/error.rs`,
 * `mining/errors/src/mempool.rs`, `consensus/core/src/errors/`).
 *
 * `elsewhere` means that the refusal concerns this node (its sync, its index, its mempool), so another node may answer
 * differently. Every other refusal is final. A text that matches no rule is `unknown`, which is a separate class: one
 * other node is tried, and it is never treated as any other reason.
 */
export type RefusalReason =
  | 'already_in_mempool'
  | 'already_accepted'
  | 'double_spend'
  | 'orphan'
  | 'fee_too_low'
  | 'mass_too_large'
  | 'replacement_without_conflict'
  | 'replacement_with_many_conflicts'
  | 'replacement_fee_too_low'
  | 'mempool_full'
  | 'immature_spend'
  | 'not_standard'
  | 'rule_broken'
  | 'rejected'
  | 'transaction_not_found'
  | 'no_return_address'
  | 'block_not_found'
  | 'no_merger'
  | 'no_address'
  | 'pruned'
  | 'not_in_chain'
  | 'no_utxo_index'
  | 'not_synced'
  | 'not_implemented'
  | 'method_not_served'
  | 'safe_mode'
  | 'bad_request'
  | 'node_fault'
  | 'unknown'

export interface NodeRefusal {
  readonly reason: RefusalReason
  readonly text: string
  readonly elsewhere: boolean
  /** the refused transaction, if the text names it */
  readonly transactionId?: string
  /** double_spend: the transaction that already spends the output */
  readonly otherTransactionId?: string
  /** double_spend: the output spent twice */
  readonly outpoint?: { readonly transactionId: string; readonly index: number }
  readonly feeSompi?: bigint
  readonly requiredFeeSompi?: bigint
  readonly massKind?: 'compute' | 'transient' | 'storage'
  readonly mass?: bigint
  readonly massLimit?: bigint
}

type Details = Omit<NodeRefusal, 'reason' | 'text' | 'elsewhere'>
type Rule = [reason: RefusalReason, pattern: RegExp, details?: (groups: Record<string, string>) => Details]

const NODE_LOCAL: ReadonlySet<RefusalReason> = new Set([
  'orphan',
  'mempool_full',
  'no_utxo_index',
  'not_synced',
  'method_not_served',
  'pruned',
  'block_not_found',
  'node_fault',
  'unknown',
])

const ID = '[0-9a-f]{64}'
const massKind = (text: string | undefined): NonNullable<Details['massKind']> =>
  text === 'storage' ? 'storage' : text?.includes('transient') ? 'transient' : 'compute'
const own = (g: Record<string, string>): Details => (g.id === undefined ? {} : { transactionId: g.id })

/** Reasons inside `Rejected transaction {id}: {reason}`, first match wins. */
const REJECTIONS: readonly Rule[] = [
  ['already_in_mempool', new RegExp(`^transaction (?<id>${ID}) is already in the mempool$`), own],
  ['already_accepted', new RegExp(`^transaction (?<id>${ID}) was already accepted by the consensus$`), own],
  [
    'double_spend',
    new RegExp(
      `^output \\((?<tx>${ID}), (?<index>\\d+)\\) already spent by transaction (?<other>${ID}) in the mempool$`,
    ),
    (g) => ({
      otherTransactionId: g.other ?? '',
      outpoint: { transactionId: g.tx ?? '', index: Number(g.index) },
    }),
  ],
  [
    'double_spend',
    new RegExp(
      `^orphan transaction ${ID} is double spending an input from already existing orphan (?<other>${ID})$`,
    ),
    (g) => ({ otherTransactionId: g.other ?? '' }),
  ],
  ['orphan', new RegExp(`^transaction (?<id>${ID}) is an orphan where orphan is disallowed$`), own],
  ['orphan', /^at least one outpoint of the transaction is lacking a matching UTXO entry$/],
  ['orphan', new RegExp(`^orphan transaction (?<id>${ID}) is already in the orphan pool$`), own],
  [
    'fee_too_low',
    /transaction has (?<fee>\d+) fees which is under the required amount of (?<min>\d+) for (?<kind>compute|normalized transient) mass (?<mass>\d+)/,
    (g) => ({
      feeSompi: BigInt(g.fee ?? 0),
      requiredFeeSompi: BigInt(g.min ?? 0),
      massKind: massKind(g.kind),
      mass: BigInt(g.mass ?? 0),
    }),
  ],
  [
    'mass_too_large',
    /(?:^|is not standard: )transaction (?<kind>compute|transient \(storage\)|transient|storage) mass of (?<mass>\d+) is larger than max allowed size of (?<limit>\d+)$/,
    (g) => ({ massKind: massKind(g.kind), mass: BigInt(g.mass ?? 0), massLimit: BigInt(g.limit ?? 0) }),
  ],
  ['replacement_without_conflict', /^replace by fee found no double spending transaction in the mempool$/],
  ['replacement_with_many_conflicts', /^replace by fee found more than one double spending transaction/],
  [
    'replacement_fee_too_low',
    /^fee rate per contextual mass gram is not greater than the fee rate of the replaced/,
  ],
  ['mempool_full', /^transaction could not be added to the mempool because it's full/],
  ['mempool_full', /^number of high-priority transactions in orphan pool/],
  ['immature_spend', /^one of the transaction inputs spends an immature UTXO/],
  ['not_standard', new RegExp(`^transaction ${ID} is not standard: `)],
  [
    'rule_broken',
    /^(failed to verify (the|empty) signature script|transaction (has|version|input|output|total|tries|subnetwork|gas of)|coinbase |covenants error|input \d+ sig op count|calculated contextual mass|contextual mass|one of the transaction sequence locks|outputs list is empty|outputs are not strictly ordered|authorizing input index|output index|at least one outpoint of the transaction is impossible|orphan transaction size of|script public key of coinbase output|The genesis covenant group array|Rejected tx [0-9a-f]+ from mempool due to incomputable storage mass)/,
  ],
  ['rule_broken', new RegExp(`^transaction ${ID} is invalid$`)],
  ['node_fault', /^transactions in mempool form a cycle$|doesn't exist in (transaction pool|orphan)/],
]

const OTHERS: readonly Rule[] = [
  ['transaction_not_found', new RegExp(`^Transaction (?<id>${ID}) not found$`), own],
  [
    'transaction_not_found',
    /No transaction specified$|Transaction not found at given accepting daa score$|Did not find (queried transactions|containing_acceptance)/,
  ],
  [
    'no_return_address',
    /Transaction return address is coinbase$|Transaction was found but not standard$|Utxo entry is not filled$/,
  ],
  ['no_utxo_index', /^Method unavailable\. Run the node with the --utxoindex argument\.$/],
  ['not_synced', /consensus is currently in a transitional ibd state/],
  ['not_synced', /^(difficulty error: )?(window data has only \d+ entries|min window timestamp is equal)/],
  ['not_implemented', /^(Not implemented|Feature not supported)$/],
  ['method_not_served', /^RPC method not found$/],
  ['method_not_served', /^Method unavailable\. No connection manager|^Mining on mainnet is not supported/],
  ['safe_mode', /^Method unavailable in safe mode\./],
  ['pruned', /is too deep \(before the current pruning point\)|does not have retention root/],
  ['pruned', /pruning point (is not at sufficient depth|[0-9a-f]+ is not on selected parent chain)/],
  [
    'pruned',
    /^(utxo inquirer error: |utxo return address could not be found -> )?Did not find (acceptance data|a utxo diff|compact header|block|utxo entry|index|a hash at index|tip data)/,
  ],
  ['block_not_found', /cannot find (full block|header) [0-9a-f]+/],
  ['block_not_found', /^some data is missing for block |^[Bb]lock [0-9a-f]+ is invalid/],
  ['no_merger', /^Block [0-9a-f]+ doesn't have any merger block\.$/],
  [
    'not_in_chain',
    /is not in the selected parent chain|low hash .* is (not (in|on) selected parent chain|higher than high hash)/,
  ],
  ['not_in_chain', /^block [0-9a-f]+ is genesis and has no selected parent$/],
  ['bad_request', /^request deserialization error/],
  ['bad_request', /^transaction query must either not filter transactions or include orphans$/],
  ['bad_request', /^If includeTransactions is set, then includeBlockVerboseData must be set as well\.$/],
  ['bad_request', /^Requested window size \d+ is larger than |under min allowed window size/],
  ['bad_request', /^Coinbase payload is above max length|^coinbase payload (length|script public key)/],
  // Concerns the answer, not the request: a script on the chain has no address form.
  ['no_address', /^The address is invalid$/],
  ['bad_request', /^The address (has|prefix|contains|checksum|payload|array)/],
  ['bad_request', /^(Integer downsize conversion|(Hex|Blue work|Integer|Ip address) parsing) error/],
  ['bad_request', /^(Invalid script class|Missing required field|Primitive to enum conversion error)/],
  ['bad_request', /^(Parents by level|CompressedParents) /],
  [
    'bad_request',
    /(sig_op_count|compute_budget) is inconsistent with transaction version|^storageMass and mass must match/,
  ],
  ['node_fault', /^response serialization error|^RpcCtl dispatch error|^RPC Server \(remote error\)/],
  ['node_fault', /^consensus converter required |^got unexpected pruning point$|^traversal error: /],
  ['node_fault', /acceptance data must also be in the same block in this case$/],
  [
    'node_fault',
    /^(blue block [0-9a-f]+ was not found in|missing (own red )?reward output|total reward amount)/,
  ],
]

const REJECTED = new RegExp(`^Rejected transaction (?<id>${ID}): (?<inner>.*)$`, 's')
/** No text of the node itself is longer. Anything cut off is an echo of the caller's input. */
const MAX_TEXT = 2_000

export function classifyRefusal(message: string): NodeRefusal {
  const text = message.length > MAX_TEXT ? message.slice(0, MAX_TEXT) : message
  const rejected = REJECTED.exec(text)?.groups
  if (rejected === undefined) return match(OTHERS, text, text) ?? { reason: 'unknown', text, elsewhere: true }
  const transactionId = rejected.id ?? ''
  const known = match(REJECTIONS, rejected.inner ?? '', text)
  if (known === undefined) return { reason: 'rejected', text, elsewhere: false, transactionId }
  // The mempool holds this very transaction, so an earlier attempt arrived.
  if (known.reason === 'double_spend' && known.otherTransactionId === transactionId) {
    return { reason: 'already_in_mempool', text, elsewhere: false, transactionId }
  }
  return { ...known, transactionId }
}

function match(rules: readonly Rule[], part: string, text: string): NodeRefusal | undefined {
  for (const [reason, pattern, details] of rules) {
    const found = pattern.exec(part)
    if (found === null) continue
    return { reason, text, elsewhere: NODE_LOCAL.has(reason), ...details?.(found.groups ?? {}) }
  }
  return undefined
}

/** The network has the transaction, so for a submission this refusal means success. */
export function isAlreadyKnown(refusal: NodeRefusal): boolean {
  return refusal.reason === 'already_in_mempool' || refusal.reason === 'already_accepted'
}
