/** The interface of a started node. */
import type { Faults } from './faults.ts'
import type { MethodLog } from './method-log.ts'
import type { Truth } from './truth.ts'

interface NodeStatus {
  name: string
  url: string
  network: string
  virtualDaaScore: bigint
  sink: string
  sinkBlueScore: bigint
  blocks: number
  mempool: number
  unspentOutputs: number
  connections: number
  rssBytes: number
  cpuMs: number
  faults: Faults
}

interface SandboxWallet {
  name: string
  address: string
  secret: string
}

export interface RunningSandboxNode {
  name: string
  /** ws://127.0.0.1:port */
  url: string
  /** http://127.0.0.1:port; empty if the caller passed `listen`. */
  controlUrl: string
  log: MethodLog
  truth: Truth
  status(): NodeStatus
  /** Calls `listener` with the scores of this node's chain after every change, now included. */
  followScores(listener: (daaScore: bigint, blueScore: bigint) => void): void
  faults(): Faults
  setFaults(faults: Partial<Faults>): void
  /** Replaces the last chain blocks of the shared chain by a heavier branch. */
  reorganize(depth: number, doubleSpend?: boolean): Promise<void>
  /** Makes a real payment from the faucet; resolves to the id of its transaction. */
  pay(address: string, amount: bigint): Promise<string | undefined>
  /** Sets the number of blocks for which a cheap transaction waits in the mempool. */
  setDwell(blocks: number): Promise<void>
  publish(kind: 'conflict' | 'conflict_resolved' | 'utxo_set_override', hash: string): void
  /** Keys with funds on this chain. */
  wallets(): SandboxWallet[]
  /** Ends without notice: sockets are cut and the port is closed. */
  die(): Promise<void>
  close(): Promise<void>
}
