/** Connects a node with the chain: a start state, then events one way and commands the other way. */
import type { Chain } from './chain.ts'
import type { ChainOptions } from './chain-options.ts'
import { decodeAddress, scriptOfAddress } from './consensus/address.ts'
import type { LedgerSnapshot, LedgerUpdate } from './consensus/ledger.ts'
import type { Block, Tx } from './consensus/model.ts'
import { TxRefusal } from './consensus/validate.ts'

export interface ChainStart {
  options: ChainOptions
  ledger: LedgerSnapshot
  mempool: Tx[]
}

/** A second `start` follows if the connection to the chain was lost; the node catches up from it. */
export type ChainMessage =
  | { kind: 'transaction'; tx: Tx }
  | { kind: 'block'; block: Block; update?: LedgerUpdate }
  | { kind: 'start'; start: ChainStart }

export type ChainCommand =
  | { kind: 'transaction'; tx: Tx; replace: 'forbidden' | 'allowed' }
  | { kind: 'block'; block: Block }
  | { kind: 'reorganize'; depth: number; doubleSpend: boolean }
  | { kind: 'pay'; address: string; amount: bigint }
  | { kind: 'dwell'; blocks: number }

export interface ChainConnection {
  /**
   * Set if the chain is in the same process: a node that does not lag reads the chain's state directly instead of a
   * copy.
   */
  readonly chain: Chain | undefined
  /** Resolves to undefined if the chain is in this process. */
  open(listener: (event: ChainMessage) => void): Promise<ChainStart | undefined>
  /** Resolves to the id of the transaction for `pay`, otherwise to undefined. */
  send(command: ChainCommand): Promise<string | undefined>
  close(): void
}

export function startOf(chain: Chain): ChainStart {
  return {
    options: chain.options,
    ledger: chain.ledger.snapshot(),
    mempool: chain.mempool.entries({ pool: true, orphans: false }).map((entry) => entry.tx),
  }
}

export function execute(chain: Chain, command: ChainCommand): string | undefined {
  switch (command.kind) {
    case 'transaction':
      try {
        chain.submit(command.tx, { replace: command.replace, allowOrphan: true, trusted: true })
      } catch (error) {
        if (!(error instanceof TxRefusal)) throw error
      }
      return undefined
    case 'block':
      chain.submitBlock(command.block)
      return undefined
    case 'reorganize':
      chain.reorganize(command.depth, command.doubleSpend)
      return undefined
    case 'dwell':
      chain.dwellBlocks = command.blocks
      return undefined
    case 'pay': {
      const decoded = decodeAddress(command.address)
      if (!decoded.ok) throw new RangeError(`${command.address} is not an address`)
      return chain.pay(scriptOfAddress(decoded), command.amount)?.id
    }
  }
}

/** A node in the same process as the chain. */
export function localConnection(chain: Chain): ChainConnection {
  let stop = () => {}
  return {
    chain,
    async open(listener) {
      stop = chain.on(listener)
      return undefined
    },
    send: async (command) => execute(chain, command),
    close: () => stop(),
  }
}
