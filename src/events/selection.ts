/** The events that a webhook or stream subscription selects. Both use the same validation. */
import { decodeAddress } from '../core/chain/address.ts'
import { type Network, networkInfo } from '../core/chain/network.ts'
import { type InputFault, MAX_FAULTS } from '../core/errors.ts'
import { MAX_SUGGESTIONS, nearest } from '../core/nearest.ts'
import { Slice } from '../kit/time-slices.ts'
import type { EventFilter } from '../store/events.ts'
import { EVENT_KINDS, type EventKind, isChainKind, isEventKind } from './kinds.ts'
import type { EventSelection } from './match.ts'

/** More than there are kinds. A longer list is refused before its entries are read. */
const MAX_KINDS = 50
/** How much of an entry a message quotes. */
const MAX_SHOWN_CHARS = 100

export interface SelectionInput {
  readonly kinds: readonly string[]
  readonly addresses: readonly string[]
}

export interface SelectionLimits {
  readonly network: Network
  readonly maxAddresses: number
  /** How many of them other subscriptions already use. */
  readonly usedAddresses?: number
}

type ParsedSelection = { ok: true; selection: Required<EventSelection> } | { ok: false; faults: InputFault[] }

/**
 * Returns the selection without duplicates, or its faults. Counts are checked before entries. Many addresses are
 * checked in slices, so that other work can run in between.
 */
export async function parseSelection(
  asked: SelectionInput,
  limits: SelectionLimits,
): Promise<ParsedSelection> {
  const tooMany = countFaults(asked, limits)
  if (tooMany.length > 0) return { ok: false, faults: tooMany }
  const kinds = [...new Set(asked.kinds)]
  const faults = kindFaults(kinds)
  if (asked.addresses.length === 0 && kinds.includes('utxos_changed')) {
    faults.push(fault('addresses', 'addresses must name at least one address for the kind utxos_changed.'))
  }
  const { addressPrefix } = networkInfo(limits.network)
  const addresses = new Set<string>()
  const slice = new Slice()
  for (const [index, text] of asked.addresses.entries()) {
    if (faults.length >= MAX_FAULTS) break
    const wrong = addressFault(text, `addresses.${index}`, addressPrefix)
    if (wrong === undefined) addresses.add(text)
    else faults.push(wrong)
    if ((index + 1) % ENTRIES_PER_CHECK === 0 && slice.isOver) await slice.next()
  }
  if (faults.length > 0) return { ok: false, faults: faults.slice(0, MAX_FAULTS) }
  return { ok: true, selection: { kinds: kinds as EventKind[], addresses: [...addresses] } }
}

/** How many addresses are checked between two looks at the clock. */
const ENTRIES_PER_CHECK = 64

function countFaults({ kinds, addresses }: SelectionInput, limits: SelectionLimits): InputFault[] {
  const faults: InputFault[] = []
  if (kinds.length === 0) {
    faults.push({ ...fault('kinds', 'kinds must name at least one kind.'), allowed: EVENT_KINDS })
  } else if (kinds.length > MAX_KINDS) {
    faults.push(fault('kinds', `kinds has ${kinds.length} entries; at most ${MAX_KINDS} are allowed.`))
  }
  const { maxAddresses: mostAddresses, usedAddresses = 0 } = limits
  const left = Math.max(0, mostAddresses - usedAddresses)
  if (addresses.length > left) {
    const has = `addresses has ${addresses.length} entries; the plan allows ${mostAddresses}`
    const used = `, of which other subscriptions of this connection have ${usedAddresses}: ${left} are left`
    faults.push(fault('addresses', `${has}${usedAddresses > 0 ? used : ''}.`))
  }
  return faults
}

function kindFaults(kinds: readonly string[]): InputFault[] {
  const faults: InputFault[] = []
  for (const kind of kinds) {
    if (isEventKind(kind)) continue
    if (faults.length >= MAX_FAULTS) break
    const helps = faults.length < MAX_SUGGESTIONS
    const near = helps ? nearest(kind, EVENT_KINDS) : undefined
    const hint = near === undefined ? '' : ` Did you mean ${near}?`
    const kinds = helps && near === undefined ? ` Kinds: ${EVENT_KINDS.join(', ')}.` : ''
    const message = `"${kind.slice(0, MAX_SHOWN_CHARS)}" is not a kind.${hint}${kinds}`
    faults.push({ ...fault('kinds', message), ...(helps ? { allowed: EVENT_KINDS } : {}) })
  }
  return faults
}

function addressFault(text: string, place: string, addressPrefix: string): InputFault | undefined {
  const decoded = decodeAddress(text)
  if (!decoded.ok) return { ...fault(place, `${place}: ${decoded.message}.`), reason: decoded.reason }
  if (decoded.address.prefix === addressPrefix) return undefined
  const message = `${place} belongs to another network; this one has ${addressPrefix}: addresses.`
  return { ...fault(place, message), reason: 'network' }
}

function fault(param: string, message: string): InputFault {
  return { param, error: 'invalid_param', message }
}

/** The selection as filters of the log. Addresses narrow only the kinds that have addresses. */
export function filtersOf({ kinds, addresses = [] }: EventSelection): EventFilter[] {
  if (addresses.length === 0) return [{ kinds }]
  const chain = kinds.filter((kind) => isChainKind(kind))
  const narrowed = kinds.filter((kind) => !isChainKind(kind))
  return [
    ...(chain.length > 0 ? [{ kinds: chain }] : []),
    ...(narrowed.length > 0 ? [{ kinds: narrowed, addresses }] : []),
  ]
}
