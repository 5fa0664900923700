/** `coinbase`: the transaction with which a block pays its miners. Its payload names the miner and the subsidy. */
import { bytesOfHex } from '../core/chain/hex.ts'
import type { Network } from '../core/chain/network.ts'
import { isCoinbase, type Transaction } from '../core/chain/transaction.ts'
import type { Confidence } from './confidence.ts'
import { addressOfScript } from './script-address.ts'

export interface CoinbaseDetail {
  readonly confidence: Confidence
  /** Null if the payload does not have the standard form. */
  readonly blue_score: bigint | null
  readonly subsidy_sompi: bigint | null
  readonly miner_address: string | null
  /** Data that the miner added, in hex; usually the version of its software. */
  readonly extra_data: string | null
}

const UNREADABLE = { blue_score: null, subsidy_sompi: null, miner_address: null, extra_data: null }
const HEAD_BYTES = 8 + 8 + 2 + 1

export function coinbaseDetail(transaction: Transaction, network: Network): CoinbaseDetail | null {
  if (!isCoinbase(transaction)) return null
  const { payload } = transaction
  if (payload.length < HEAD_BYTES * 2) return { confidence: 'certain', ...UNREADABLE }
  const head = bytesOfHex(payload.slice(0, HEAD_BYTES * 2))
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
  const scriptEnd = (HEAD_BYTES + view.getUint8(18)) * 2
  if (scriptEnd > payload.length) return { confidence: 'certain', ...UNREADABLE }
  const scriptVersion = view.getUint16(16, true).toString(16).padStart(4, '0')
  return {
    confidence: 'certain',
    blue_score: view.getBigUint64(0, true),
    subsidy_sompi: view.getBigUint64(8, true),
    miner_address: addressOfScript(scriptVersion + payload.slice(HEAD_BYTES * 2, scriptEnd), network),
    extra_data: payload.slice(scriptEnd),
  }
}
