/**
 * The tokens of a step's transactions: reads all entries that they need, then applies one transaction after the other.
 */
import type { Network } from '../../core/chain/network.ts'
import type { SpentOutput } from '../../core/chain/transaction.ts'
import { FOREIGN_ADDRESS, type Krc20Operation } from '../../parser/krc20-operation.ts'
import type { ParsedTransaction } from '../../parser/parse-transaction.ts'
import type { ChainStore } from '../../store/chain.ts'
import { holderKey, type TokenChange, tokenKey } from '../../store/tokens.ts'
import { applyCovenantTokens, newHolders, spentCovenants } from './covenant-tokens.ts'
import { applyKrc20, holdersOfCall, type Krc20Call, orderKey, tokenOfCall } from './krc20-rules.ts'
import { TokenEntries } from './token-entries.ts'
import type { TokenMove } from './token-move.ts'

export interface TokenTransaction {
  readonly parsed: ParsedTransaction
  readonly spent: readonly (SpentOutput | null)[]
  readonly fee: bigint | null
  readonly blockTimeMs: number
}

export type ApplyTokens = (transaction: TokenTransaction) => {
  readonly moves: readonly TokenMove[]
  readonly changes: readonly TokenChange[]
}

const NOTHING = { moves: [], changes: [] }

/** `without` lists chain blocks that are removed in the same step; undefined if that step forgets all entries. */
export async function readTokens(
  transactions: readonly TokenTransaction[],
  {
    store,
    network,
    without,
  }: { store: ChainStore; network: Network; without: readonly string[] | undefined },
): Promise<ApplyTokens> {
  const own = transactions.filter(hasTokens)
  const entries = new TokenEntries(
    own.length === 0 || without === undefined
      ? new Map()
      : await storedEntries(own, { store, network, without }),
  )
  return (transaction) => {
    if (!hasTokens(transaction)) return NOTHING
    const { parsed, spent, fee, blockTimeMs: timeMs } = transaction
    const moves = applyCovenantTokens(parsed, spent, { network, timeMs }, entries)
    const context = { txId: parsed.tx_id, network, timeMs, fee, outputs: parsed.outputs }
    for (const call of callsOf(transaction)) {
      const move = applyKrc20(call, context, entries)
      if (move !== null) moves.push(move)
    }
    return { moves, changes: entries.takeChanges() }
  }
}

function hasTokens({ parsed }: TokenTransaction): boolean {
  return parsed.details.krc20 !== undefined || parsed.details.covenant !== undefined
}

/** Reads in two rounds, because the owners of spent outputs are known only after those outputs have been read. */
async function storedEntries(
  transactions: readonly TokenTransaction[],
  { store, network, without }: { store: ChainStore; network: Network; without: readonly string[] },
) {
  const keys = new Set<string>()
  for (const { parsed, spent } of transactions) {
    for (const id of parsed.details.covenant?.covenant_ids ?? []) keys.add(tokenKey(id))
    for (const { key } of spentCovenants(parsed, spent)) keys.add(key)
    for (const { token, holder } of newHolders(parsed, network)) keys.add(holderKey(token, holder))
    for (const call of callsOf({ parsed, spent })) {
      const token = tokenOfCall(call, parsed.tx_id)
      if (token === null) continue
      keys.add(tokenKey(token))
      for (const holder of holdersOfCall(call, parsed)) keys.add(holderKey(token, holder))
      if (call.sender !== null) keys.add(orderKey(token, call.sender, call.spentTxId))
    }
  }
  const found = await store.tokenEntries([...keys], without)
  const owners = [...found.values()].flatMap(({ kind, token, value }) =>
    kind === 'output' ? [holderKey(token, (JSON.parse(value) as { holder: string }).holder)] : [],
  )
  const rest = owners.filter((key) => !keys.has(key))
  return rest.length === 0 ? found : new Map([...found, ...(await store.tokenEntries(rest, without))])
}

/**
 * The reference indexer looks at the first input only, except for `send`. An operation in the payload replaces the
 * revealed ones unless one of those is a `send`; the payload itself cannot be a `send`. A payload that the reference
 * indexer does not read in, such as `blacklist`, replaces nothing; one that it refuses only on execution does replace
 * them.
 */
function callsOf({ parsed, spent }: Pick<TokenTransaction, 'parsed' | 'spent'>): Krc20Call[] {
  const found = parsed.details.krc20?.operations ?? []
  const shown = found.filter(
    ({ form, input, operation }) => form === 'envelope' && (input === 0 || operation.op === 'send'),
  )
  const written = found.filter(({ form, operation }) => form === 'payload' && mayReplace(operation))
  const isOrder = shown.some((one) => isWellFormedSend(one, parsed))
  const counted = written.length > 0 && !isOrder ? written : shown
  return counted.map(({ input, operation, sender, key_check }) => ({
    input,
    operation,
    sender: sender ?? (spent[input]?.scriptPublicKey ? '' : null),
    keyCheck: key_check ?? '',
    signed: parsed.inputs[input]?.signed ?? null,
    spentTxId: parsed.inputs[input]?.tx_id ?? '',
  }))
}

function mayReplace({ op, faults }: Krc20Operation): boolean {
  return op !== 'send' && op !== 'blacklist' && faults.every((fault) => fault === FOREIGN_ADDRESS)
}

/** A send whose buyer has no address does not count. */
function isWellFormedSend(
  { operation, input }: { operation: Krc20Operation; input: number },
  { outputs }: Pick<ParsedTransaction, 'outputs'>,
): boolean {
  if (operation.op !== 'send' || operation.faults.length > 0) return false
  return input > 0 || outputs[1] === undefined || outputs[1].address !== null
}
