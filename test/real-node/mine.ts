/** Mines blocks on a real node from its own template, paid to an address. */
import { setTimeout as wait } from 'node:timers/promises'
import type { RealNode } from './real-node.ts'

/** Mines this many blocks, each on top of the last, and returns their hashes. */
export async function mineBlocks(node: RealNode, payAddress: string, count: number): Promise<string[]> {
  const hashes: string[] = []
  for (let i = 0; i < count; i++) {
    const { block } = await node.rpc.call('getBlockTemplate', { payAddress, extraData: [] })
    const { report } = await node.rpc.call('submitBlock', { block, allowNonDaaBlocks: false })
    const type = (report as { type?: string } | string) ?? ''
    const isTaken = type === 'success' || (typeof type === 'object' && type.type === 'success')
    if (!isTaken) throw new Error(`${node.name} refused its own block: ${JSON.stringify(report)}`)
    hashes.push(String(((block as { header: { hash?: unknown } }).header.hash as string | undefined) ?? ''))
  }
  return hashes
}

/** Mines this many blocks a second until it is stopped. */
export function keepMining(node: RealNode, payAddress: string, perSecond: number) {
  let isStopped = false
  let made = 0
  const startedMs = performance.now()
  const run = async () => {
    while (!isStopped) {
      const dueMs = startedMs + (made * 1_000) / perSecond - performance.now()
      if (dueMs > 0) await wait(dueMs)
      if (isStopped) return
      made += 1
      // A node that is down or behind mines none.
      await mineBlocks(node, payAddress, 1).catch(() => wait(200))
    }
  }
  const running = run()
  return {
    get made() {
      return made
    },
    async stop() {
      isStopped = true
      await running
    },
  }
}
