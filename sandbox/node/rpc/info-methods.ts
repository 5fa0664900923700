/** Methods about the node itself and the network around it. */
import { NETWORKS } from '../networks.ts'
import { RpcError } from './errors.ts'
import { f64, u64 } from './json.ts'
import { boolean, hash, object, text } from './read-params.ts'
import type { Methods, NodeView } from './view.ts'
import { DIFFICULTY } from './wire.ts'

export const SERVER_VERSION = '2.0.1'
const SAFE_MODE = 'Method unavailable in safe mode. Run the node with --unsaferpc argument.'
const PEERS = [1, 2, 3, 4, 5, 6, 7, 8]

const refuse = (text: string) => () => {
  throw new RpcError(text)
}

/** Reads the fields first, as the node does, because a malformed request is answered differently from a refused one. */
const refuseAfter =
  (read: (params: Record<string, unknown>) => void) => (_: NodeView, params: Record<string, unknown>) => {
    read(params)
    throw new RpcError(SAFE_MODE)
  }

export const infoMethods: Methods = {
  ping: () => ({}),
  getServerInfo: (view) => ({
    rpcApiVersion: 1,
    rpcApiRevision: 0,
    serverVersion: SERVER_VERSION,
    networkId: view.network,
    hasUtxoIndex: view.hasUtxoIndex,
    isSynced: view.isSynced,
    virtualDaaScore: u64(view.ledger.virtual.daaScore),
  }),
  getInfo: (view) => ({
    p2pId: view.nodeId,
    mempoolSize: view.mempool.size,
    serverVersion: SERVER_VERSION,
    isUtxoIndexed: view.hasUtxoIndex,
    isSynced: view.isSynced,
    hasNotifyCommand: true,
    hasMessageId: true,
  }),
  getSyncStatus: (view) => ({ isSynced: view.isSynced }),
  getCurrentNetwork: (view) => ({ network: NETWORKS[view.network].type }),
  getSystemInfo: () => ({
    version: SERVER_VERSION,
    systemId: [...Buffer.from('sandbox')],
    gitHash: [...Buffer.from('00000000')],
    cpuPhysicalCores: 8,
    totalMemory: 17_179_869_184,
    fdLimit: 1024,
    proxySocketLimitPerCpuCore: null,
  }),
  getConnections: (view, params) => ({
    clients: view.counters.connections,
    peers: PEERS.length,
    profileData: boolean(params.includeProfileData)
      ? { cpuUsage: f64(1.5), memoryUsage: process.memoryUsage.rss() }
      : null,
  }),
  getMetrics: (view, params) => metrics(view, params),
  getPeerAddresses: () => ({
    knownAddresses: PEERS.map((n) => ({ ip: `203.0.113.${n}`, port: 16111 })),
    bannedAddresses: ['198.51.100.7'],
  }),
  getConnectedPeerInfo: (view) => ({
    peerInfo: PEERS.map((n) => ({
      id: `00000000-0000-4000-8000-00000000000${n}`,
      address: { ip: `203.0.113.${n}`, port: 16111 },
      last_ping_duration: 20 + n,
      is_outbound: n <= 4,
      time_offset: -1,
      user_agent: `/kaspad:${SERVER_VERSION}/`,
      advertised_protocol_version: 7,
      time_connected: 1000 * n,
      is_ibd_peer: view.isTransitional && n === 1,
    })),
  }),
  getSubnetwork: refuse('Not implemented'),
  getHeaders: refuse('Not implemented'),
  addPeer: refuseAfter((params) => {
    object(params.peerAddress)
    boolean(params.isPermanent)
  }),
  ban: refuseAfter((params) => text(params.ip)),
  unban: refuseAfter((params) => text(params.ip)),
  shutdown: refuseAfter(() => {}),
  resolveFinalityConflict: refuseAfter((params) => hash(params.finalityBlockHash)),
}

function metrics(view: NodeView, params: Record<string, unknown>) {
  const when = <T>(name: string, value: T): T | null => (boolean(params[name]) ? value : null)
  const { counters, ledger } = view
  return {
    serverTime: view.nowMs(),
    processMetrics: when('processMetrics', {
      residentSetSize: process.memoryUsage.rss(),
      virtualMemorySize: 2 * process.memoryUsage.rss(),
      coreNum: 8,
      cpuUsage: f64(1.5),
      fdNum: 64,
      diskIoReadBytes: 0,
      diskIoWriteBytes: 0,
      diskIoReadPerSec: f64(0),
      diskIoWritePerSec: f64(0),
    }),
    connectionMetrics: when('connectionMetrics', {
      borshLiveConnections: 0,
      borshConnectionAttempts: 0,
      borshHandshakeFailures: 0,
      jsonLiveConnections: counters.connections,
      jsonConnectionAttempts: counters.attempts,
      jsonHandshakeFailures: 0,
      activePeers: PEERS.length,
    }),
    bandwidthMetrics: when('bandwidthMetrics', {
      borshBytesTx: 0,
      borshBytesRx: 0,
      jsonBytesTx: counters.bytesOut,
      jsonBytesRx: counters.bytesIn,
      p2pBytesTx: 0,
      p2pBytesRx: 0,
      grpcBytesTx: 0,
      grpcBytesRx: 0,
    }),
    consensusMetrics: when('consensusMetrics', {
      nodeBlocksSubmittedCount: 0,
      nodeHeadersProcessedCount: counters.blocks,
      nodeDependenciesProcessedCount: counters.blocks,
      nodeBodiesProcessedCount: counters.blocks,
      nodeTransactionsProcessedCount: counters.transactions,
      nodeChainBlocksProcessedCount: ledger.chain.length,
      nodeMassProcessedCount: 0,
      nodeDatabaseBlocksCount: ledger.blockCount,
      nodeDatabaseHeadersCount: ledger.blockCount,
      networkMempoolSize: view.mempool.size,
      networkTipHashesCount: ledger.tips.length,
      networkDifficulty: f64(DIFFICULTY),
      networkPastMedianTime: ledger.sink.header.timestamp,
      networkVirtualParentHashesCount: ledger.virtual.parents.length,
      networkVirtualDaaScore: u64(ledger.virtual.daaScore),
    }),
    storageMetrics: when('storageMetrics', { storageSizeBytes: 0 }),
    customMetrics: when('customMetrics', null),
  }
}
