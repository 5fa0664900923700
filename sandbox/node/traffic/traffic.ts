/**
 * What the simulated users do. Every transaction spends existing outputs, carries real signatures and would pass the
 * node's own checks. Outputs behind a script that this traffic created are remembered until they are spent, so that a
 * commit is followed by its reveal, and a covenant by its continuation or burn.
 */
import { payToScriptHash } from '../consensus/address.ts'
import { toHex } from '../consensus/bytes.ts'
import { genesisCovenantId } from '../consensus/hashing.ts'
import type { Ledger } from '../consensus/ledger.ts'
import { parseOutpointKey, SOMPI_PER_KASPA, type Tx, type TxOutput } from '../consensus/model.ts'
import type { Mempool } from '../mempool.ts'
import type { Random } from '../random.ts'
import { counterContract, krc20Envelope, tokenContract, vaultCovenant } from './programs.ts'
import { type Coin, pay, type Wallet } from './wallet.ts'

const TRAFFIC_KINDS = [
  'transfer',
  'transfer_v1',
  'lane',
  'krc20_commit',
  'krc20_reveal',
  'krc20_payload',
  'covenant_genesis',
  'covenant_continuation',
  'covenant_burn',
  'token_genesis',
  'token_transfer',
  'contract_fund',
  'contract_spend',
] as const
export type TrafficKind = (typeof TRAFFIC_KINDS)[number]

/** How often each kind is tried; a kind that has nothing to spend falls back to a transfer. */
export const DEFAULT_MIX: Readonly<Record<TrafficKind, number>> = {
  transfer: 50,
  transfer_v1: 6,
  lane: 2,
  krc20_commit: 7,
  krc20_reveal: 9,
  krc20_payload: 4,
  covenant_genesis: 3,
  covenant_continuation: 5,
  covenant_burn: 2,
  token_genesis: 2,
  token_transfer: 4,
  contract_fund: 3,
  contract_spend: 4,
}

type ProgramKind = 'krc20' | 'covenant' | 'token' | 'contract'

/** A script that this traffic has paid to. */
export interface KnownProgram {
  kind: ProgramKind
  script: string
  program: string
  owner: string
  amount: bigint
}

const MAX_PROGRAMS = 400
const SWEEP_INPUTS = 40
const TICKS = ['TAPE', 'NACHO', 'KASPY', 'GHOST', 'DAGK'] as const
const LANE = `74617065${'00'.repeat(16)}`
const kas = (amount: number) => BigInt(Math.round(amount * 1e8))

interface TrafficWorld {
  ledger: {
    readonly utxos: Pick<Ledger['utxos'], 'ofScript'>
    readonly virtual: Pick<Ledger['virtual'], 'daaScore'>
    readonly rules: Pick<Ledger['rules'], 'coinbaseMaturity'>
  }
  mempool: Pick<Mempool, 'isSpent'>
  random: Random
  /** The text form of a script's address, for naming users in transfers. */
  addressOf(script: string): string
}

export class Traffic {
  readonly #users: readonly Wallet[]
  readonly #miners: readonly Wallet[]
  readonly #mix: Readonly<Record<TrafficKind, number>>
  #programs: KnownProgram[] = []

  constructor(options: {
    users: readonly Wallet[]
    miners: readonly Wallet[]
    mix: Readonly<Record<TrafficKind, number>>
  }) {
    this.#users = options.users
    this.#miners = options.miners
    this.#mix = options.mix
  }

  state(): KnownProgram[] {
    return this.#programs
  }

  restore(programs: KnownProgram[]): void {
    this.#programs = programs
  }

  next(world: TrafficWorld): Tx | undefined {
    const kind = this.#choose(world.random)
    return this.#make(kind, world) ?? this.#make('transfer', world)
  }

