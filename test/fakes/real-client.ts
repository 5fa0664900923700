/** Transactions built and signed by the real Rust client (its WASM build), in the node's JSON form. */
import { createRequire } from 'node:module'
import type * as Sdk from 'kaspa-wasm32-sdk'

const sdk = createRequire(import.meta.url)('kaspa-wasm32-sdk') as typeof Sdk

const KEY = 'b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfef'
export const ADDRESS = new sdk.PrivateKey(KEY).toAddress('testnet-10').toString()
const COIN = 5_000_000_000n

/** The number of unspent outputs at the start. */
export const funds = (count: number) =>
  Array.from({ length: count }, () => ({ address: ADDRESS, amount: COIN }))

export interface Coin {
  outpoint: { transactionId: string; index: number }
  utxoEntry: { amount: number; scriptPublicKey: string; blockDaaScore: number }
}

export interface SignedPayment {
  readonly id: string
  /** u64 fields are bigints. */
  readonly json: Record<string, unknown>
}

/** A payment of that coin to its owner; scripts in the object form, which has to be rewritten on the way. */
export function payment(coin: Coin, fee = 300_000n): SignedPayment {
  const { scriptPublicKey, blockDaaScore } = coin.utxoEntry
  const entry = {
    address: ADDRESS,
    outpoint: coin.outpoint,
    amount: COIN,
    scriptPublicKey,
    blockDaaScore: BigInt(blockDaaScore),
    isCoinbase: false,
  }
  const half = (COIN - fee) / 2n
  const outputs = [half, COIN - fee - half].map((amount) => ({ address: ADDRESS, amount }))
  const built = sdk.createTransaction([entry as never], outputs, 0n, undefined, 1)
  const tx = sdk.signTransaction(built, [KEY], true)
  const json = transactionJson(tx)
  return { id: tx.id, json }
}

/** A transaction of the real client in the form that the node takes. */
export function transactionJson(tx: Sdk.Transaction) {
  return {
    version: tx.version,
    inputs: tx.inputs.map((input) => ({
      previousOutpoint: {
        transactionId: input.previousOutpoint.transactionId,
        index: input.previousOutpoint.index,
      },
      signatureScript: input.signatureScript,
      sequence: input.sequence,
      sigOpCount: input.sigOpCount,
    })),
    outputs: tx.outputs.map(({ value, scriptPublicKey: script }) => {
      const { version, script: hex } = script as Sdk.ScriptPublicKey
      return { value, scriptPublicKey: { version, script: hex } }
    }),
    lockTime: tx.lockTime,
    subnetworkId: tx.subnetworkId,
    gas: tx.gas,
    payload: tx.payload,
    mass: 0,
  }
}
