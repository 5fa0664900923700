/**
 * A KRC-20 operation: a flat JSON object whose values are text. `p`, `op` and `tick` are case-insensitive. A member of
 * the protocol that is not text makes the object no operation, as in the reference indexer (kasplex/go-krc20d). This
 * file reads only what the transaction says; whether it has any effect (balances, limits, fees) is decided in
 * indexer/tokens.
 */
import { decodeAddress } from '../core/chain/address.ts'
import { type Network, networkInfo } from '../core/chain/network.ts'

export interface Krc20Operation {
  /** Lower case: `mint`, `transfer`, … */
  readonly op: string
  /** Upper case; null if the token is named by its contract. */
  readonly tick: string | null
  /** The id of the deploying transaction, for tokens that have no tick. */
  readonly ca: string | null
  /** In the smallest unit of the token, as written. */
  readonly amt: string | null
  readonly to: string | null
  /** The other members that operations use, as written: `max`, `lim`, `pre`, `dec`, `mod`, `name`, `memo`, … */
  readonly other: Readonly<Record<string, string>>
  /** Empty if the operation has everything that its kind requires. */
  readonly faults: readonly string[]
}

/** What an operation must name by the rules of the reference indexer. Members that it does not read cannot be wrong. */
interface Demands {
  /**
   * How it names its token: by tick, by the deploying transaction (`ca`), or by either, in which case `ca` takes
   * precedence.
   */
  readonly token: 'tick' | 'ca' | 'either' | 'none'
  readonly members: readonly ('amt' | 'to' | 'max' | 'lim' | 'mod' | 'name')[]
  /** Whether an address of another network in `to` makes the operation void. */
  readonly readsTo: boolean
}

const DEMANDS = new Map<string, Demands>([
  // A deployment whose owner is not an address is refused by the rules of indexer/tokens.
  ['deploy', { token: 'tick', members: ['max', 'lim'], readsTo: false }],
  ['mint', { token: 'tick', members: [], readsTo: true }],
  ['transfer', { token: 'either', members: ['amt', 'to'], readsTo: true }],
  ['list', { token: 'either', members: ['amt'], readsTo: false }],
  ['send', { token: 'either', members: [], readsTo: false }],
  ['burn', { token: 'either', members: ['amt'], readsTo: false }],
  ['issue', { token: 'ca', members: ['amt'], readsTo: true }],
  ['blacklist', { token: 'ca', members: ['mod', 'to'], readsTo: true }],
  ['chown', { token: 'either', members: ['to'], readsTo: true }],
])
/** A token that is issued by its owner has a name but no tick. */
const ISSUED_DEPLOY: Demands = { token: 'none', members: ['name', 'max'], readsTo: false }
const OTHER_MEMBERS = ['max', 'lim', 'pre', 'dec', 'mod', 'name', 'memo', 'fee', 'utxo']
export const MAX_JSON_BYTES = 65_536
const TICK = /^[A-Z]{4,6}$/
const MAX_OP_LENGTH = 16
const NOT_ASCII = /[^\p{ASCII}]/u
/** Members that must be text if they are present. */
const TEXT_MEMBERS = new Set('from to tick max lim pre dec amt utxo price mod name ca'.split(' '))
/** Where the object was found. In the payload every member must be text, or null for an empty one. */
export type Krc20Form = 'envelope' | 'payload'
/** The fault of an operation that the reference indexer reads in and refuses only on execution. */
export const FOREIGN_ADDRESS = 'to is not an address of this network'
const CONTRACT = /^[0-9a-f]{64}$/
const AMOUNT = /^[1-9]\d{0,31}$/

