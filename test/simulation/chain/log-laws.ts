/**
 * Law 6, checked by a reader of the log that remembers everything: numbers are contiguous and never given twice, each
 * event appears once, confirmations and their retractions are in order. It is fed with what was written since its last
 * look.
 */
import { createHash } from 'node:crypto'
import type { StoredEvent } from '../../../src/store/events.ts'
import type { ChainArchive } from './archive.ts'
import type { EventContents, EventText } from './event-contents.ts'

interface UtxosData {
  readonly address: string
  readonly tx_id: string
  readonly added: readonly { readonly tx_id: string; readonly index: number; readonly amount_sompi: number }[]
  readonly removed: readonly {
    readonly tx_id: string
    readonly index: number
    readonly amount_sompi: number
  }[]
  readonly daa_score: number
  readonly retracted: boolean
  readonly retracts: string | null
}

export interface Confirmed {
  readonly eventId: string
  readonly txId: string
  readonly address: string
  readonly received: bigint
  readonly sent: bigint
  readonly daaScore: number
  /** The segment between two gaps in which it was logged. */
  readonly segment: number
}

/** A part of the chain that was followed without a gap. */
export interface Segment {
  /** Stated by the gap before it; undefined for the first segment, which begins where the service started. */
  readonly from: string | undefined
  readonly chain: string[]
}

export interface Gap {
  readonly reason: string
  readonly fromMs: number
  readonly toMs: number
}

const ONCE_PER_TRANSACTION = new Set([
  'mempool_entry',
  'covenant_execution',
  'krc20_activity',
  'native_asset_transfer',
  'scriptlang_event',
])

interface AcceptedData {
  readonly tx_id: string
  readonly covenant_id?: string
  readonly retracted: boolean
  readonly retracts: string | null
}

/** What an acceptance did to a covenant or a token, if it was not retracted. */
export interface Accepted {
  readonly kind: string
  readonly txId: string
  readonly segment: number
  readonly data: Readonly<Record<string, unknown>>
}

export type LogLaws = ReturnType<typeof createLogLaws>

