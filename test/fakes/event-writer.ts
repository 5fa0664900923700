/** Writes events into the log of a running service's folder, as the indexer would. */
import { encodeAddress } from '../../src/core/chain/address.ts'
import { newEvent } from '../../src/events/event.ts'
import { appendEvents } from '../../src/store/conformance/chain-engine.ts'
import { storesIn } from './stores.ts'
import { blockEvent, NETWORK } from './webhook-rig.ts'

export function openEventWriter(folder: string) {
  const { chain, events, close } = storesIn(folder).chain('test')
  return {
    chain,
    events,
    close,
    blocks: (count: number) =>
      appendEvents(
        chain,
        Array.from({ length: count }, (_, index) => blockEvent(index)),
      ),
    scores: (count: number) =>
      appendEvents(
        chain,
        Array.from({ length: count }, (_, index) =>
          newEvent({
            kind: 'virtual_daa_score_changed',
            network: NETWORK,
            createdAtMs: Date.now(),
            data: { daa_score: BigInt(index) },
          }),
        ),
      ),
    utxos: (addresses: readonly string[], padding = '') =>
      appendEvents(
        chain,
        addresses.map((address) =>
          newEvent({
            kind: 'utxos_changed',
            network: NETWORK,
            createdAtMs: Date.now(),
            addresses: [address],
            data: {
              address,
              tx_id: padding === '' ? 'a'.repeat(64) : padding,
              added: [],
              removed: [],
              daa_score: 18_446_744_073_709_551_615n,
              retracted: false,
              retracts: null,
            },
          }),
        ),
      ),
  }
}

export function testAddress(number: number): string {
  const payload = new Uint8Array(32)
  new DataView(payload.buffer).setUint32(0, number)
  return encodeAddress({ prefix: 'kaspatest', version: 0, payload })
}
