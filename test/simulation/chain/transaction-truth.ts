/**
 * What a transaction of the simulated network means, derived from the network's own objects and from how its traffic
 * writes programs (sandbox/node/traffic/programs.ts). It shares no code with the parser.
 */
import { classify } from '../../../sandbox/node/consensus/address.ts'
import { fromHex, toHex } from '../../../sandbox/node/consensus/bytes.ts'
import { isCoinbase, type Tx } from '../../../sandbox/node/consensus/model.ts'
import { parseScript } from '../../../sandbox/node/script/push.ts'
import type { ChainArchive } from './archive.ts'

export interface TruthInput {
  readonly txId: string
  readonly index: number
  readonly amount: bigint
  readonly address: string | null
  readonly covenantId: string | null
  readonly program: Program | undefined
}

interface TruthOutput {
  readonly index: number
  readonly amount_sompi: number
  readonly address: string | null
  readonly script_public_key: string
  readonly script_class: string
  readonly covenant: { readonly id: string; readonly authorizing_input: number } | null
}

/** A program that an input has revealed. */
type Program =
  | { readonly kind: 'krc20'; readonly key: string; readonly operation: Krc20Words }
  | { readonly kind: 'vault'; readonly key: string }
  | { readonly kind: 'counter'; readonly key: string }
  | { readonly kind: 'token'; readonly key: string; readonly amount: bigint }

interface Krc20Words {
  readonly p: string
  readonly op: string
  readonly tick: string
  readonly amt?: string
  readonly to?: string
  readonly max?: string
  readonly lim?: string
}

/** An operation that counts: of the first input, or in the payload. */
export interface Krc20Truth {
  readonly form: 'envelope' | 'payload'
  readonly operation: Krc20Words
  readonly sender: string | null
}

interface CovenantTruth {
  readonly id: string
  readonly spent: readonly TruthInput[]
  readonly created: readonly TruthOutput[]
}

export interface TransactionTruth {
  readonly txId: string
  readonly isCoinbase: boolean
  /** Null for a coinbase. */
  readonly fee: bigint | null
  readonly inputs: readonly TruthInput[]
  readonly outputs: readonly TruthOutput[]
  readonly tags: readonly string[]
  readonly covenants: readonly CovenantTruth[]
  readonly krc20: Krc20Truth | undefined
}

const KEY = '([0-9a-f]{64})'
const U64 = '([0-9a-f]{16})'
const KASPLEX = toHex(Buffer.from('kasplex'))
const KRC20 = new RegExp(`^20${KEY}ac006307${KASPLEX}00`)
const VAULT = new RegExp(`^20${KEY}adb9cfd251a1$`)
const COUNTER = new RegExp(`^6b20${KEY}08${U64}6c76009c6375`)
const TOKEN = new RegExp(`^6b20${KEY}010008${U64}01006c76009c6375`)

export type TruthOf = (txId: string) => TransactionTruth | undefined

/** Each transaction is evaluated once. */
export function createTransactionTruth(archive: ChainArchive): TruthOf {
  const known = new Map<string, TransactionTruth | undefined>()
  return (txId) => {
    if (!known.has(txId)) {
      const tx = archive.transaction(txId)
      known.set(txId, tx && truthOf(tx, archive))
    }
    return known.get(txId)
  }
}