  /** Sweeps mature coinbase outputs; otherwise the set of unspent outputs would grow with every block. */
  sweep(world: TrafficWorld): Tx | undefined {
    for (const miner of this.#miners) {
      if (world.ledger.utxos.ofScript(miner.script).size < 2 * SWEEP_INPUTS) continue
      const coins = this.#coins(world, miner, SWEEP_INPUTS, { coinbase: true, small: true })
      if (coins.length < SWEEP_INPUTS) continue
      return pay({
        version: 0,
        coins,
        outputs: [],
        change: world.random.pick(this.#users).script,
        feerate: 100,
      })
    }
    return undefined
  }

  #choose(random: Random): TrafficKind {
    const total = TRAFFIC_KINDS.reduce((sum, kind) => sum + this.#mix[kind], 0)
    let at = random.next() * total
    for (const kind of TRAFFIC_KINDS) {
      at -= this.#mix[kind]
      if (at < 0) return kind
    }
    return 'transfer'
  }

  #make(kind: TrafficKind, world: TrafficWorld): Tx | undefined {
    const { random } = world
    const user = random.pick(this.#users)
    const other = random.pick(this.#users)
    switch (kind) {
      case 'transfer':
        return this.#transfer(world, user, { version: 0, to: other.script })
      case 'transfer_v1':
        return this.#transfer(world, user, { version: 1, to: other.script })
      case 'lane':
        return this.#transfer(world, user, {
          version: 1,
          to: other.script,
          subnetworkId: LANE,
          payload: '6c616e65',
        })
      case 'krc20_payload': {
        const payload = toHex(Buffer.from(JSON.stringify(this.#operation(world, other))))
        return this.#transfer(world, user, { version: 0, to: other.script, payload })
      }
      case 'krc20_commit':
        return this.#fund(
          world,
          user,
          'krc20',
          krc20Envelope(user.key.publicKey, this.#operation(world, other)),
          false,
        )
      case 'contract_fund':
        return this.#fund(
          world,
          user,
          'contract',
          counterContract(user.key.publicKey, BigInt(random.below(1000))),
          false,
        )
      case 'covenant_genesis':
        return this.#fund(world, user, 'covenant', vaultCovenant(user.key.publicKey), true)
      case 'token_genesis': {
        const amount = BigInt(1000 + random.below(1_000_000))
        return this.#fund(world, user, 'token', tokenContract(user.key.publicKey, amount), true, amount)
      }
      case 'krc20_reveal':
        return this.#spend(world, 'krc20', () => [])
      case 'contract_spend':
        return this.#spend(world, 'contract', () => [])
      case 'covenant_burn':
        return this.#spend(world, 'covenant', () => [])
      case 'covenant_continuation':
        return this.#spend(world, 'covenant', (known) => [
          {
            kind: 'covenant',
            program: vaultCovenant(other.key.publicKey),
            owner: other.name,
            amount: known.amount,
          },
        ])
      case 'token_transfer':
        return this.#spend(world, 'token', (known) => {
          const program = tokenContract(other.key.publicKey, known.amount)
          return [{ kind: 'token', program, owner: other.name, amount: known.amount }]
        })
    }
  }

  #operation({ random, addressOf }: TrafficWorld, to: Wallet): Record<string, string> {
    const tick = random.pick(TICKS)
    const p = 'krc-20'
    const roll = random.next()
    if (roll < 0.1) return { p, op: 'deploy', tick, max: '2100000000000000', lim: '100000000000' }
    if (roll < 0.6) return { p, op: 'mint', tick }
    return { p, op: 'transfer', tick, amt: String(1 + random.below(1_000_000_000)), to: addressOf(to.script) }
  }

  #feerate(random: Random): number {
    return random.chance(0.15) ? 150 + random.below(400) : 100 + random.below(20)
  }

  #transfer(
    world: TrafficWorld,
    from: Wallet,
    draft: { version: 0 | 1; to: string; payload?: string; subnetworkId?: string },
  ): Tx | undefined {
    const { random, ledger } = world
    const crowded = ledger.utxos.ofScript(from.script).size > 30
    const coins = this.#coins(world, from, crowded ? 6 : 1, { coinbase: false, small: crowded })
    const total = coins.reduce((sum, coin) => sum + coin.entry.amount, 0n)
    if (total < 12n * SOMPI_PER_KASPA) return undefined
    const value = kas(5) + (total * BigInt(random.below(40))) / 100n
    const { to, ...rest } = draft
    const outputs: TxOutput[] = [{ value, scriptPublicKey: to, covenant: null }]
    return pay({ ...rest, coins, outputs, change: from.script, feerate: this.#feerate(random) })
  }

  /** Pays to a script; with `asCovenant`, that output founds a covenant. */
  #fund(
    world: TrafficWorld,
    from: Wallet,
    kind: ProgramKind,
    program: string,
    asCovenant: boolean,
    amount = 0n,
  ): Tx | undefined {
    const coins = this.#coins(world, from, 1)
    const [coin] = coins
    if (coin === undefined || coin.entry.amount < kas(25)) return undefined
    const script = payToScriptHash(program)
    const output: TxOutput = { value: kas(10), scriptPublicKey: script, covenant: null }
    if (asCovenant) {
      const covenantId = genesisCovenantId(parseOutpointKey(coin.key), [{ index: 0, output }])
      output.covenant = { authorizingInput: 0, covenantId }
    }
    this.#remember({ kind, script, program, owner: from.name, amount })
    const feerate = this.#feerate(world.random)
    return pay({ version: asCovenant ? 1 : 0, coins, outputs: [output], change: from.script, feerate })
  }

  /** Reveals the oldest known script of a kind; `next` returns the outputs that continue its covenant. */
  #spend(
    world: TrafficWorld,
    kind: ProgramKind,
    next: (known: KnownProgram) => Omit<KnownProgram, 'script'>[],
  ): Tx | undefined {
    for (const known of this.#programs) {
      if (known.kind !== kind) continue
      const owner = this.#users.find((user) => user.name === known.owner)
      const found = [...world.ledger.utxos.ofScript(known.script)].find(
        ([key]) => !world.mempool.isSpent(key),
      )
      if (owner === undefined || found === undefined) continue
      const [key, entry] = found
      const framed = kind === 'token' || kind === 'contract'
      const reveal = framed ? { program: known.program, entry: 0 as const } : { program: known.program }
      const purse = this.#coins(world, owner, 1)
      if (purse.length === 0) continue
      const outputs = next(known).map((following) => {
        const script = payToScriptHash(following.program)
        this.#remember({ ...following, script })
        const covenant =
          entry.covenantId === null ? null : { authorizingInput: 0, covenantId: entry.covenantId }
        return { value: entry.amount, scriptPublicKey: script, covenant }
      })
      const coins: Coin[] = [{ key, entry, owner, reveal }, ...purse]
      const version = entry.covenantId === null ? 0 : 1
      this.#programs = this.#programs.filter((program) => program !== known)
      return pay({ version, coins, outputs, change: owner.script, feerate: this.#feerate(world.random) })
    }
    return undefined
  }

  #remember(known: KnownProgram): void {
    this.#programs.push(known)
    if (this.#programs.length > MAX_PROGRAMS) this.#programs.shift()
  }

  #coins(
    world: TrafficWorld,
    owner: Wallet,
    count: number,
    options: { coinbase: boolean; small: boolean } = { coinbase: false, small: false },
  ): Coin[] {
    const { ledger, mempool } = world
    const coins: Coin[] = []
    const mature = ledger.virtual.daaScore - BigInt(ledger.rules.coinbaseMaturity)
    for (const [key, entry] of ledger.utxos.ofScript(owner.script)) {
      const isImmature = entry.isCoinbase && entry.blockDaaScore > mature
      // Outputs are in the order of their blocks, so all the following ones, of which there are many, are immature too.
      if (isImmature && options.coinbase) break
      if (isImmature || (options.coinbase && !entry.isCoinbase)) continue
      if (entry.covenantId !== null || mempool.isSpent(key)) continue
      if (!options.coinbase && !options.small && entry.amount < kas(12)) continue
      coins.push({ key, entry, owner })
      if (coins.length >= count) break
    }
    return coins
  }
}
