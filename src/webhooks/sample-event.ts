import type { Network } from '../core/chain/network.ts'
import { type EventData, newEvent } from '../events/event.ts'
import type { EventKind } from '../events/kinds.ts'
import type { RandomBytes } from '../kit/random.ts'
import type { EventText, SubscriptionRecord } from '../store/jobs.ts'

/** A made-up event of the subscription's first kind. Its sequence number is 0 and its id begins with `evt_test`. */
export function sampleEvent(
  subscription: Pick<SubscriptionRecord, 'kinds' | 'addresses'>,
  network: Network,
  nowMs: number,
  randomBytes: RandomBytes,
): EventText {
  const kind = (subscription.kinds[0] ?? 'block_added') as EventKind
  const id = `evt_test${randomBytes(6).toString('hex')}`
  const address = subscription.addresses[0] ?? null
  const { tail } = newEvent({
    kind,
    network,
    createdAtMs: nowMs,
    addresses: address === null ? [] : [address],
    data: SAMPLES(address, nowMs)[kind],
  })
  return { seq: 0, id, kind, text: `{"id":"${id}","seq":0,${tail}` }
}

const HASH = '0'.repeat(64)

const SAMPLES = (address: string | null, nowMs: number): EventData => {
  const parsed = { tx_id: HASH, stage: 'accepted' as const, detail: {}, outputs: [] }
  const accepted = { tx_id: HASH, daa_score: 1, retracted: false, retracts: null }
  const cell = { tx_id: HASH, index: 0, amount_sompi: 100_000_000, address }
  return {
    block_added: {
      hash: HASH,
      daa_score: 1,
      blue_score: 1,
      timestamp: new Date(nowMs).toISOString(),
      transaction_ids: [],
    },
    virtual_chain_changed: { removed: [], added: [HASH], accepted: [] },
    virtual_daa_score_changed: { daa_score: 1 },
    sink_blue_score_changed: { blue_score: 1 },
    utxos_changed: {
      address: address ?? '',
      tx_id: HASH,
      added: [{ tx_id: HASH, index: 0, amount_sompi: 100_000_000 }],
      removed: [],
      daa_score: 1,
      retracted: false,
      retracts: null,
    },
    mempool_entry: {
      tx_id: HASH,
      fee_sompi: 2_000,
      is_orphan: false,
      first_seen: 'mempool',
      tags: [],
      outputs: [],
    },
    covenant_execution: { ...parsed, tags: ['covenant', 'covenant_execution'] },
    krc20_activity: { ...parsed, tags: ['krc20'] },
    native_asset_transfer: { ...parsed, tags: ['native_asset'] },
    scriptlang_event: { ...parsed, tags: ['scriptlang'] },
    covenant_created: { covenant_id: HASH, ...accepted, is_genesis: true, outputs: [cell] },
    covenant_spent: { covenant_id: HASH, ...accepted, is_burn: false, inputs: [{ ...cell, signed: null }] },
    token_transfer: {
      token_id: HASH,
      form: 'kcc20',
      ...accepted,
      operation: 'transition',
      valid: true,
      from: [],
      to: [{ holder: address, amount: '1' }],
    },
  }
}
