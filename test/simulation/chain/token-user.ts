/**
 * A user who pays the fees that KRC-20 requires: the deployments and mints of the simulated traffic pay too little and
 * have no effect, like many on the real chain.
 */
import type { Chain } from '../../../sandbox/node/chain.ts'
import { toHex } from '../../../sandbox/node/consensus/bytes.ts'
import { TxRefusal } from '../../../sandbox/node/consensus/validate.ts'
import { pay } from '../../../sandbox/node/traffic/wallet.ts'
import type { Random } from '../random.ts'
import type { VirtualTime } from '../virtual-time.ts'

/**
 * NACHO is reserved, so nobody can deploy it. The simulated traffic uses NACHO and TAPE, so their history is often
 * older than the index; the history of the others begins here.
 */
const TICKS = ['REEL', 'SPOOL', 'SPOOL', 'TAPE', 'NACHO']
const DEPLOY_SOMPI = 100_000_000_000
const MINT_SOMPI = 100_000_000
/** Less than the mass of any of these transactions, so that the fee always exceeds the required one. */
const MIN_MASS = 1_000
const MIN_FEERATE = 100
const STINGY_SHARE = 0.2

export function startTokenUser(chain: Chain, time: VirtualTime, random: Random): { stop(): void } {
  const deployed = new Set<string>()
  let isStopped = false

  function submit(operation: Record<string, string>, feeSompi: number): void {
    const { faucet, mempool, ledger } = chain
    const coin = [...ledger.utxos.ofScript(faucet.script)].find(([key]) => !mempool.isSpent(key))
    if (coin === undefined) return
    const [key, entry] = coin
    const tx = pay({
      ...{ version: 0, coins: [{ key, entry, owner: faucet }], outputs: [], change: faucet.script },
      feerate: Math.max(MIN_FEERATE, feeSompi / MIN_MASS),
      payload: toHex(Buffer.from(JSON.stringify({ p: 'krc-20', ...operation }))),
    })
    try {
      if (tx !== undefined) chain.submit(tx, { replace: 'forbidden', allowOrphan: false, trusted: true })
    } catch (error) {
      if (!(error instanceof TxRefusal)) throw error
    }
  }

  function act(): void {
    if (isStopped) return
    const tick = random.pick(TICKS)
    const isStingy = random.chance(STINGY_SHARE)
    const wallet = random.pick([...chain.users, chain.faucet])
    const to = chain.addressOf(wallet.script)
    if (!deployed.has(tick) || random.chance(0.1)) {
      if (!isStingy) deployed.add(tick)
      // Three mints, of which the last one gets what is left.
      const limits = { max: '250000000000', lim: '100000000000' }
      submit({ op: 'deploy', tick, ...limits }, isStingy ? MINT_SOMPI : DEPLOY_SOMPI)
    } else if (random.chance(0.5)) {
      const own = random.chance(0.5) ? {} : { to }
      const written = random.chance(0.5) ? tick : tick.toLowerCase()
      submit({ op: 'mint', tick: written, ...own }, isStingy ? 0 : MINT_SOMPI)
    } else {
      // Some transfers exceed the balance, some go to the sender itself.
      submit({ op: 'transfer', tick, amt: String(random.int(1, 200_000_000_000)), to }, 0)
    }
    next()
  }

  function next(): void {
    time.after(random.int(20_000, 240_000), act)
  }
  next()
  return {
    stop() {
      isStopped = true
    },
  }
}
