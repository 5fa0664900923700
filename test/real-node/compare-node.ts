/**
 * `npm run compare-node`: compares every method and notification of a real node (TAPELINE_KASPAD) with those of the
 * simulated one: members, their kinds, and the texts of refusals. A difference is a defect of the simulated node unless
 * `known-differences.ts` has a reason for it. Exits with 1 if one is left.
 */
import { startSandboxNode } from '../../sandbox/node/run.ts'
import { classifyRefusal } from '../../src/upstreams/classify.ts'
import { until } from '../until.ts'
import { KNOWN_DIFFERENCES } from './known-differences.ts'
import { keepSending, startLiveTraffic } from './live-traffic.ts'
import { lookAtNode, type Seen } from './look-at-node.ts'
import { keepMining, mineBlocks } from './mine.ts'
import { COINS_NEEDED } from './odd-transactions.ts'
import { NETWORK, startRealNode, withoutNode } from './real-node.ts'
import { shapeDifferences } from './shape.ts'
import { createWallet } from './wallet.ts'

const SANDBOX_NETWORK = 'testnet-10'
const COIN_SOMPI = 5_000_000_000n

async function main(): Promise<number> {
  if (withoutNode !== false) {
    process.stdout.write(`${withoutNode}\n`)
    return 2
  }
  const [wallet, ourWallet] = [createWallet('e5'), createWallet('e5', SANDBOX_NETWORK)]
  const real = await startRealNode({ name: 'compared' })
  const sandbox = await startSandboxNode({
    ...{ seed: 3, transactionsPerSecond: 20, paced: true, warmUpBlocks: 300, dwellBlocks: 100 },
    fund: Array.from({ length: COINS_NEEDED }, () => ({ address: ourWallet.address, amount: COIN_SOMPI })),
  })
  try {
    process.stdout.write('making blocks …\n')
    await mineBlocks(real, wallet.address, COINS_NEEDED)
    const traffic = await startLiveTraffic(real)
    const sending = keepSending(traffic, 40)
    const mining = keepMining(real, traffic.minerAddress, 10)
    await until('covenants and tokens', () => traffic.submitted.size > 300, 60_000)
    // On a slower chain transactions stay pending.
    await mining.stop()
    const mineSlowly = () => keepMining(real, traffic.minerAddress, 0.5)
    let slow = mineSlowly()
    const seen = await lookAtNode({
      ...{ url: real.url, network: NETWORK, wallet },
      async whileStill(work) {
        await slow.stop()
        await work()
        slow = mineSlowly()
      },
    })
    await sending.stop()
    await slow.stop()
    traffic.close()
    const ours = await lookAtNode({
      ...{ url: sandbox.url, network: SANDBOX_NETWORK, wallet: ourWallet },
      // Its blocks leave cheap transactions pending.
      whileStill: (work) => work(),
    })
    return report([...differencesOf(seen, ours), ...unclassified(seen)])
  } finally {
    await real.stop()
    await sandbox.close()
  }
}

function differencesOf(real: Seen, ours: Seen): string[] {
  const lines: string[] = []
  for (const name of new Set([...real.answers.keys(), ...ours.answers.keys()])) {
    const [shape, own] = [real.answers.get(name), ours.answers.get(name)]
    if (shape !== undefined && own !== undefined) lines.push(...shapeDifferences(name, shape, own))
    else if (own === undefined) lines.push(`${name}: answered, ours "${ours.refusals.get(name)}"`)
    else lines.push(`${name}: "${real.refusals.get(name)}", answered by ours`)
  }
  for (const [name, text] of real.refusals) {
    const own = ours.refusals.get(name)
    if (own !== undefined && own !== text) lines.push(`${name}: "${text}", ours "${own}"`)
  }
  for (const name of new Set([...real.notifications.keys(), ...ours.notifications.keys()])) {
    const [shape, own] = [real.notifications.get(name), ours.notifications.get(name)]
    if (shape !== undefined && own !== undefined) lines.push(...shapeDifferences(name, shape, own))
    else lines.push(`${name}: ${own === undefined ? 'never sent by ours' : 'sent by ours only'}`)
  }
  return lines
}

/** Refusals for which there is no known reason. */
function unclassified({ texts }: Seen): string[] {
  const isKnown = (text: string) => !['unknown', 'rejected'].includes(classifyRefusal(text).reason)
  return texts.flatMap((text) => (isKnown(text) ? [] : [`the service has no reason for: ${text}`]))
}

function report(lines: readonly string[]): number {
  const isKnown = (line: string) => KNOWN_DIFFERENCES.some(({ what }) => line.startsWith(what))
  const unknown = lines.filter((line) => !isKnown(line))
  for (const line of unknown) process.stdout.write(`${line}\n`)
  for (const { what } of KNOWN_DIFFERENCES.filter(({ what }) => !lines.some((line) => line.startsWith(what))))
    process.stdout.write(`not seen this time: ${what}\n`)
  process.stdout.write(
    `${unknown.length} differences, and ${lines.length - unknown.length} with a known reason\n`,
  )
  return unknown.length === 0 ? 0 : 1
}

process.exitCode = await main()