function truthOf(tx: Tx, archive: ChainArchive): TransactionTruth {
  const coinbase = isCoinbase(tx)
  const inputs = tx.inputs.map(({ previousOutpoint, signatureScript }): TruthInput => {
    const output = archive.output(previousOutpoint)
    if (output === undefined) throw new Error(`what ${tx.id} spends was never there`)
    const { amount, scriptPublicKey, covenantId } = output
    return {
      txId: previousOutpoint.transactionId,
      index: previousOutpoint.index,
      ...{ amount, covenantId, address: archive.addressOf(scriptPublicKey) ?? null },
      program: classify(scriptPublicKey) === 'ScriptHash' ? programOf(signatureScript) : undefined,
    }
  })
  const outputs = tx.outputs.map(
    ({ value, scriptPublicKey, covenant }, index): TruthOutput => ({
      index,
      amount_sompi: Number(value),
      address: archive.addressOf(scriptPublicKey) ?? null,
      script_public_key: scriptPublicKey,
      script_class: classify(scriptPublicKey).toLowerCase(),
      covenant: covenant && { id: covenant.covenantId, authorizing_input: covenant.authorizingInput },
    }),
  )
  const covenants = covenantsOf(inputs, outputs)
  const krc20 = krc20Of(tx, inputs, archive)
  const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n)
  return {
    ...{ txId: tx.id, isCoinbase: coinbase, inputs, outputs, covenants, krc20 },
    fee: coinbase
      ? null
      : sum(inputs.map(({ amount }) => amount)) - sum(tx.outputs.map(({ value }) => value)),
    tags: coinbase ? ['coinbase'] : tagsOf(inputs, covenants, krc20),
  }
}

function tagsOf(
  inputs: readonly TruthInput[],
  covenants: readonly CovenantTruth[],
  krc20: Krc20Truth | undefined,
): string[] {
  const shown = new Set(inputs.map(({ program }) => program?.kind))
  const isToken = ({ spent, created }: CovenantTruth) =>
    created.length > 0 && spent.some(({ program }) => program?.kind === 'token')
  // Each of these programs except the envelope reads its own transaction in one of its branches.
  const executes = covenants.length > 0 || shown.has('vault') || shown.has('counter') || shown.has('token')
  const tags: Record<string, boolean> = {
    covenant: covenants.length > 0,
    covenant_execution: executes,
    krc20: krc20 !== undefined,
    native_asset: covenants.some(isToken),
    scriptlang: shown.has('counter') || shown.has('token'),
  }
  return Object.keys(tags).filter((tag) => tags[tag])
}

function covenantsOf(inputs: readonly TruthInput[], outputs: readonly TruthOutput[]): CovenantTruth[] {
  const ids = new Set<string>()
  for (const { covenant } of outputs) if (covenant !== null) ids.add(covenant.id)
  for (const { covenantId } of inputs) if (covenantId !== null) ids.add(covenantId)
  return [...ids].map((id) => ({
    id,
    spent: inputs.filter(({ covenantId }) => covenantId === id),
    created: outputs.filter(({ covenant }) => covenant?.id === id),
  }))
}

/** The simulated traffic writes at most one operation into a transaction. */
function krc20Of(tx: Tx, inputs: readonly TruthInput[], archive: ChainArchive): Krc20Truth | undefined {
  const [first] = inputs
  if (first?.program?.kind === 'krc20') {
    const { key, operation } = first.program
    return { form: 'envelope', operation, sender: archive.addressOf(`000020${key}ac`) ?? null }
  }
  if (!tx.payload.startsWith('7b') || isCoinbase(tx)) return undefined
  const operation = JSON.parse(Buffer.from(fromHex(tx.payload)).toString()) as Krc20Words
  return { form: 'payload', operation, sender: first?.address ?? null }
}

/** The last push. */
function programOf(signatureScript: string): Program | undefined {
  const program = toHex(parseScript(fromHex(signatureScript))?.at(-1)?.data ?? new Uint8Array())
  const [krc20, vault, counter, token] = [KRC20, VAULT, COUNTER, TOKEN].map((form) => form.exec(program))
  if (krc20?.[1] !== undefined) {
    const words = parseScript(fromHex(program))?.at(-2)?.data ?? new Uint8Array()
    const operation = JSON.parse(Buffer.from(words).toString()) as Krc20Words
    return { kind: 'krc20', key: krc20[1], operation }
  }
  if (vault?.[1] !== undefined) return { kind: 'vault', key: vault[1] }
  if (counter?.[1] !== undefined) return { kind: 'counter', key: counter[1] }
  if (token?.[1] === undefined || token[2] === undefined) return undefined
  const amount = Buffer.from(fromHex(token[2])).readBigUInt64LE()
  return { kind: 'token', key: token[1], amount }
}
