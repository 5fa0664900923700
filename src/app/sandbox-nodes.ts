/**
 * The simulated nodes of the test environment: a thread with two nodes on one chain. It continues from its state folder
 * after a restart. If it dies, it is started again on the same ports.
 */
import { crc32 } from 'node:zlib'
import { type Clock, runAfter } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import { superviseThread } from '../kit/supervise-thread.ts'

export interface SandboxNodes {
  readonly nodes: readonly { readonly name: string; readonly url: string; readonly controlUrl: string }[]
  stop(): Promise<void>
}

export interface SandboxNodesOptions {
  readonly seed: string
  readonly network: string
  readonly stateFolder: string
  readonly clock: Clock
  readonly log: Logger
}

const FILE = new URL('../../sandbox/node/process.ts', import.meta.url)
const NODES = 2
const START_LIMIT_MS = 30_000
/**
 * The chain is small but produces much garbage: a small young generation keeps the thread small. The old one has room
 * for answers of 200 MB (fault `hugeBlocksBytes`).
 */
const HEAP_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 3 }

/** Resolves once the nodes are up; rejects if they end before. */
export async function startSandboxNodes(options: SandboxNodesOptions): Promise<SandboxNodes> {
  const { seed, network, stateFolder, clock, log } = options
  const first = Promise.withResolvers<SandboxNodes['nodes']>()
  const cancel = runAfter(clock, START_LIMIT_MS, () =>
    first.reject(new Error(`the simulated nodes were not up after ${START_LIMIT_MS} ms`)),
  )
  let isUp = false
  // A thread that is started again gets what is in it then.
  const data = {
    name: 'sandbox',
    nodes: NODES,
    ports: [] as number[],
    controlPorts: [] as number[],
    chain: { seed: crc32(seed), network, stateFolder },
  }
  const thread = superviseThread({
    ...{ name: 'simulated nodes', file: FILE, data, limits: HEAP_LIMITS, clock, log },
    onMessage(message) {
      const { nodes } = message as Pick<SandboxNodes, 'nodes'>
      isUp = true
      data.ports = nodes.map(({ url }) => Number(new URL(url).port))
      data.controlPorts = nodes.map(({ controlUrl }) => Number(new URL(controlUrl).port))
      first.resolve(nodes)
    },
    onEnd(reason) {
      if (isUp) return
      void thread.close()
      first.reject(reason)
    },
  })
  try {
    const nodes = await first.promise
    return { nodes, stop: () => thread.close() }
  } catch (error) {
    await thread.close()
    throw error
  } finally {
    cancel()
  }
}
