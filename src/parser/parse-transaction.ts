/**
 * A transaction as the API shows it: inputs, outputs, tags and what is behind each tag. Pure: everything
 * that the transaction itself does not carry (spent outputs, the network) is passed in.
 */
import type { Network } from '../core/chain/network.ts'
import type { SpentOutput, Transaction } from '../core/chain/transaction.ts'
import { type Reveal, revealOf } from './reveal.ts'
import { addressOfScript } from './script-address.ts'
import { classifyScript, type ScriptClass } from './script-class.ts'
import { type CoinbaseDetail, coinbaseDetail } from './tag-coinbase.ts'
import {
  type CovenantDetail,
  type CovenantExecutionDetail,
  covenantDetail,
  covenantExecutionDetail,
} from './tag-covenant.ts'
import { type Krc20Detail, krc20Detail } from './tag-krc20.ts'
import { type NativeAssetDetail, nativeAssetDetail } from './tag-native-asset.ts'
import { type ScriptlangDetail, scriptlangDetail } from './tag-scriptlang.ts'
import { transactionId } from './transaction-id.ts'

const TAGS = ['coinbase', 'covenant', 'covenant_execution', 'krc20', 'native_asset', 'scriptlang'] as const
export type Tag = (typeof TAGS)[number]

/** The spent output is named by `tx_id` and `index`; address and amount are null while it is unknown. */
export interface ParsedInput {
  readonly tx_id: string
  readonly index: number
  readonly address: string | null
  readonly amount_sompi: bigint | null
}

export interface ParsedOutput {
  readonly index: number
  readonly amount_sompi: bigint
  readonly address: string | null
  readonly script_public_key: string
  readonly script_class: ScriptClass
  readonly covenant: { readonly id: string; readonly authorizing_input: number } | null
}

/** One member for each tag that was given, and no other. */
interface TagDetails {
  readonly coinbase?: CoinbaseDetail
  readonly covenant?: CovenantDetail
  readonly covenant_execution?: CovenantExecutionDetail
  readonly krc20?: Krc20Detail
  readonly native_asset?: NativeAssetDetail
  readonly scriptlang?: ScriptlangDetail
}

export interface ParsedTransaction {
  readonly tx_id: string
  readonly inputs: ParsedInput[]
  readonly outputs: ParsedOutput[]
  readonly tags: Tag[]
  readonly details: TagDetails
}

export interface ParseOptions {
  readonly network: Network
  /** By input. Fewer entries than inputs, or null for one, mean: not known. */
  readonly spent?: readonly (SpentOutput | null)[]
  /** Where the caller already knows the id from its own node, the hash is saved. */
  readonly txId?: string
}

const NOTHING_SPENT: readonly (SpentOutput | null)[] = []

export function parseTransaction(transaction: Transaction, options: ParseOptions): ParsedTransaction {
  const { network, spent = NOTHING_SPENT } = options
  const details = tagDetails(transaction, spent, network)
  return {
    tx_id: options.txId ?? transactionId(transaction),
    inputs: transaction.inputs.map((input, index) => {
      const output = spent[index]
      return {
        tx_id: input.previousOutpoint.transactionId,
        index: input.previousOutpoint.index,
        address: output?.scriptPublicKey ? addressOfScript(output.scriptPublicKey, network) : null,
        amount_sompi: output?.amount ?? null,
      }
    }),
    outputs: transaction.outputs.map((output, index) => ({
      index,
      amount_sompi: output.value,
      address: addressOfScript(output.scriptPublicKey, network),
      script_public_key: output.scriptPublicKey,
      script_class: classifyScript(output.scriptPublicKey),
      covenant: output.covenant && {
        id: output.covenant.covenantId,
        authorizing_input: output.covenant.authorizingInput,
      },
    })),
    tags: TAGS.filter((tag) => tag in details),
    details,
  }
}

function tagDetails(
  transaction: Transaction,
  spent: readonly (SpentOutput | null)[],
  network: Network,
): TagDetails {
  const coinbase = coinbaseDetail(transaction, network)
  if (coinbase !== null) return { coinbase }
  const reveals: Reveal[] = []
  for (const [index, input] of transaction.inputs.entries()) {
    const reveal = revealOf(input, index, spent[index] ?? null)
    if (reveal !== null) reveals.push(reveal)
  }
  const covenant = covenantDetail(transaction, spent)
  const execution = covenantExecutionDetail(transaction, spent, reveals)
  const krc20 = krc20Detail(transaction, spent, reveals, network)
  const asset = nativeAssetDetail(transaction, spent, reveals, execution)
  const scriptlang = scriptlangDetail(reveals)
  return {
    ...(covenant && { covenant }),
    ...(execution && { covenant_execution: execution }),
    ...(krc20 && { krc20 }),
    ...(asset && { native_asset: asset }),
    ...(scriptlang && { scriptlang }),
  }
}
