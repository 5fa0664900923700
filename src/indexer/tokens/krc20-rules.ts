/**
 * What KRC-20 operations do to balances, by the rules of the reference indexer (kasplex/go-krc20d). An operation that
 * breaks a rule has no effect. The reference indexer refuses every `blacklist` operation, so blacklists are always
 * empty.
 */
import { bytesOfHex, hexOfBytes } from '../../core/chain/hex.ts'
import type { Network } from '../../core/chain/network.ts'
import {
  isAddressOf,
  isIssuedDeploy,
  type Krc20Operation,
  upperCaseOf,
} from '../../parser/krc20-operation.ts'
import { addressOfRedeemScript } from '../../parser/script-address.ts'
import type { Krc20Facts, TokenFacts } from '../../store/tokens.ts'
import type { TokenEntries } from './token-entries.ts'
import type { TokenMove } from './token-move.ts'

export interface Krc20Call {
  readonly operation: Krc20Operation
  /** Empty if the owner of the first input has no address; null if that owner is unknown. */
  readonly sender: string | null
  /** The script that checks the sender's keys, in hex. */
  readonly keyCheck: string
  /** Whether the sender's key is shown to have signed; null if the transaction does not show it. */
  readonly signed: boolean | null
  /** The transaction whose output the revealing input spends. It identifies an order. */
  readonly spentTxId: string
  /** The index of the input; 0 for the payload form. */
  readonly input: number
}

export interface Krc20Context {
  readonly txId: string
  readonly network: Network
  readonly timeMs: number
  readonly fee: bigint | null
  /** Addresses and amounts of the transaction's outputs. */
  readonly outputs: readonly { readonly address: string | null; readonly amount_sompi: bigint }[]
}

const DEPLOY_FEE = 100_000_000_000n
const MINT_FEE = 100_000_000n
const MAX_AMOUNT = 10n ** 32n - 1n
const DEFAULT_DECIMALS = 8
const TICK = /^[A-Z]{4,6}$/
const REFUSED_TICKS = new Set(
  'KASPA KASPLX KASP WKAS GIGA WBTC WETH USDT USDC FDUSD USDD TUSD USDP PYUSD EURC BUSD GUSD EURT XAUT TETHER'.split(
    ' ',
  ),
)
/**
 * Ticks of tokens that existed before the protocol. Only one address may deploy each, and all of them are deployed
 * already.
 */
const RESERVED_TICKS = new Set(
  'NACHO KCATS KASTOR KASPER FUSUN KPAW PPKAS GHOAD KEPE WORI KEKE DOGK BTAI KASBOT SOMPS KREP'.split(' '),
)

export function orderKey(token: string, seller: string, txId: string): string {
  return `order ${token} ${seller} ${txId}`
}

/** The token that an operation concerns. Deploying an issued token creates one that is named by its transaction. */
export function tokenOfCall({ operation }: Krc20Call, txId: string): string | null {
  if (isIssuedDeploy(operation)) return txId
  const { op, ca, tick } = operation
  return op === 'deploy' || op === 'mint' ? tick : (ca ?? tick)
}

/** The holders whose holdings an operation reads or changes. */
export function holdersOfCall(call: Krc20Call, context: Pick<Krc20Context, 'outputs'>): string[] {
  const { sender, operation } = call
  const to = operation.op === 'send' ? buyerOf(call, context) : operation.to
  return [sender, to].flatMap((holder) => holder || [])
}

/** Returns null if the operation has no effect. */
export function applyKrc20(call: Krc20Call, context: Krc20Context, entries: TokenEntries): TokenMove | null {
  const { operation, sender } = call
  const id = tokenOfCall(call, context.txId)
  if (id === null || operation.faults.length > 0) return null
  const facts = entries.token(id)
  // `ca` may be a covenant's id, but no KRC-20 operation changes a covenant token.
  if (facts !== null && facts.form !== 'krc20') return null
  if (operation.op === 'deploy') return facts === null ? deploy(id, call, context, entries) : null
  const run = RUN[operation.op]
  if (run === undefined) return null
  const known = facts?.krc20
  if (facts === null || known === undefined || facts.history === 'unknown' || sender === null)
    return unjudged(id, facts, call, context, entries)
  const done = run({ id, token: known, call, context, entries, sender })
  if (done === null) return null
  entries.setToken(id, {
    ...facts,
    operations: facts.operations + 1,
    holders: facts.holders + done.holders,
    krc20: done.token ?? known,
  })
  return { tokenId: id, form: 'krc20', operation: operation.op, isValid: true, from: done.from, to: done.to }
}

