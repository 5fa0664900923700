/** Real nodes, each connected to every other one; any of them can be cut off, joined again, killed and restarted. */
import { until } from '../until.ts'
import { mineBlocks } from './mine.ts'
import { NOBODY, type RealNode, startRealNode } from './real-node.ts'
import { startWire, type Wire } from './wire.ts'

export interface RealNetwork {
  readonly nodes: readonly RealNode[]
  /** Cuts the node off from all others. */
  cut(node: RealNode): void
  join(node: RealNode): Promise<void>
  kill(node: RealNode): Promise<void>
  restart(node: RealNode): Promise<void>
  /** Waits until all connected nodes have the same sink. */
  agreed(limitMs?: number): Promise<void>
  stop(): Promise<void>
}

interface Link {
  /** The node that connects: only a node with unsafe RPC can be told to. */
  readonly from: RealNode
  readonly to: RealNode
  readonly wire: Wire
}

/** The first node runs as operators run it; the others are controlled by the test and connect to those before them. */
export async function startRealNetwork(count = 3): Promise<RealNetwork> {
  const nodes: RealNode[] = []
  const links: Link[] = []
  const away = new Set<RealNode>()
  const wiresOf = (node: RealNode) => links.filter(({ from, to }) => from === node || to === node)

  async function connect(node: RealNode): Promise<void> {
    const wanted = wiresOf(node).filter(({ from, to }) => !away.has(from) && !away.has(to))
    for (const { from, wire } of wanted) {
      wire.mend()
      await from.rpc.call('addPeer', {
        peerAddress: { ip: '127.0.0.1', port: wire.port },
        isPermanent: false,
      })
    }
    await until(`peers of ${node.name}`, async () => (await peersOf(node)) >= wanted.length, 60_000)
  }

  for (let i = 0; i < count; i++) {
    const node = await startRealNode({ name: `node-${i + 1}`, unsafe: i > 0 })
    for (const to of nodes) links.push({ from: node, to, wire: await startWire(to.peerPort) })
    nodes.push(node)
    await connect(node)
  }

  return {
    nodes,
    cut(node) {
      away.add(node)
      for (const { wire } of wiresOf(node)) wire.cut()
    },
    join(node) {
      away.delete(node)
      return connect(node)
    },
    async kill(node) {
      away.add(node)
      await node.kill()
      for (const { wire } of wiresOf(node)) wire.cut()
    },
    async restart(node) {
      await node.restart()
      away.delete(node)
      await connect(node)
    },
    async agreed(limitMs = 60_000) {
      const sinks = () =>
        Promise.all(
          nodes.filter((node) => !away.has(node)).map(async ({ rpc }) => (await rpc.call('getSink')).sink),
        )
      // A node that missed the last block requests it when it receives the next one.
      const nudge = setInterval(() => {
        const node = nodes.find((each) => !away.has(each))
        if (node !== undefined) void mineBlocks(node, NOBODY, 1).catch(() => {})
      }, 3_000)
      try {
        await until('one sink', async () => new Set(await sinks()).size === 1, limitMs)
      } finally {
        clearInterval(nudge)
      }
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()))
      await Promise.all(links.map(({ wire }) => wire.close()))
    },
  }
}

async function peersOf({ rpc }: RealNode): Promise<number> {
  return ((await rpc.call('getConnectedPeerInfo')).peerInfo as unknown[]).length
}
