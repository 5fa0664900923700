/** A real node with a chain: mature coins, accepted payments and pending payments. */
import { mineBlocks } from './mine.ts'
import type { RealNode } from './real-node.ts'
import { type BuiltTransaction, createWallet, type RealCoin, type Wallet } from './wallet.ts'

/** A coinbase can be spent after this many blocks. */
const MATURITY = 1_000

export interface Funds {
  readonly miner: Wallet
  readonly payee: Wallet
  /** Coins of the miner that nothing spends yet. */
  readonly coins: RealCoin[]
  readonly accepted: readonly BuiltTransaction[]
  readonly waiting: readonly BuiltTransaction[]
}

export async function fundNode(node: RealNode, spare = 40): Promise<Funds> {
  const [miner, payee] = [createWallet('c3'), createWallet('d4')]
  await mineBlocks(node, miner.address, MATURITY + spare + 20)
  const coins = await miner.coins(node)
  const pay = async (count: number) => {
    const built = coins.splice(0, count).map((coin) => miner.pay([coin], [payee.address, miner.address]))
    for (const { json } of built)
      await node.rpc.call('submitTransaction', { transaction: json, allowOrphan: false })
    return built
  }
  const accepted = await pay(5)
  await mineBlocks(node, miner.address, 40)
  return { miner, payee, coins, accepted, waiting: await pay(5) }
}