export function createLogLaws(
  archive: Pick<ChainArchive, 'acceptedAt' | 'block' | 'timeOf'>,
  contents: Pick<EventContents, 'judge'>,
) {
  /** A digest of every event that was ever read, by its number. */
  const digests = new Map<number, string>()
  const standing = new Map<string, Confirmed>()
  const accepted = new Map<string, Accepted & { readonly text: string }>()
  const blocks = new Set<string>()
  const once = new Set<string>()
  /** Transactions with a `mempool_entry`; those that were confirmed before they had one. */
  const reported = new Set<string>()
  const unreported = new Set<string>()
  const gaps: Gap[] = []
  const segments: Segment[] = [{ from: undefined, chain: [] }]
  let lastSeq = 0
  let retractions = 0
  /** The blue score of the index's first chain block. */
  let beginsAt: number | undefined
  let beginsAtMs: number | undefined

  /** Accepted before the index began: a block merged later may carry another copy, which is not pending. */
  const isEarlier = (txId: string): boolean =>
    (archive.acceptedAt(txId) ?? Number.POSITIVE_INFINITY) < (beginsAt ?? Number.POSITIVE_INFINITY)

  /** A number means the same event forever, no matter who reads it and when. */
  function same(event: StoredEvent): string[] {
    const digest = digestOf(event.text)
    const known = digests.get(event.seq)
    digests.set(event.seq, known ?? digest)
    return known === undefined || known === digest ? [] : [`6 number ${event.seq} was given to two events`]
  }

  function next(event: StoredEvent): string[] {
    const wrong = same(event)
    if (event.seq !== lastSeq + 1) wrong.push(`6 after number ${lastSeq} comes ${event.seq}`)
    lastSeq = event.seq
    const text = JSON.parse(event.text) as EventText & { id: string; seq?: number }
    const { id, seq } = text
    const data: unknown = text.data
    if (id !== event.id || seq !== event.seq) wrong.push(`6 event ${event.seq} has another id inside`)
    wrong.push(...contents.judge(event, text))
    switch (event.kind) {
      case 'gap':
        return [...wrong, ...applyGap(data as { reason: string; from: string; to: string })]
      case 'block_added':
        return [...wrong, ...applyBlock(data as { hash: string; transaction_ids: string[] })]
      case 'virtual_chain_changed':
        return [...wrong, ...applyChain(event.seq, data as { removed: string[]; added: string[] })]
      case 'utxos_changed':
        return [...wrong, ...applyUtxos(event, data as UtxosData)]
      case 'covenant_created':
      case 'covenant_spent':
      case 'token_transfer':
        return [...wrong, ...applyAccepted(event, data as AcceptedData)]
    }
    if (ONCE_PER_TRANSACTION.has(event.kind)) {
      const { tx_id, stage = '' } = data as { tx_id: string; stage?: string }
      const key = `${event.kind} ${stage} ${tx_id}`
      if (once.has(key)) wrong.push(`6 ${key} is logged twice, again as ${event.seq}`)
      once.add(key)
      wrong.push(...applyStage(event, data as { tx_id: string; stage?: string; first_seen?: string }))
    }
    return wrong
  }

  function applyGap({ reason, from, to }: { reason: string; from: string; to: string }): string[] {
    gaps.push({ reason, fromMs: Date.parse(from), toMs: Date.parse(to) })
    if (reason === 'pruned') segments.push({ from: to, chain: [] })
    return []
  }

  function applyBlock({ hash, transaction_ids }: { hash: string; transaction_ids: string[] }): string[] {
    if (blocks.has(hash)) return [`6 block ${hash} is logged twice`]
    blocks.add(hash)
    // The first transaction is the coinbase.
    const late = transaction_ids.slice(1).find((txId) => !reported.has(txId) && !isEarlier(txId))
    return late === undefined ? [] : [`6 block ${hash} is logged before the mempool_entry of ${late}`]
  }

  /** The `mempool_entry` of a transaction comes before everything else about it. */
  function applyStage(
    { kind, seq }: StoredEvent,
    { tx_id, first_seen }: { tx_id: string; first_seen?: string },
  ): string[] {
    if (kind !== 'mempool_entry')
      return reported.has(tx_id) ? [] : [`6 ${kind} ${seq} comes before the mempool_entry of ${tx_id}`]
    reported.add(tx_id)
    if (unreported.has(tx_id)) return [`6 the mempool_entry of ${tx_id} comes after its confirmation`]
    return first_seen === 'mempool' || first_seen === 'block' ? [] : [`6 ${seq} has first_seen ${first_seen}`]
  }

  function applyChain(
    seq: number,
    { removed, added }: { readonly removed: readonly string[]; readonly added: readonly string[] },
  ): string[] {
    const wrong: string[] = []
    const chain = segments.at(-1)?.chain ?? []
    const first = archive.block(added[0] ?? '')
    beginsAt ??= first?.blueScore
    beginsAtMs ??= first?.timeMs
    for (const hash of removed) {
      // A segment contains nothing from before its beginning.
      const tip = chain.pop() ?? hash
      if (tip !== hash) wrong.push(`6 event ${seq} removes ${hash}, the tip is ${tip}`)
    }
    for (const hash of added) if (chain.includes(hash)) wrong.push(`6 event ${seq} adds ${hash} again`)
    chain.push(...added)
    return wrong
  }

  function applyUtxos(event: StoredEvent, data: UtxosData): string[] {
    const { address, tx_id: txId, retracted, retracts } = data
    const key = `${txId} ${address}`
    const before = standing.get(key)
    const wrong: string[] = []
    if (event.addresses.length !== 1 || event.addresses[0] !== address)
      wrong.push(`6 event ${event.seq} about ${address} is filed under ${event.addresses.join(' ')}`)
    if (!retracted) {
      if (!reported.has(txId)) unreported.add(txId)
      // What happened in a gap may have been undone without being seen.
      if (before !== undefined && before.segment === segments.length - 1)
        wrong.push(`6 ${key} is confirmed twice, by ${before.eventId} and ${event.id}`)
      standing.set(key, {
        ...{ eventId: event.id, txId, address, daaScore: data.daa_score, segment: segments.length - 1 },
        received: sum(data.added),
        sent: sum(data.removed),
      })
      return wrong
    }
    retractions++
    if (before?.eventId !== retracts)
      wrong.push(`6 event ${event.seq} retracts ${retracts}, ${before?.eventId ?? 'nothing'} stands`)
    else if (before.received !== sum(data.added) || before.sent !== sum(data.removed))
      wrong.push(`6 event ${event.seq} retracts another movement than ${retracts} logged`)
    standing.delete(key)
    return wrong
  }

  /** What an acceptance did to a covenant or a token is retracted with the same data, once, and only while it holds. */
  function applyAccepted(event: StoredEvent, data: AcceptedData): string[] {
    const { retracted, retracts, ...rest } = data
    const text = JSON.stringify(rest)
    if (!retracted) {
      accepted.set(event.id, {
        ...{ kind: event.kind, txId: data.tx_id, segment: segments.length - 1, text },
        data: rest,
      })
      return reported.has(data.tx_id)
        ? []
        : [`6 ${event.kind} ${event.seq} comes before the mempool_entry of ${data.tx_id}`]
    }
    const before = accepted.get(retracts ?? '')
    accepted.delete(retracts ?? '')
    if (before === undefined) return [`6 event ${event.seq} retracts ${retracts}, which does not stand`]
    return before.text === text ? [] : [`6 event ${event.seq} retracts other data than ${retracts} logged`]
  }

  return {
    same,
    feed: (events: readonly StoredEvent[]): string[] => events.flatMap(next),
    get lastSeq() {
      return lastSeq
    },
    get retractions() {
      return retractions
    },
    accepted: (): readonly Accepted[] => [...accepted.values()],
    hasParsed: (kind: string, txId: string) => once.has(`${kind} accepted ${txId}`),
    standing: (): readonly Confirmed[] => [...standing.values()],
    /** Whether its `mempool_entry` came before everything else about it. */
    isReported: (txId: string) => reported.has(txId) && !unreported.has(txId),
    hasBlock: (hash: string) => blocks.has(hash),
    /** The block is from before the index began: a reorganisation may merge it again, however much later. */
    isEarlierBlock: (hash: string) =>
      (archive.timeOf(hash) ?? Number.POSITIVE_INFINITY) < (beginsAtMs ?? Number.NEGATIVE_INFINITY),
    segments: (): readonly Segment[] => segments,
    gaps: (): readonly Gap[] => gaps,
  }
}

const digestOf = (text: string) => createHash('sha1').update(text).digest('base64')

function sum(cells: readonly { readonly amount_sompi: number }[]): bigint {
  return cells.reduce((total, { amount_sompi }) => total + BigInt(amount_sompi), 0n)
}
