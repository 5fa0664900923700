/**
 * KRC-20 operations of walked transactions, and what the rules make of them: written once more, in the plainest form and
 * without the code that is judged. Addresses of keys come from the Rust client.
 */
import kaspa from 'kaspa-wasm32-sdk'
import { NETWORK } from './real-node.ts'

export interface TokenOperation {
  readonly txId: string
  readonly sender: string
  readonly fee: bigint
  readonly members: Readonly<Record<string, string>>
}

export interface WalkedToken {
  /** False where it was used before any deployment that counts. */
  readonly isKnown: boolean
  readonly max: bigint
  readonly perMint: bigint
  readonly owner: string
  minted: bigint
  burned: bigint
  readonly held: Map<string, bigint>
}

const KAS = 100_000_000n
const ENVELOPE = /20([0-9a-f]{64})ac0063076b6173706c657800((?:4c)?)([0-9a-f]{2})/
/** The only one of the traffic's ticks that a single address may deploy. */
const RESERVED = 'NACHO'

/** The operation of a transaction: that in its payload, else that in the program which its first input shows. */
export function readOperation(transaction: {
  readonly id: string
  readonly payload: string
  readonly firstScript: string
  readonly firstAddress: string | undefined
  readonly fee: bigint
}): TokenOperation | undefined {
  const { id: txId, payload, firstScript, firstAddress, fee } = transaction
  const written = membersOf(payload)
  if (written !== undefined) return { txId, fee, members: written, sender: firstAddress ?? '' }
  const found = ENVELOPE.exec(firstScript)
  if (found === null) return undefined
  const [whole, key = '', , length = ''] = found
  const from = found.index + whole.length
  const members = membersOf(firstScript.slice(from, from + 2 * Number.parseInt(length, 16)))
  return members && { txId, fee, members, sender: addressOfKey(key) }
}

function membersOf(hex: string): Record<string, string> | undefined {
  try {
    const members = JSON.parse(Buffer.from(hex, 'hex').toString()) as Record<string, string>
    return members.p === 'krc-20' ? members : undefined
  } catch {
    return undefined
  }
}

function addressOfKey(key: string): string {
  const script = new kaspa.ScriptPublicKey(0, `20${key}ac`)
  return kaspa.addressFromScriptPublicKey(script, NETWORK)?.toString() ?? ''
}

/** In the order of their acceptance. */
export function tokensOf(operations: readonly TokenOperation[]): Map<string, WalkedToken> {
  const tokens = new Map<string, WalkedToken>()
  for (const operation of operations) apply(tokens, operation)
  return tokens
}

function apply(tokens: Map<string, WalkedToken>, { members, sender, fee }: TokenOperation): void {
  const { op, tick = '', to = sender } = members
  const token = tokens.get(tick)
  if (op === 'deploy') {
    if (token !== undefined || tick === RESERVED || fee < 1_000n * KAS) return
    const first = BigInt(members.pre ?? 0)
    tokens.set(tick, {
      ...{ isKnown: true, max: BigInt(members.max ?? 0), perMint: BigInt(members.lim ?? 0), owner: sender },
      ...{ minted: first, burned: 0n, held: new Map([[sender, first]]) },
    })
    return
  }
  if (token === undefined)
    tokens.set(tick, {
      ...{ isKnown: false, max: 0n, perMint: 0n, owner: '', minted: 0n, burned: 0n, held: new Map() },
    })
  if (token === undefined || !token.isKnown) return
  const amount = BigInt(members.amt ?? 0)
  const own = token.held.get(sender) ?? 0n
  const give = (holder: string, given: bigint) =>
    token.held.set(holder, (token.held.get(holder) ?? 0n) + given)
  if (op === 'mint') {
    const left = token.max - token.minted
    if (left <= 0n || fee < KAS) return
    const given = left < token.perMint ? left : token.perMint
    token.minted += given
    give(to, given)
  } else if (op === 'transfer') {
    if (own < amount || to === sender) return
    give(sender, -amount)
    give(to, amount)
  } else if (op === 'burn') {
    if (own < amount || token.owner !== sender) return
    give(sender, -amount)
    token.burned += amount
  }
}

/** Who has some, and how much. */
export function holdersOf({ held }: WalkedToken): Map<string, bigint> {
  return new Map([...held].filter(([, amount]) => amount > 0n))
}
