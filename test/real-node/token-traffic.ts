/**
 * KRC-20 tokens on a real node: deployed for the fee that the rules require, then minted and moved by commit and reveal
 * or in the payload, by one key or by two together, put up for sale and bought. Some operations are void: they pay too
 * little, move too much, or are made by somebody who may not make them.
 */
import { payToScriptHash } from '../../sandbox/node/consensus/address.ts'
import type { Tx, TxOutput, UtxoEntry } from '../../sandbox/node/consensus/model.ts'
import type { Random } from '../../sandbox/node/random.ts'
import { pushText } from '../../sandbox/node/script/push.ts'
import { type Coin, pay, type Wallet } from '../../sandbox/node/traffic/wallet.ts'

const KAS = 100_000_000n
/** Ticks that no other traffic uses. */
const TICKS = ['REALA', 'REALB'] as const
/** Has no tick: its owner issues it. */
const ISSUED = 'REALC'
const DEPLOY_FEE = 1_000n * KAS
const MINT_FEE = KAS
const PLAIN_FEE = KAS / 20n
const COMMITTED = 10n * KAS
/** The output of an order. */
const SALE = 5n * KAS
/** Coinbases that pay for a deployment. */
const DEPLOY_COINS = 24
/** If a reorganisation put a use of a token before its deployment, its history would stay unknown forever. */
const DEPLOY_DEPTH = 60n

type Members = Record<string, string>

export interface TokenTrafficWorld {
  readonly random: Random
  addressOf(script: string): string
  /** What can be spent of an owner, each at least this large. */
  coinsOf(owner: Wallet, atLeast: bigint): Coin[]
  /** What is unspent at a script. */
  unspentAt(script: string): readonly [key: string, entry: UtxoEntry] | undefined
  /** How deep the first output of a transaction is in the chain; undefined if it is not in it. */
  depthOf(txId: string): bigint | undefined
}

/** Who acts: a wallet, or two keys of which one signs. */
interface Party {
  readonly wallet: Wallet
  /** The script that checks the keys. */
  readonly check: string
  readonly keys: number
  readonly address: string
}

interface Action {
  readonly party: Party
  readonly members: Members
  readonly fee: bigint
  readonly outputs?: readonly TxOutput[]
}

interface Commit extends Action {
  readonly program: string
}

interface Sale {
  readonly program: string
  readonly party: Party
}

