/**
 * KRC-20 operations of walked transactions, and what they result in by the rules: implemented a second time, as simply
 * as possible and without the code under test. Addresses of keys come from the Rust client.
 */
import kaspa from 'kaspa-wasm32-sdk'
import { NETWORK } from './real-node.ts'

export interface TokenOperation {
  readonly txId: string
  readonly sender: string
  readonly fee: bigint
  readonly members: Readonly<Record<string, string>>
  readonly form: 'payload' | 'envelope'
  /** The script that checks the sender's keys. */
  readonly check: string
  /** The transaction whose output the first input spends. */
  readonly spentTxId: string
  readonly outputs: readonly (string | undefined)[]
}

export interface WalkedToken {
  /** False if it was used before any valid deployment. */
  readonly isKnown: boolean
  readonly max: bigint
  readonly perMint: bigint
  readonly isIssued: boolean
  owner: string
  minted: bigint
  burned: bigint
  /** Including what is up for sale. */
  readonly held: Map<string, bigint>
  readonly orders: Map<string, { readonly seller: string; readonly amount: bigint }>
  /** Valid operations. */
  readonly counted: { readonly op: string; readonly sender: string }[]
}

const KAS = 100_000_000n
/** One key, or one of two. */
const ENVELOPE =
  /(20[0-9a-f]{64}ac|5120[0-9a-f]{64}20[0-9a-f]{64}52ae)0063076b6173706c657800((?:4c)?)([0-9a-f]{2})/
/** The only one of the traffic's ticks that a single address may deploy. */
const RESERVED = 'NACHO'

/** The operation of a transaction: from its payload, else from the program that its first input reveals. */
export function readOperation(transaction: {
  readonly id: string
  readonly payload: string
  readonly firstScript: string
  readonly firstAddress: string | undefined
  readonly fee: bigint
  readonly inputs: readonly { readonly transactionId: string }[]
  readonly outputs: readonly { readonly address: string | undefined }[]
}): TokenOperation | undefined {
  const { id: txId, payload, firstScript, firstAddress, fee } = transaction
  const spentTxId = transaction.inputs[0]?.transactionId ?? ''
  const common = { txId, fee, spentTxId, outputs: transaction.outputs.map(({ address }) => address) }
  const written = membersOf(payload)
  if (written !== undefined) {
    const sender = firstAddress ?? ''
    const check = sender === '' ? '' : kaspa.payToAddressScript(sender).script
    return { ...common, form: 'payload', members: written, sender, check }
  }
  const found = ENVELOPE.exec(firstScript)
  if (found === null) return undefined
  const [whole, check = '', , length = ''] = found
  const from = found.index + whole.length
  const members = membersOf(firstScript.slice(from, from + 2 * Number.parseInt(length, 16)))
  const sender = check.endsWith('ac') ? addressOf(check) : addressOfProgram(check)
  return members && { ...common, form: 'envelope', members, sender, check }
}

function membersOf(hex: string): Record<string, string> | undefined {
  try {
    const members = JSON.parse(Buffer.from(hex, 'hex').toString()) as Record<string, string>
    return members.p === 'krc-20' ? members : undefined
  } catch {
    return undefined
  }
}

function addressOf(script: string): string {
  return kaspa.addressFromScriptPublicKey(new kaspa.ScriptPublicKey(0, script), NETWORK)?.toString() ?? ''
}

function addressOfProgram(program: string): string {
  return kaspa.addressFromScriptPublicKey(kaspa.payToScriptHashScript(program), NETWORK)?.toString() ?? ''
}

/** The script that the output of an order must pay to: it is spent by revealing the operation `send`. */
function saleAddress(check: string, member: 'tick' | 'ca', id: string): string {
  const json = Buffer.from(JSON.stringify({ p: 'krc-20', op: 'send', [member]: id.toLowerCase() }))
  const length = json.length.toString(16).padStart(2, '0')
  const push = (json.length > 75 ? '4c' : '') + length + json.toString('hex')
  return addressOfProgram(`${check}0063076b6173706c657800${push}68`)
}