interface Run {
  readonly id: string
  readonly token: Krc20Facts
  readonly call: Krc20Call
  readonly context: Krc20Context
  readonly entries: TokenEntries
  readonly sender: string
}

interface Done extends Pick<TokenMove, 'from' | 'to'> {
  readonly token?: Krc20Facts
  /** The change in the number of holders. */
  readonly holders: number
}

const RUN: Record<string, (run: Run) => Done | null> = { mint, transfer, burn, issue, chown, list, send }

function deploy(
  id: string,
  { operation, sender }: Krc20Call,
  { txId, network, timeMs, fee }: Krc20Context,
  entries: TokenEntries,
): TokenMove | null {
  const issued = isIssuedDeploy(operation)
  if (sender === null || fee === null || fee < DEPLOY_FEE) return null
  if (!issued && (REFUSED_TICKS.has(id) || RESERVED_TICKS.has(id))) return null
  const { max = '', lim = '', pre, dec, name } = operation.other
  const [most, perMint, first] = [amountOf(max), amountOf(lim), firstAmountOf(pre ?? '')]
  const isUnlimited = issued && max === '0'
  if ((most === null && !isUnlimited) || (!issued && perMint === null)) return null
  if (issued && !TICK.test(upperCaseOf(name ?? ''))) return null
  const named = operation.to ?? sender
  if (!isAddressOf(named, network)) return null
  const minted = most !== null && first > most ? most : first
  const holders = minted > 0n ? credit(entries, id, named, minted) : 0
  entries.setToken(id, {
    form: 'krc20',
    history: issued ? 'complete' : 'since_deploy',
    operations: 1,
    holders,
    firstSeenMs: timeMs,
    firstTxId: txId,
    krc20: {
      name: issued ? upperCaseOf(name ?? '') : null,
      max: isUnlimited ? '0' : max,
      lim: issued ? '0' : lim,
      pre: first.toString(),
      dec: decimalsOf(dec),
      mode: issued ? 'issue' : 'mint',
      deployer: sender,
      owner: named,
      minted: minted.toString(),
      burned: '0',
    },
  })
  const to = minted > 0n ? [{ holder: named, amount: minted }] : []
  return { tokenId: id, form: 'krc20', operation: 'deploy', isValid: true, from: [], to }
}

/** The token is older than the index, or the sender is unknown, so its amounts are unknown from here on. */
function unjudged(
  id: string,
  facts: TokenFacts | null,
  { operation, sender, signed }: Krc20Call,
  { txId, timeMs }: Krc20Context,
  entries: TokenEntries,
): TokenMove {
  const { krc20: _, ...known } = facts ?? { operations: 0, firstSeenMs: timeMs, firstTxId: txId }
  entries.setToken(id, {
    ...known,
    form: 'krc20',
    history: 'unknown',
    holders: 0,
    operations: known.operations + 1,
  })
  const amount = amountOf(operation.amt ?? '')
  return {
    tokenId: id,
    form: 'krc20',
    operation: operation.op,
    isValid: null,
    from: ['transfer', 'burn', 'list'].includes(operation.op) ? [{ holder: sender, amount, signed }] : [],
    to: operation.to === null ? [] : [{ holder: operation.to, amount }],
  }
}

function mint({ id, token, call, context, entries, sender }: Run): Done | null {
  if (token.mode !== 'mint' || context.fee === null || context.fee < MINT_FEE) return null
  const left = BigInt(token.max) - BigInt(token.minted)
  if (left <= 0n) return null
  const perMint = BigInt(token.lim)
  return create({ id, token, entries }, call.operation.to ?? sender, perMint > left ? left : perMint)
}

function issue({ id, token, call, entries, sender }: Run): Done | null {
  const asked = amountOf(call.operation.amt ?? '')
  if (token.mode !== 'issue' || sender !== token.owner || asked === null) return null
  const left = token.max === '0' ? asked : BigInt(token.max) - BigInt(token.minted)
  if (left <= 0n) return null
  return create({ id, token, entries }, call.operation.to ?? sender, asked > left ? left : asked)
}

function create(
  { id, token, entries }: Pick<Run, 'id' | 'token' | 'entries'>,
  to: string,
  amount: bigint,
): Done | null {
  if (to === '') return null
  const minted = (BigInt(token.minted) + amount).toString()
  const holders = credit(entries, id, to, amount)
  return { from: [], to: [{ holder: to, amount }], token: { ...token, minted }, holders }
}

