/** What a chain suite needs from an engine, and helpers that make small values to write. */
import {
  type AcceptedTransaction,
  type AddedBlock,
  type ChainStore,
  type ChainWrite,
  type ChainWritten,
  CheckpointMovedError,
} from '../chain.ts'
import type { EventStore, NewEvent, StoredEvent } from '../events.ts'

interface OpenChain {
  chain: ChainStore
  events: EventStore
  reopen(nowMs?: number): Promise<{ chain: ChainStore; events: EventStore }>
  remove(): Promise<void>
}

export interface ChainEngine {
  name: string
  /** The clock shows `NOW` unless another time is given. */
  open(nowMs?: number): Promise<OpenChain>
}

/** The time that an engine's clock shows by default. */
export const NOW = 5e8

export const hash = (n: number): string => n.toString(16).padStart(64, '0')
export const address = (n: number): string => `kaspatest:address-${n}`

export function event(
  kind: string,
  addresses: readonly string[] = [],
  createdAtMs = 1_000,
  text = '',
): NewEvent {
  const list = JSON.stringify(addresses)
  return { kind, addresses, createdAtMs, tail: `"kind":"${kind}","addresses":${list},"text":"${text}"}` }
}

/** A transaction that pays `amount` to an address; `eventPlace` is the index of its event in the batch. */
export function payment(
  tx: number,
  to: number,
  amount: bigint,
  eventPlace: number | null = null,
): AcceptedTransaction {
  return {
    txId: hash(tx),
    parsed: `{"tx_id":"${hash(tx)}","inputs":[],"outputs":[{"index":0,"amount_sompi":${amount},"address":"${address(to)}","script_public_key":"0000aa","covenant":null}],"tags":[]}`,
    fee: 7n,
    effects: [
      {
        address: address(to),
        received: amount,
        sent: 0n,
        direction: 'receive',
        amount,
        counterparty: address(999),
        event: eventPlace,
      },
    ],
    blockHash: hash(tx + 1_000_000),
    blockTimeMs: 5_000,
  }
}

export function block(n: number, transactions: readonly AcceptedTransaction[] = []): AddedBlock {
  return { hash: hash(n), blueScore: n, daaScore: n + 10, timeMs: n * 100, transactions }
}

/** Writes on top of the current checkpoint, even while an indexer writes. */
export async function writeNext(
  chain: ChainStore,
  batch: Omit<ChainWrite, 'expects'>,
): Promise<ChainWritten> {
  for (;;) {
    try {
      return await chain.write({ ...batch, expects: (await chain.checkpoint())?.hash ?? null })
    } catch (error) {
      if (!(error instanceof CheckpointMovedError)) throw error
    }
  }
}

/** Returns the number of the last event. */
export async function appendEvents(chain: ChainStore, events: readonly NewEvent[]): Promise<number> {
  return (await writeNext(chain, { atMs: 1, events })).newestSeq
}

export async function readAll(events: EventStore, query: Partial<Parameters<EventStore['after']>[0]> = {}) {
  const found: StoredEvent[] = []
  for (let afterSeq = query.afterSeq ?? 0; ; ) {
    const page = await events.after({ limit: 7, ...query, afterSeq })
    found.push(...page.events)
    if (!page.more) return found
    if (page.upToSeq <= afterSeq) throw new Error('a page that does not move on')
    afterSeq = page.upToSeq
  }
}
