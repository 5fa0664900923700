/**
 * A transaction as the API shows it: inputs, outputs, tags and the detail behind each tag. Pure: everything that the
 * transaction itself does not carry (spent outputs, the network) is passed in.
 */
import type { Network } from '../core/chain/network.ts'
import { isCoinbase, type SpentOutput, type Transaction } from '../core/chain/transaction.ts'
import { instructionBudget, type SignaturePath, signaturePath } from './path/signature-path.ts'
import { covenantInputs, type PathPlace } from './path/transaction-reads.ts'
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

/** `tx_id` and `index` name the spent output. Address and amount are null while that output is unknown. */
export interface ParsedInput {
  readonly tx_id: string
  readonly index: number
  readonly address: string | null
  readonly amount_sompi: bigint | null
  /**
   * True: a key of the address has signed. False: the output was spent without one, as its program allows. Null: not
   * shown. For a transaction that is not accepted yet, this holds if it is accepted.
   */
  readonly signed: boolean | null
}

export interface ParsedOutput {
  readonly index: number
  readonly amount_sompi: bigint
  readonly address: string | null
  readonly script_public_key: string
  readonly script_class: ScriptClass
  readonly covenant: { readonly id: string; readonly authorizing_input: number } | null
}

/** One member for each tag of the transaction, and no others. */
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
  /** By input. A null or missing entry means that the spent output is unknown. */
  readonly spent?: readonly (SpentOutput | null)[]
  /** Saves hashing if the caller already knows the id from its node. */
  readonly txId?: string
}

const NOTHING_SPENT: readonly (SpentOutput | null)[] = []

export function parseTransaction(transaction: Transaction, options: ParseOptions): ParsedTransaction {
  const { network, spent = NOTHING_SPENT } = options
  const reveals = revealsOf(transaction, spent)
  const covenants = covenantInputs(transaction, spent)
  const paths = pathsOf(reveals, { transaction, spent, covenants })
  const isSigned = signedInputs({ spent, covenants, paths })
  const details = tagDetails(transaction, { spent, reveals, paths, network })
  return {
    ...plainTransaction(transaction, options, isSigned),
    tags: TAGS.filter((tag) => tag in details),
    details,
  }
}

/** What a transaction shows without its scripts being read: no tags, and nobody is shown to have signed. */
export function plainTransaction(
  transaction: Transaction,
  { network, spent = NOTHING_SPENT, txId }: ParseOptions,
  isSigned: (input: number) => boolean | null = () => null,
): ParsedTransaction {
  return {
    tx_id: txId ?? transactionId(transaction),
    inputs: transaction.inputs.map((input, index) => {
      const output = spent[index]
      return {
        tx_id: input.previousOutpoint.transactionId,
        index: input.previousOutpoint.index,
        address: output?.scriptPublicKey ? addressOfScript(output.scriptPublicKey, network) : null,
        amount_sompi: output?.amount ?? null,
        signed: isSigned(index),
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
    tags: [],
    details: {},
  }
}

function revealsOf(transaction: Transaction, spent: readonly (SpentOutput | null)[]): Reveal[] {
  if (isCoinbase(transaction)) return []
  return transaction.inputs.flatMap((input, index) => revealOf(input, index, spent[index] ?? null) ?? [])
}

/** By input, for programs that are proven to belong to the spent outputs. */
function pathsOf(reveals: readonly Reveal[], place: Omit<PathPlace, 'input'>): Map<number, SignaturePath> {
  const paths = new Map<number, SignaturePath>()
  const budget = instructionBudget()
  for (const reveal of reveals) {
    if (reveal.proof !== 'verified') continue
    paths.set(reveal.input, signaturePath(reveal, { ...place, input: reveal.input }, budget))
  }
  return paths
}

/**
 * An output paid to a key cannot be spent without it. Among several outputs of one covenant, one program often checks
 * for all: a program that requires no signature proves nothing as long as another one may require it.
 */
function signedInputs({
  spent,
  covenants = new Map(),
  paths,
}: Pick<PathPlace, 'spent' | 'covenants'> & { paths: ReadonlyMap<number, SignaturePath> }) {
  const unsigned = new Set<string>()
  for (const [id, inputs] of covenants) {
    if (inputs.every((input) => paths.get(input)?.signed === false)) unsigned.add(id)
  }
  return (index: number): boolean | null => {
    const output = spent[index]
    if (!output?.scriptPublicKey) return null
    const form = classifyScript(output.scriptPublicKey)
    if (form === 'pubkey' || form === 'pubkeyecdsa') return true
    const signed = paths.get(index)?.signed ?? null
    const { covenantId } = output
    if (signed !== false || covenantId === null) return signed
    return unsigned.has(covenantId) ? false : null
  }
}

interface TagSource {
  readonly spent: readonly (SpentOutput | null)[]
  readonly reveals: readonly Reveal[]
  readonly paths: ReadonlyMap<number, SignaturePath>
  readonly network: Network
}

function tagDetails(transaction: Transaction, { spent, reveals, paths, network }: TagSource): TagDetails {
  const coinbase = coinbaseDetail(transaction, network)
  if (coinbase !== null) return { coinbase }
  const covenant = covenantDetail(transaction, spent)
  const execution = covenantExecutionDetail(transaction, spent, reveals)
  const krc20 = krc20Detail(transaction, spent, reveals, network)
  const asset = nativeAssetDetail(transaction, { spent, reveals, paths }, execution)
  const scriptlang = scriptlangDetail(reveals)
  return {
    ...(covenant && { covenant }),
    ...(execution && { covenant_execution: execution }),
    ...(krc20 && { krc20 }),
    ...(asset && { native_asset: asset }),
    ...(scriptlang && { scriptlang }),
  }
}
