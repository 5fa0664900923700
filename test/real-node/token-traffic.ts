/**
 * KRC-20 tokens on a real node: deployed for the fee that the rules demand, then minted and moved by commit and reveal or
 * in the payload. Some operations are void: they pay too little, move too much, or are somebody else's to make.
 */
import { payToScriptHash } from '../../sandbox/node/consensus/address.ts'
import type { Tx, TxOutput, UtxoEntry } from '../../sandbox/node/consensus/model.ts'
import type { Random } from '../../sandbox/node/random.ts'
import { krc20Envelope } from '../../sandbox/node/traffic/programs.ts'
import { type Coin, pay, type Wallet } from '../../sandbox/node/traffic/wallet.ts'

const KAS = 100_000_000n
/** No other traffic uses them. */
const TICKS = ['REALA', 'REALB'] as const
const DEPLOY_FEE = 1_000n * KAS
const MINT_FEE = KAS
const PLAIN_FEE = KAS / 20n
const COMMITTED = 10n * KAS
/** Coinbases that pay for a deployment. */
const DEPLOY_COINS = 24
/** A token that were used before its deployment, after a reorganisation, would be of unknown history for good. */
const DEPLOY_DEPTH = 60n

type Members = Record<string, string>

export interface TokenTrafficWorld {
  readonly random: Random
  addressOf(script: string): string
  /** What can be spent of an owner, each at least so large. */
  coinsOf(owner: Wallet, atLeast: bigint): Coin[]
  /** What is unspent at a script. */
  unspentAt(script: string): readonly [key: string, entry: UtxoEntry] | undefined
  /** How deep the first output of a transaction is in the chain; undefined where it is not in it. */
  depthOf(txId: string): bigint | undefined
}

interface Commit {
  readonly program: string
  readonly owner: Wallet
  readonly members: Members
  readonly fee: bigint
}

/** `issuer` deploys, with coinbases. */
export function createTokenTraffic(users: readonly Wallet[], issuer: Wallet, world: TokenTrafficWorld) {
  const { random, addressOf } = world
  const toDeploy: string[] = [...TICKS]
  /** The deploying transaction of each tick. */
  const deployed = new Map<string, string>()
  let commits: Commit[] = []

  function send(owner: Wallet, coins: readonly Coin[], members: Members, fee: bigint): Tx | undefined {
    const operation = { p: 'krc-20', ...members }
    if (random.chance(0.5)) {
      const payload = Buffer.from(JSON.stringify(operation)).toString('hex')
      return noted(members, paying(coins, [], { change: owner.script, fee, payload }))
    }
    const program = krc20Envelope(owner.key.publicKey, operation)
    const value = fee + COMMITTED
    const output = { value, scriptPublicKey: payToScriptHash(program), covenant: null }
    const tx = paying(coins, [output], { change: owner.script, fee: PLAIN_FEE })
    if (tx !== undefined) commits.push({ program, owner, members, fee })
    return tx
  }

  function reveal(): Tx | undefined {
    for (const commit of commits) {
      const found = world.unspentAt(payToScriptHash(commit.program))
      if (found === undefined) continue
      commits = commits.filter((one) => one !== commit)
      const [key, entry] = found
      const { owner, program, fee, members } = commit
      const coin = { key, entry, owner, reveal: { program } }
      return noted(members, paying([coin], [], { change: owner.script, fee }))
    }
    return undefined
  }

  function noted({ op, tick = '' }: Members, tx: Tx | undefined): Tx | undefined {
    if (op === 'deploy' && tx !== undefined) deployed.set(tick, tx.id)
    return tx
  }

  function deploy(): Tx | undefined {
    const [tick] = toDeploy
    if (tick === undefined) return undefined
    const coins = world
      .coinsOf(issuer, KAS)
      .filter(({ entry }) => entry.isCoinbase)
      .slice(0, DEPLOY_COINS)
    if (coins.length < DEPLOY_COINS) return undefined
    const members = { op: 'deploy', tick, max: '1000000', lim: '1000', pre: '5000' }
    const tx = send(issuer, coins, members, DEPLOY_FEE)
    if (tx !== undefined) toDeploy.shift()
    return tx
  }

  function operate(): Tx | undefined {
    const ready = TICKS.filter((tick) => (world.depthOf(deployed.get(tick) ?? '') ?? 0n) > DEPLOY_DEPTH)
    if (ready.length === 0) return undefined
    const owner = random.pick(users)
    const coins = world.coinsOf(owner, COMMITTED + 4n * KAS).slice(0, 1)
    if (coins.length === 0) return undefined
    const tick = random.pick(ready)
    const to = addressOf(random.pick(users).script)
    const amt = String(1 + random.below(1_500))
    const roll = random.next()
    if (roll < 0.4) {
      const members = { op: 'mint', tick, ...(random.chance(0.3) ? { to } : {}) }
      return send(owner, coins, members, random.chance(0.8) ? MINT_FEE : MINT_FEE - 1n)
    }
    if (roll < 0.9) return send(owner, coins, { op: 'transfer', tick, amt, to }, PLAIN_FEE)
    return send(owner, coins, { op: 'burn', tick, amt }, PLAIN_FEE)
  }

  return {
    next: (): Tx | undefined => (random.chance(0.5) ? reveal() : undefined) ?? deploy() ?? operate(),
  }
}

/** With exactly this fee, up to a few sompi more where the rate has no such fraction. */
function paying(
  coins: readonly Coin[],
  outputs: readonly TxOutput[],
  { fee, ...rest }: { change: string; fee: bigint; payload?: string },
): Tx | undefined {
  const draft = { version: 0 as const, coins, outputs, ...rest }
  const cheap = pay({ ...draft, feerate: 1 })
  if (cheap === undefined) return undefined
  const total = coins.reduce((sum, { entry }) => sum + entry.amount, 0n)
  const mass = total - cheap.outputs.reduce((sum, { value }) => sum + value, 0n)
  return pay({ ...draft, feerate: Number(fee) / Number(mass) })
}