/** `issuer` deploys, with coinbases. */
export function createTokenTraffic(users: readonly Wallet[], issuer: Wallet, world: TokenTrafficWorld) {
  const { random, addressOf } = world
  const single = (wallet: Wallet): Party => ({
    ...{ wallet, keys: 1, check: `20${wallet.key.publicKey}ac`, address: addressOf(wallet.script) },
  })
  const several = users.slice(0, -1).flatMap((wallet, i): Party[] => {
    if (i % 4 !== 0) return []
    const check = `5120${wallet.key.publicKey}20${users[i + 1]?.key.publicKey}52ae`
    return [{ wallet, keys: 2, check, address: addressOf(payToScriptHash(check)) }]
  })
  const parties = [...users.map(single), ...several]
  const toDeploy: string[] = [ISSUED, ...TICKS]
  /** The deploying transaction of each, and who owned the token last, as far as that is known here. */
  const deployed = new Map<string, string>()
  const owners = new Map<string, Party>()
  /** The addresses that received some of a token. */
  const given: { readonly token: string; readonly party: Party }[] = []
  let commits: Commit[] = []
  let sales: Sale[] = []

  function send(coins: readonly Coin[], action: Action): Tx | undefined {
    const { party, members, fee, outputs = [] } = action
    const operation = { p: 'krc-20', ...members }
    const change = party.wallet.script
    if (party.keys === 1 && random.chance(0.5)) {
      const payload = Buffer.from(JSON.stringify(operation)).toString('hex')
      return noted(members, paying(coins, outputs, { change, fee, payload }))
    }
    const program = envelope(party, operation)
    const output = { value: fee + COMMITTED, scriptPublicKey: payToScriptHash(program), covenant: null }
    const tx = paying(coins, [output], { change, fee: PLAIN_FEE })
    if (tx !== undefined) commits.push({ ...action, program })
    return tx
  }

  function reveal(): Tx | undefined {
    for (const commit of commits) {
      const found = world.unspentAt(payToScriptHash(commit.program))
      if (found === undefined) continue
      commits = commits.filter((one) => one !== commit)
      const { party, program, fee, members, outputs = [] } = commit
      const coin = coinOf(found, party, program)
      return noted(members, paying([coin], outputs, { change: party.wallet.script, fee }))
    }
    return undefined
  }

  function noted({ op, tick, name = '' }: Members, tx: Tx | undefined): Tx | undefined {
    if (op === 'deploy' && tx !== undefined) {
      deployed.set(tick ?? name, tx.id)
      owners.set(tick ?? name, single(issuer))
    }
    return tx
  }

  function deploy(): Tx | undefined {
    const [token] = toDeploy
    if (token === undefined) return undefined
    const coins = issuerCoins().slice(0, DEPLOY_COINS)
    if (coins.length < DEPLOY_COINS) return undefined
    const kind = token === ISSUED ? { mod: 'issue', name: token } : { tick: token, lim: '1000' }
    const members = { op: 'deploy', ...kind, max: '1000000', pre: '5000' }
    const tx = send(coins, { party: single(issuer), members, fee: DEPLOY_FEE })
    if (tx !== undefined) toDeploy.shift()
    return tx
  }

  const issuerCoins = () => world.coinsOf(issuer, KAS).filter(({ entry }) => entry.isCoinbase)

  /** A buyer spends the output of an order; without a buyer the order is cancelled. */
  function buy(): Tx | undefined {
    for (const sale of sales) {
      const found = world.unspentAt(payToScriptHash(sale.program))
      if (found === undefined) continue
      sales = sales.filter((one) => one !== sale)
      const { wallet } = sale.party
      const price = { value: SALE / 3n, scriptPublicKey: wallet.script, covenant: null }
      const isBought = random.chance(0.7)
      const change = isBought ? random.pick(users).script : wallet.script
      return paying([coinOf(found, sale.party, sale.program)], isBought ? [price] : [], {
        ...{ change, fee: PLAIN_FEE },
      })
    }
    return undefined
  }

  function operate(): Tx | undefined {
    const ready = [...deployed].filter(([, txId]) => (world.depthOf(txId) ?? 0n) > DEPLOY_DEPTH)
    if (ready.length === 0) return undefined
    const [token, txId] = random.pick(ready)
    const named: Members = token === ISSUED ? { ca: txId } : { tick: token }
    const owner = owners.get(token) ?? single(issuer)
    const holders = given.filter((one) => one.token === token).map(({ party }) => party)
    const receiver = random.pick(parties)
    const to = receiver.address
    const amt = String(1 + random.below(600))
    const act = (party: Party, members: Members, fee = PLAIN_FEE, outputs: readonly TxOutput[] = []) => {
      const isIssuer = party.wallet === issuer
      const coins = isIssuer ? issuerCoins() : world.coinsOf(party.wallet, COMMITTED + 4n * KAS)
      const action = { party, members: { ...members, ...named }, fee, outputs }
      return coins.length === 0 ? undefined : send(coins.slice(0, 1), action)
    }
    const anyone = random.pick(parties)
    const holder = holders.length > 0 && random.chance(0.9) ? random.pick(holders) : anyone
    const ownerOrNot = random.chance(0.8) ? owner : anyone
    const roll = random.next()
    if (roll < 0.3 && token === ISSUED) {
      given.push({ token, party: receiver })
      return act(ownerOrNot, { op: 'issue', amt, to })
    }
    if (roll < 0.3) {
      const toOther = random.chance(0.3)
      given.push({ token, party: toOther ? receiver : anyone })
      const fee = random.chance(0.8) ? MINT_FEE : MINT_FEE - 1n
      return act(anyone, { op: 'mint', ...(toOther ? { to } : {}) }, fee)
    }
    if (roll < 0.5) return act(holder, { op: 'transfer', amt, to })
    if (roll < 0.6) return act(ownerOrNot, { op: 'burn', amt })
    if (roll < 0.7) {
      const tx = act(ownerOrNot, { op: 'chown', to })
      if (tx !== undefined && ownerOrNot === owner) owners.set(token, receiver)
      return tx
    }
    const offered = Object.fromEntries(Object.entries(named).map(([name, id]) => [name, id.toLowerCase()]))
    const program = envelope(holder, { p: 'krc-20', op: 'send', ...offered })
    const sale = { value: SALE, scriptPublicKey: payToScriptHash(program), covenant: null }
    const tx = act(holder, { op: 'list', amt }, PLAIN_FEE, [sale])
    if (tx !== undefined) sales.push({ program, party: holder })
    return tx
  }

  const due = () => (random.chance(0.5) ? reveal() : buy())
  return {
    several: several.map(({ address }) => address),
    next: (): Tx | undefined => (random.chance(0.6) ? due() : undefined) ?? deploy() ?? operate(),
  }
}

const envelope = ({ check }: Party, operation: Members) =>
  `${check}0063${pushText('kasplex')}00${pushText(JSON.stringify(operation))}68`

const coinOf = (
  [key, entry]: readonly [string, UtxoEntry],
  { wallet, keys }: Party,
  program: string,
): Coin => ({
  ...{ key, entry, owner: wallet, reveal: { program, keys } },
})

/** Pays exactly this fee, or a few sompi more if the fee rate has no such fraction. */
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