/** Returns null if the bytes are not a KRC-20 object at all. */
export function readKrc20Operation(
  json: Uint8Array,
  network: Network,
  form: Krc20Form = 'envelope',
): Krc20Operation | null {
  const members = textMembers(json, form)
  if (members === null || upperCaseOf(members.get('p') ?? '') !== 'KRC-20') return null
  const op = lowerCaseOf(members.get('op') ?? '')
  if (op === '' || op.length > MAX_OP_LENGTH || NOT_ASCII.test(op)) return null
  if (NOT_ASCII.test(members.get('to') ?? '')) return null
  const other: Record<string, string> = {}
  for (const name of OTHER_MEMBERS) {
    const value = members.get(name)
    if (value !== undefined) other[name] = value
  }
  const operation = {
    op,
    tick: tickOf(members.get('tick')),
    ca: members.get('ca')?.toLowerCase() ?? null,
    amt: members.get('amt') || null,
    to: members.get('to') || null,
    other,
  }
  return { ...operation, faults: faultsOf(operation, network) }
}

/** `tick` may hold the contract of a token that has no tick. */
function tickOf(tick: string | undefined): string | null {
  if (tick === undefined) return null
  return CONTRACT.test(tick.toLowerCase()) ? tick.toLowerCase() : upperCaseOf(tick)
}

/**
 * The reference indexer maps letter by letter, as Go does: besides a to z, only the long s and the dotless i map to one
 * of A to Z. `toUpperCase` alone would turn a ligature into several letters.
 */
export function upperCaseOf(text: string): string {
  return text.replace(/[a-z\u017f\u0131]/g, (letter) => letter.toUpperCase())
}

/** Besides A to Z, only the Kelvin sign and the dotted capital I map to one of a to z. */
function lowerCaseOf(text: string): string {
  return text.replace(/[A-Z\u212a]/g, (letter) => letter.toLowerCase()).replaceAll('\u0130', 'i')
}

/**
 * The members whose value is text. Null if a member that must be text is not; any other non-text member counts as
 * absent.
 */
function textMembers(json: Uint8Array, form: Krc20Form): Map<string, string> | null {
  if (json.length > MAX_JSON_BYTES || json[0] === undefined) return null
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(json).toString('utf8'))
  } catch {
    return null
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null
  const members = new Map<string, string>()
  for (const [name, value] of Object.entries(parsed)) {
    if (typeof value === 'string') members.set(name, value)
    else if (form === 'payload' && value === null) members.set(name, '')
    else if (form === 'payload' || TEXT_MEMBERS.has(name)) return null
  }
  return members
}

function faultsOf(operation: Omit<Krc20Operation, 'faults'>, network: Network): string[] {
  const demands = isIssuedDeploy(operation) ? ISSUED_DEPLOY : DEMANDS.get(operation.op)
  if (demands === undefined) return ['op is unknown']
  const faults = tokenFaults(operation, demands.token)
  for (const name of demands.members) {
    const value = name === 'amt' || name === 'to' ? operation[name] : operation.other[name]
    if (value === null || value === undefined) faults.push(`${name} is missing`)
  }
  const { amt, to } = operation
  if (amt !== null && demands.members.includes('amt') && !AMOUNT.test(amt))
    faults.push('amt is not a positive integer')
  if (to !== null && demands.readsTo && !isAddressOf(to, network)) faults.push(FOREIGN_ADDRESS)
  return faults
}

export function isIssuedDeploy({ op, other }: Pick<Krc20Operation, 'op' | 'other'>): boolean {
  return op === 'deploy' && other.mod === 'issue'
}

export function isAddressOf(text: string, network: Network): boolean {
  const decoded = decodeAddress(text)
  return decoded.ok && decoded.address.prefix === networkInfo(network).addressPrefix
}

function tokenFaults({ tick, ca }: Pick<Krc20Operation, 'tick' | 'ca'>, token: Demands['token']): string[] {
  if (token === 'none') return []
  if (token !== 'tick' && ca !== null) return CONTRACT.test(ca) ? [] : ['ca is not a transaction id']
  if (token === 'ca') return ['ca is missing']
  if (tick === null) return [token === 'tick' ? 'tick is missing' : 'tick or ca is missing']
  if (TICK.test(tick) || (token === 'either' && CONTRACT.test(tick))) return []
  return ['tick is not 4 to 6 letters']
}
