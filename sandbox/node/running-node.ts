/** What a started node offers to the code that started it. */
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
  /** http://127.0.0.1:port; empty when the caller said where to listen. */
  controlUrl: string
  log: MethodLog
  truth: Truth
  status(): NodeStatus
  faults(): Faults
  setFaults(faults: Partial<Faults>): void
  /** Replaces the last chain blocks of the shared chain by a heavier branch. */
  reorganize(depth: number, doubleSpend?: boolean): Promise<void>
  /** A real payment from the faucet; the id of its transaction. */
  pay(address: string, amount: bigint): Promise<string | undefined>
  /** Blocks that a cheap transaction waits in the mempool. */
  setDwell(blocks: number): Promise<void>
  publish(kind: 'conflict' | 'conflict_resolved' | 'utxo_set_override', hash: string): void
  /** Keys with money on this chain. */
  wallets(): SandboxWallet[]
  /** Without notice: sockets cut, port closed. */
  die(): Promise<void>
  close(): Promise<void>
}
