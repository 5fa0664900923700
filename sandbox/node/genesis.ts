/** Where a simulated chain starts: a block without a past, and the unspent outputs at that point. */
import type { ChainOptions } from './chain-options.ts'
import { decodeAddress, scriptOfAddress } from './consensus/address.ts'
import { BITS, BLOCK_VERSION, coinbasePayload } from './consensus/build-block.ts'
import { toHex } from './consensus/bytes.ts'
import { blockOf, domainHash, hashMerkleRoot } from './consensus/hashing.ts'
import {
  type Block,
  COINBASE_SUBNETWORK,
  SOMPI_PER_KASPA,
  type UtxoEntry,
  ZERO_HASH,
} from './consensus/model.ts'
import { sealTransaction } from './consensus/validate.ts'
import { createWallet, type Wallet } from './traffic/wallet.ts'

/** Hashes per block, chosen so that the network hash rate exceeds 2^53 like the real one. */
export const WORK_PER_BLOCK = 50_000_000_000_000_000n
const hashGenesis = domainHash('SandboxGenesis')
const COINS_PER_USER = 12
const FAUCET_COINS = 50
const FAUCET_COIN = 1_000_000n * SOMPI_PER_KASPA
/** Never spent; it gives the supply the size of the real one. */
const RESERVE = 2_700_000_000_000_000_000n

interface Owners {
  miner: Wallet | undefined
  faucet: Wallet
  users: readonly Wallet[]
}

export function genesis(
  options: ChainOptions,
  owners: Owners,
): { block: Block; utxos: Iterable<[string, UtxoEntry]> } {
  return { block: firstBlock(options, owners.miner?.script ?? ''), utxos: allocation(options, owners) }
}

function firstBlock(options: ChainOptions, minerScript: string): Block {
  const { startDaaScore, startTimeMs, seed } = options
  const coinbase = sealTransaction({
    version: 1,
    inputs: [],
    outputs: [],
    lockTime: 0n,
    subnetworkId: COINBASE_SUBNETWORK,
    gas: 0n,
    payload: coinbasePayload(0n, minerScript, toHex(Buffer.from(`sandbox ${seed}`))),
    storageMass: 0n,
  })
  return blockOf(
    {
      version: BLOCK_VERSION,
      parentsByLevel: [],
      hashMerkleRoot: hashMerkleRoot([coinbase]),
      acceptedIdMerkleRoot: ZERO_HASH,
      utxoCommitment: ZERO_HASH,
      timestamp: startTimeMs,
      bits: BITS,
      nonce: 0n,
      daaScore: startDaaScore,
      blueWork: startDaaScore * WORK_PER_BLOCK,
      // Red blocks of the unknown past count only for the DAA score.
      blueScore: startDaaScore - startDaaScore / 250n,
      pruningPoint: ZERO_HASH,
    },
    [coinbase],
  )
}

/**
 * The outputs as a node has them that starts from a pruning point: created by transactions that cannot be looked up.
 */
function* allocation(options: ChainOptions, owners: Owners): Generator<[string, UtxoEntry]> {
  const { startDaaScore, seed, fund } = options
  let n = 0
  const entry = (scriptPublicKey: string, amount: bigint): [string, UtxoEntry] => {
    const id = toHex(hashGenesis(Buffer.from(`${seed}:${n++}`)))
    const blockDaaScore = startDaaScore > 100_000n ? startDaaScore - 100_000n : 0n
    return [`${id}:0`, { amount, scriptPublicKey, blockDaaScore, isCoinbase: false, covenantId: null }]
  }
  yield entry(createWallet(seed, 'reserve').script, RESERVE)
  for (let i = 0; i < FAUCET_COINS; i++) yield entry(owners.faucet.script, FAUCET_COIN)
  for (const user of owners.users) {
    for (let i = 0; i < COINS_PER_USER; i++) yield entry(user.script, BigInt(100 + 37 * i) * SOMPI_PER_KASPA)
  }
  for (const { address, amount } of fund) {
    const decoded = decodeAddress(address)
    if (!decoded.ok) throw new RangeError(`cannot fund ${address}: not an address`)
    yield entry(scriptOfAddress(decoded), amount)
  }
}