function transfer({ id, call, entries, sender }: Run): Done | null {
  const amount = amountOf(call.operation.amt ?? '')
  const { to } = call.operation
  if (amount === null || to === null || to === sender) return null
  const taken = debit(entries, id, sender, amount)
  if (taken === null) return null
  const holders = taken + credit(entries, id, to, amount)
  return { from: [{ holder: sender, amount, signed: call.signed }], to: [{ holder: to, amount }], holders }
}

function burn({ id, token, call, entries, sender }: Run): Done | null {
  const amount = amountOf(call.operation.amt ?? '')
  if (amount === null || sender !== token.owner) return null
  const holders = debit(entries, id, sender, amount)
  if (holders === null) return null
  const burned = (BigInt(token.burned) + amount).toString()
  return {
    from: [{ holder: sender, amount, signed: call.signed }],
    to: [],
    token: { ...token, burned },
    holders,
  }
}

function chown({ token, call, sender }: Run): Done | null {
  const { to } = call.operation
  if (sender !== token.owner || to === null) return null
  return { from: [], to: [], token: { ...token, owner: to }, holders: 0 }
}

/**
 * Puts an amount up for sale: it is locked until the output created for the order is spent, and then goes to the buyer.
 */
function list({ id, call, context, entries, sender }: Run): Done | null {
  const amount = amountOf(call.operation.amt ?? '')
  const { balance, locked, outputs } = entries.holding(id, sender)
  if (amount === null || amount > balance) return null
  const [sale] = context.outputs
  if (!saleAddresses(id, call.keyCheck, context.network).includes(sale?.address ?? '')) return null
  entries.setHolding(id, sender, { balance: balance - amount, locked: locked + amount, outputs })
  const value = { amount: amount.toString() }
  entries.write(orderKey(id, sender, context.txId), { token: id, kind: 'order', value })
  return {
    from: [{ holder: sender, amount, signed: call.signed }],
    to: [{ holder: sender, amount }],
    holders: 0,
  }
}

function send({ id, call, context, entries, sender }: Run): Done | null {
  const key = orderKey(id, sender, call.spentTxId)
  const order = entries.read(key) as { amount?: string } | null
  const to = buyerOf(call, context)
  if (order?.amount === undefined || to === null) return null
  const amount = BigInt(order.amount)
  const { balance, locked, outputs } = entries.holding(id, sender)
  if (amount > locked) return null
  let holders = entries.setHolding(id, sender, { balance, locked: locked - amount, outputs })
  holders += credit(entries, id, to, amount)
  entries.write(key, null)
  return { from: [{ holder: sender, amount, signed: call.signed }], to: [{ holder: to, amount }], holders }
}

/** The owner of the second output if the first input reveals the order; otherwise the seller takes the amount back. */
function buyerOf({ input, sender }: Krc20Call, { outputs }: Pick<Krc20Context, 'outputs'>): string | null {
  return input === 0 && outputs.length > 1 ? (outputs[1]?.address ?? null) : sender
}

function credit(entries: TokenEntries, id: string, holder: string, amount: bigint): number {
  const held = entries.holding(id, holder)
  return entries.setHolding(id, holder, { ...held, balance: held.balance + amount })
}

function debit(entries: TokenEntries, id: string, holder: string, amount: bigint): number | null {
  const held = entries.holding(id, holder)
  if (held.balance < amount) return null
  return entries.setHolding(id, holder, { ...held, balance: held.balance - amount })
}

/**
 * The addresses that an order's output may pay to: scripts that reveal the operation `send` when the output is spent.
 */
function saleAddresses(id: string, keyCheck: string, network: Network): string[] {
  return ['tick', 'ca'].map((member) => {
    const json = Buffer.from(`{"p":"krc-20","op":"send","${member}":"${id.toLowerCase()}"}`).toString('hex')
    const length = json.length / 2
    const push = `${length > 75 ? '4c' : ''}${length.toString(16).padStart(2, '0')}${json}`
    const marker = hexOfBytes(Buffer.from('kasplex'))
    return addressOfRedeemScript(bytesOfHex(`${keyCheck}006307${marker}00${push}68`), network)
  })
}

function amountOf(text: string): bigint | null {
  if (!/^[1-9]\d{0,31}$/.test(text)) return null
  const amount = BigInt(text)
  return amount > MAX_AMOUNT ? null : amount
}

/** The amount created with the token: capped at the maximum, and 0 if the text is not an amount. */
function firstAmountOf(text: string): bigint {
  if (/^[1-9]\d{32,}$/.test(text)) return MAX_AMOUNT
  return amountOf(text) ?? 0n
}

function decimalsOf(text: string | undefined): number {
  return text !== undefined && /^(?:\d|1[0-8])$/.test(text) ? Number(text) : DEFAULT_DECIMALS
}