/** In the order of their acceptance. */
export function tokensOf(operations: readonly TokenOperation[]): Map<string, WalkedToken> {
  const tokens = new Map<string, WalkedToken>()
  for (const operation of operations) apply(tokens, operation)
  return tokens
}

function apply(tokens: Map<string, WalkedToken>, operation: TokenOperation): void {
  const { members, sender, fee, txId } = operation
  const { op = '', to = sender } = members
  const isIssued = op === 'deploy' && members.mod === 'issue'
  const id = isIssued ? txId : (members.ca ?? (members.tick ?? '').toUpperCase())
  const token = tokens.get(id)
  if (op === 'deploy') {
    if (token !== undefined || id === RESERVED || fee < 1_000n * KAS) return
    const first = BigInt(members.pre ?? 0)
    tokens.set(id, {
      ...{ isKnown: true, max: BigInt(members.max ?? 0), perMint: BigInt(members.lim ?? 0), owner: sender },
      ...{ isIssued, minted: first, burned: 0n, held: new Map([[sender, first]]) },
      ...{ orders: new Map(), counted: [{ op, sender }] },
    })
    return
  }
  if (token === undefined)
    tokens.set(id, {
      ...{ isKnown: false, max: 0n, perMint: 0n, owner: '', minted: 0n, burned: 0n, held: new Map() },
      ...{ isIssued: false, orders: new Map(), counted: [] },
    })
  if (token === undefined || !token.isKnown) return
  if (moves(token, id, op, to, operation)) token.counted.push({ op, sender })
}

/** Whether the operation is valid. */
function moves(token: WalkedToken, id: string, op: string, to: string, operation: TokenOperation): boolean {
  const { members, sender, fee, form, check, outputs, spentTxId, txId } = operation
  const amount = BigInt(members.amt ?? 0)
  const sold = [...token.orders.values()].filter(({ seller }) => seller === sender)
  const free = (token.held.get(sender) ?? 0n) - sold.reduce((sum, order) => sum + order.amount, 0n)
  const give = (holder: string, given: bigint) =>
    token.held.set(holder, (token.held.get(holder) ?? 0n) + given)
  const create = (asked: bigint) => {
    const left = token.max - token.minted
    if (left <= 0n) return false
    const given = left < asked ? left : asked
    token.minted += given
    give(to, given)
    return true
  }
  if (op === 'mint') return !token.isIssued && fee >= KAS && create(token.perMint)
  if (op === 'issue') return token.isIssued && sender === token.owner && create(amount)
  if (op === 'transfer') {
    if (free < amount || to === sender) return false
    give(sender, -amount)
    give(to, amount)
  } else if (op === 'burn') {
    if (free < amount || token.owner !== sender) return false
    give(sender, -amount)
    token.burned += amount
  } else if (op === 'chown') {
    if (token.owner !== sender) return false
    token.owner = to
  } else if (op === 'list') {
    const sales = (['tick', 'ca'] as const).map((member) => saleAddress(check, member, id))
    if (free < amount || !sales.includes(outputs[0] ?? '')) return false
    token.orders.set(`${sender} ${txId}`, { seller: sender, amount })
  } else if (op === 'send') {
    const order = token.orders.get(`${sender} ${spentTxId}`)
    const buyer = outputs.length > 1 ? outputs[1] : sender
    if (form === 'payload' || order === undefined || buyer === undefined) return false
    token.orders.delete(`${sender} ${spentTxId}`)
    give(sender, -order.amount)
    give(buyer, order.amount)
  } else return false
  return true
}

/** Who has some, and how much. */
export function holdersOf({ held }: WalkedToken): Map<string, bigint> {
  return new Map([...held].filter(([, amount]) => amount > 0n))
}
