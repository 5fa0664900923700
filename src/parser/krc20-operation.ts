/**
 * A KRC-20 operation: a flat JSON object whose values are text. `p`, `op` and `tick` are written in any
 * case. A number or anything else that is no text in a member of the protocol makes it no operation, as it does for
 * the reference indexer (kasplex/go-krc20d). What is read here is only what the transaction says; whether it has any
 * effect (balances, limits, fees) is decided in indexer/tokens.
 */
import { decodeAddress } from '../core/chain/address.ts'
import { type Network, networkInfo } from '../core/chain/network.ts'

export interface Krc20Operation {
  /** Lower case: `mint`, `transfer`, … */
  readonly op: string
  /** Upper case; null where the token is named by its contract. */
  readonly tick: string | null
  /** The id of the deploying transaction, for tokens that have no tick. */
  readonly ca: string | null
  /** In the smallest unit of the token, as written. */
  readonly amt: string | null
  readonly to: string | null
  /** The other members that operations know, as written: `max`, `lim`, `pre`, `dec`, `mod`, `name`, `memo`, … */
  readonly other: Readonly<Record<string, string>>
  /** Empty when the operation is written as its kind demands. */
  readonly faults: readonly string[]
}

type Requirement = 'token' | 'tick' | 'amt' | 'to' | 'max' | 'lim' | 'mod' | 'name'

/** What each operation must name; `token` is a tick or a contract. */
const REQUIRED = new Map<string, readonly Requirement[]>([
  ['deploy', ['tick', 'max', 'lim']],
  ['mint', ['token']],
  ['transfer', ['token', 'amt', 'to']],
  ['list', ['token', 'amt']],
  ['send', ['token']],
  ['burn', ['token', 'amt']],
  ['issue', ['token', 'amt']],
  ['blacklist', ['token', 'mod', 'to']],
  ['chown', ['token', 'to']],
])
/** A token that its owner issues has a name and no tick. */
const REQUIRED_FOR_ISSUED_DEPLOY: readonly Requirement[] = ['name', 'max']
const OTHER_MEMBERS = ['max', 'lim', 'pre', 'dec', 'mod', 'name', 'memo', 'fee', 'utxo']
const MAX_JSON_BYTES = 65_536
const TICK = /^[A-Z]{4,6}$/
const MAX_OP_LENGTH = 16
const NOT_ASCII = /[^\p{ASCII}]/u
/** Members that must be text where they are written at all. */
const TEXT_MEMBERS = new Set('from to tick max lim pre dec amt utxo price mod name ca'.split(' '))
/** Where the object was found; in the payload every member must be text, or null for an empty one. */
export type Krc20Form = 'envelope' | 'payload'
const CONTRACT = /^[0-9a-f]{64}$/
const AMOUNT = /^[1-9]\d{0,31}$/

/** Null when the bytes are not a KRC-20 object at all. */
export function readKrc20Operation(
  json: Uint8Array,
  network: Network,
  form: Krc20Form = 'envelope',
): Krc20Operation | null {
  const members = textMembers(json, form)
  if (members === null || members.get('p')?.toLowerCase() !== 'krc-20') return null
  const op = members.get('op')?.toLowerCase()
  if (op === undefined || op === '' || op.length > MAX_OP_LENGTH || NOT_ASCII.test(op)) return null
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
    amt: members.get('amt') ?? null,
    to: members.get('to') ?? null,
    other,
  }
  return { ...operation, faults: faultsOf(operation, network) }
}

/** A token that has no tick may be named by its contract there too. */
function tickOf(tick: string | undefined): string | null {
  if (tick === undefined) return null
  return CONTRACT.test(tick.toLowerCase()) ? tick.toLowerCase() : tick.toUpperCase()
}

/** The members whose value is text. Null when one that has to be is not; any other counts as absent. */
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
    else if (form === 'payload' ? value !== null : TEXT_MEMBERS.has(name)) return null
  }
  return members
}

function faultsOf(operation: Omit<Krc20Operation, 'faults'>, network: Network): string[] {
  const faults: string[] = []
  const issued = operation.op === 'deploy' && operation.other.mod?.toLowerCase() === 'issue'
  const required = issued ? REQUIRED_FOR_ISSUED_DEPLOY : REQUIRED.get(operation.op)
  if (required === undefined) faults.push('op is unknown')
  for (const name of required ?? []) {
    if (name === 'token') {
      if (operation.tick === null && operation.ca === null) faults.push('tick or ca is missing')
      continue
    }
    const value = name === 'tick' || name === 'amt' || name === 'to' ? operation[name] : operation.other[name]
    if (value === null || value === undefined) faults.push(`${name} is missing`)
  }
  if (operation.tick !== null && !TICK.test(operation.tick) && !CONTRACT.test(operation.tick))
    faults.push('tick is not 4 to 6 letters')
  if (operation.ca !== null && !CONTRACT.test(operation.ca)) faults.push('ca is not a transaction id')
  if (operation.amt !== null && !AMOUNT.test(operation.amt)) faults.push('amt is not a positive integer')
  if (operation.to !== null) {
    const decoded = decodeAddress(operation.to)
    if (!decoded.ok || decoded.address.prefix !== networkInfo(network).addressPrefix) {
      faults.push('to is not an address of this network')
    }
  }
  return faults
}
