import { join } from 'node:path'
import type { ServiceStatus } from '../api/endpoints/account/service-status.ts'
import { createPastBalances } from '../api/endpoints/chain/past-balance.ts'
import { createUtxoReader } from '../api/endpoints/chain/read-utxos.ts'
import { createSubmitter } from '../api/endpoints/chain/submit-transaction.ts'
import type { Network } from '../core/chain/network.ts'
import type { CursorCodec } from '../core/cursor.ts'
import { isExpectedToAnswer } from '../upstreams/health.ts'
import type { NodeAddress } from '../upstreams/node-link.ts'
import { createUpstreams, type NodeStatus, type Trouble } from '../upstreams/pool.ts'
import { startIndexedChain } from './index-chain.ts'
import { nodeMetrics } from './part-metrics.ts'
import type { EnvironmentParts } from './parts.ts'
import { publishControl, SANDBOX_NODE_FOLDER } from './sandbox-access.ts'
import { startSandboxNodes } from './sandbox-nodes.ts'
import { tracedUpstreams } from './traced-parts.ts'

const SANDBOX_NETWORK: Network = 'testnet-10'

/**
 * The chain half of one environment: its nodes, the index and submissions.
 * @param knownSeq the highest event number that readers are known to have
 */
export async function startChain(parts: EnvironmentParts, cursors: CursorCodec, knownSeq: number) {
  const { environment, config, clock, shutdown, probes } = parts
  const nodes = environment === 'live' ? configuredNodes(config.nodes) : await sandboxNodes(parts)
  const pool = createUpstreams({
    network: environment === 'live' ? config.network : SANDBOX_NETWORK,
    nodes,
    clock,
    random: Math.random,
    onTrouble: troubleReporter(parts),
  })
  const upstreams = parts.tracing === undefined ? pool : tracedUpstreams(pool, parts.tracing)
  shutdown.add(`${environment} nodes`, () => upstreams.close())
  if (nodes.length > 0) {
    probes.push({
      name: `${environment} nodes`,
      check: async () => {
        if (!upstreams.nodes().some(isExpectedToAnswer)) throw new Error('no node answers')
      },
    })
  }
  nodeMetrics(parts.metrics, environment, { nodes: upstreams.nodes })
  const index = await startIndexedChain(parts, upstreams, knownSeq)
  const submitter = createSubmitter({ upstreams, index: index.chain, clock })
  const waitMs = config.nodeWaitSeconds * 1000
  const utxos = createUtxoReader({ upstreams, index: index.chain, clock, waitMs })
  const pastBalances = createPastBalances({ upstreams, index: index.chain, clock, waitMs })
  return {
    services: {
      chain: { upstreams, submitter, index: index.chain, utxos, pastBalances, cursors, waitMs, clock },
    },
    upstreams,
    index,
    nodes: () => upstreams.nodes().map(shown),
  }
}

/** A failing node fails many calls, so they are counted, and only state changes and unknown refusals are logged. */
function troubleReporter({ environment, metrics, log }: EnvironmentParts): (trouble: Trouble) => void {
  const labels = ['environment', 'node', 'what']
  const counter = metrics.counter('tapeline_node_troubles_total', 'What went wrong with nodes.', labels)
  return (trouble) => {
    const { node, what } = trouble
    if (what === 'state') log.info({ environment, ...trouble }, 'the state of a node changed')
    else if (what === 'unknown_refusal') log.warn({ environment, ...trouble }, 'a node says something new')
    else log.debug({ environment, ...trouble }, 'trouble with a node')
    counter.inc({ environment, node, what })
  }
}

/**
 * Only the process that indexes starts the nodes, because each process that simulated nodes would have its own chain.
 */
async function sandboxNodes({
  config,
  does,
  clock,
  log,
  shutdown,
}: EnvironmentParts): Promise<NodeAddress[]> {
  if (!config.sandbox || !does('index')) return []
  const sandbox = await startSandboxNodes({
    seed: config.seed,
    network: SANDBOX_NETWORK,
    stateFolder: join(config.data, SANDBOX_NODE_FOLDER),
    clock,
    log,
  })
  shutdown.add('simulated nodes', () => sandbox.stop())
  publishControl(config.data, sandbox.nodes)
  const control = sandbox.nodes.map(({ controlUrl }) => controlUrl).join(' ')
  log.info({ control }, 'simulated nodes are up')
  return sandbox.nodes.map(({ name, url }) => ({ name, url, tier: 'primary' }))
}

/** `ws://a,backup=ws://b` becomes `primary-1` and `backup-1`. */
export function configuredNodes(settings: readonly string[]): NodeAddress[] {
  const counts = { primary: 0, backup: 0 }
  return settings.map((setting) => {
    const tier = setting.startsWith('backup=') ? 'backup' : 'primary'
    counts[tier]++
    return { name: `${tier}-${counts[tier]}`, url: setting.replace(/^(primary|backup)=/, ''), tier }
  })
}

function shown(node: NodeStatus): ServiceStatus['nodes'][number] {
  return {
    name: node.name,
    state: node.state,
    synced: node.synced && node.state === 'healthy',
    daa_score: node.daaScore,
    lag: node.daaScore === null ? null : node.lag,
  }
}
