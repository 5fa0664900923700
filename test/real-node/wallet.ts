/** A wallet of the real Rust client (its WASM build) whose coins are on a real node. */
import { createRequire } from 'node:module'
import type * as Sdk from 'kaspa-wasm32-sdk'
import { transactionJson } from '../fakes/real-client.ts'
import { NETWORK, type RealNode } from './real-node.ts'

const sdk = createRequire(import.meta.url)('kaspa-wasm32-sdk') as typeof Sdk

/** Of a payment with one input and two outputs; the client's own estimate is that of older nodes. */
const FEE = 300_000n

export interface RealCoin {
  readonly outpoint: { readonly transactionId: string; readonly index: number }
  readonly amount: bigint
  readonly scriptPublicKey: string
  readonly blockDaaScore: bigint
  readonly isCoinbase: boolean
}

export interface BuiltTransaction {
  readonly id: string
  /** In the form that the node accepts; u64 fields are bigints. */
  readonly json: Record<string, unknown>
  /** The outputs, which may be spent before they are confirmed. */
  readonly coins: readonly RealCoin[]
}

export type Wallet = ReturnType<typeof createWallet>

export function createWallet(seed: string, network: string = NETWORK) {
  const key = new sdk.PrivateKey(seed.padStart(64, '1'))
  const address = key.toAddress(network).toString()
  return {
    address,
    /** What can be spent, the largest first. */
    async coins(node: Pick<RealNode, 'rpc'>): Promise<RealCoin[]> {
      const [{ entries }, { virtualDaaScore }] = await Promise.all([
        node.rpc.call('getUtxosByAddresses', { addresses: [address] }),
        node.rpc.call('getBlockDagInfo'),
      ])
      const maturity = 1_000n
      return (entries as { outpoint: RealCoin['outpoint']; utxoEntry: Record<string, unknown> }[])
        .map(({ outpoint, utxoEntry }) => ({
          outpoint: { transactionId: outpoint.transactionId, index: Number(outpoint.index) },
          amount: BigInt(utxoEntry.amount as number),
          scriptPublicKey: String(utxoEntry.scriptPublicKey),
          blockDaaScore: BigInt(utxoEntry.blockDaaScore as number),
          isCoinbase: utxoEntry.isCoinbase === true,
        }))
        .filter(
          ({ isCoinbase, blockDaaScore }) =>
            !isCoinbase || blockDaaScore + maturity < BigInt(virtualDaaScore as number),
        )
        .sort((a, b) => (a.amount > b.amount ? -1 : 1))
    },
    /** Pays to these addresses, all of the coins less the fee: the given amounts first, the rest in equal parts. */
    pay(
      coins: readonly RealCoin[],
      to: readonly string[],
      fee = FEE,
      given: readonly bigint[] = [],
    ): BuiltTransaction {
      const sum = (values: readonly bigint[]) => values.reduce((total, value) => total + value, 0n)
      const rest = sum(coins.map(({ amount }) => amount)) - fee - sum(given)
      const parts = BigInt(to.length - given.length)
      const amounts = to.map((_, i) => given[i] ?? rest / parts + (i === given.length ? rest % parts : 0n))
      const outputs = to.map((paid, i) => ({ address: paid, amount: amounts[i] ?? 0n }))
      const entries = coins.map((coin) => ({ ...coin, address }))
      const built = sdk.createTransaction(entries as never, outputs, 0n, undefined, 1)
      const signed = sdk.signTransaction(built, [key], true)
      return {
        id: signed.id,
        json: transactionJson(signed),
        coins: outputs.map(({ address: paid, amount }, index) => ({
          ...{ outpoint: { transactionId: signed.id, index }, amount, blockDaaScore: 0n, isCoinbase: false },
          scriptPublicKey: scriptOf(paid),
        })),
      }
    },
  }
}

function scriptOf(address: string): string {
  const { version, script } = sdk.payToAddressScript(address)
  return version.toString(16).padStart(4, '0') + script
}
