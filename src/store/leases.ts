/**
 * The storage port of leases: who leads a part of the service (`record:cexa/live`, `index/live`, `deliver`, `upkeep`).
 *
 *   free ──take──▶ led, term n ──renew──▶ …  ──release or time over──▶ free ──take──▶ led, term n + 1
 *
 * A term is never given twice. What a leader writes carries its term (`Fence`): a process that was paused and wakes up
 * when another one leads cannot write any more.
 */
export interface Fence {
  readonly part: string
  readonly term: number
}

export interface LeaseRecord extends Fence {
  /** The process that leads, or led last. */
  readonly holder: string
  /** How long the lease still runs; 0 when it is over. */
  readonly leftMs: number
}

export interface LeaseStore {
  /** Undefined while another process leads. The engine's clock decides when a lease is over. */
  take(request: { part: string; holder: string; durationMs: number }): Promise<Fence | undefined>
  /** False when another process has taken it since. */
  renew(fence: Fence, durationMs: number): Promise<boolean>
  /** Ends it at once: the next one can take it. */
  release(fence: Fence): Promise<void>
  list(): Promise<LeaseRecord[]>
  close(): Promise<void>
}

/** A lease that ends further ahead than this was written by a server with another clock: it counts as over. */
export const MAX_LEASE_AHEAD_MS = 60_000

/** Another process leads this part: nothing was written. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
  constructor({ part, term }: Fence) {
    super(`the lease ${part} (term ${term}) is not ours any more`)
  }
}
